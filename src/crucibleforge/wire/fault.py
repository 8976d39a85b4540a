"""Classify what a server says went wrong: an HTTP status, a body, an error object inside a stream.

A tool call that the model wrote and the server could not parse is the model's reply (`Malformed`), all else is
trouble. Where no code tells them apart, the words that llama.cpp, Ollama, vLLM and LM Studio use do.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from math import isfinite
from typing import Any

import msgspec

from crucibleforge.errors import Malformed, Trouble
from crucibleforge.types import FailureKind

_STATUSES: dict[int, FailureKind] = {
    401: "auth",
    403: "auth",
    404: "rejected",
    408: "timeout",
    429: "overload",
    503: "overload",
    504: "timeout",
    507: "rejected",
    529: "overload",
}
_PLAIN = {401, 403, 404, 408, 429, 503, 504, 529}
"""Statuses that say it all: no words can make them another kind."""
_TYPES: dict[str, FailureKind] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_request_error": "rejected",
    "not_found_error": "rejected",
    "insufficient_quota": "rejected",
    "model_not_found": "rejected",
    "exceed_context_size_error": "context",
    "context_length_exceeded": "context",
    "rate_limit_error": "overload",
    "rate_limit_exceeded": "overload",
    "overloaded_error": "overload",
    "unavailable_error": "overload",
    "timeout_error": "timeout",
}
_MALFORMED = re.compile(
    r"failed to parse input at pos|failed to parse tool call|error parsing tool call|invalid diff: "
    r"|^xml syntax error|tool_use_failed",
    re.IGNORECASE,
)
# After these comes what the model wrote, which may hold any word; so they are looked for first.
_WORDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = (
    (
        "context",
        re.compile(
            r"maximum context length|context[ _]length[ _]exceeded|exceed_context_size|exceeds the available context"
            r"|exceeds the context length|greater than the context length|longer than the maximum model length"
            r"|context size has been exceeded|prompt is too long",
            re.IGNORECASE,
        ),
    ),
    (
        "template",
        re.compile(
            r"parser for this (?:chat )?template|jinja|chat[ _]template(?!_kwargs)|roles must alternate"
            r"|roles are supported",
            re.IGNORECASE,
        ),
    ),
    ("rejected", re.compile(r"out of memory|outofmemory|requires more system memory", re.IGNORECASE)),
)
_DROPPABLE = (
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "seed",
    "temperature",
    "top_p",
    "tools",
    "chat_template_kwargs",
)
_SHOWN_CHARACTERS = 300
_KEPT_CHARACTERS = 4000
_READ_CHARACTERS = 20_000
_FIRST_STATUS, _LAST_STATUS = 100, 599


def fault(
    status: int | None, body: bytes, retry_after: str | None = None, *, now: datetime | None = None
) -> Trouble | Malformed:
    """What a server's error amounts to.

    Args:
        status: HTTP status; None for an error object inside a stream, whose own `code` is then used.
        body: What came instead of a reply.
        retry_after: The header of that name, in seconds or as a date (RFC 9110, 10.2.3).
        now: The time against which a date is read; None: the system's.
    """
    error = _error(body)
    code = error.get("code")
    if status is None and isinstance(code, int) and _FIRST_STATUS <= code <= _LAST_STATUS:
        status = code
    words = _words(error, body)
    names = {value for key in ("type", "code") if isinstance(value := error.get(key), str)}
    if status not in _PLAIN and (_MALFORMED.search(words) or "tool_use_failed" in names):
        return Malformed(_cut(words, _KEPT_CHARACTERS))
    shown = _cut(words, _SHOWN_CHARACTERS)
    said = f"the server answered HTTP {status}: {shown}" if status else f"the server reported an error: {shown}"
    return Trouble(_kind(status, names, words), said, status=status, retry_after_s=_seconds(retry_after, now))


def refused_parameter(body: bytes, extra: Collection[str] = ()) -> str | None:
    """Which parameter that a request can do without is named by the answer to it; None when none of them is.

    Read from `error.param`, or from the message or body, where it must be quoted or follow a word such as
    `parameter`. A message about the context window refuses no parameter, whatever it names. `extra` are further
    parameters that the request at hand can do without.
    """
    error = _error(body)
    words = _words(error, body)
    if _MALFORMED.search(words) or any(pattern.search(words) for _, pattern in _WORDS):
        return None
    param = error.get("param")
    named = param.split(".")[0] if isinstance(param, str) else ""
    if named in _DROPPABLE or named in extra:
        return named
    found = _naming(*_DROPPABLE, *sorted(extra)).search(words)
    return found[1].lower() if found else None


@lru_cache
def _naming(*names: str) -> re.Pattern[str]:
    """Finds one of these names where a message speaks of a parameter."""
    one = "|".join(map(re.escape, names))
    return re.compile(rf"""(?:['"`]|\b(?:parameters?|arguments?|fields?|supplied):? )({one})\b""", re.IGNORECASE)


def _kind(status: int | None, names: set[str], words: str) -> FailureKind:
    typed = [_TYPES[name] for name in sorted(names) if name in _TYPES]
    if "context" in typed:
        return "context"
    if "insufficient_quota" in names:
        return "rejected"
    if status not in _PLAIN:
        for kind, pattern in _WORDS:
            if pattern.search(words):
                return kind
    if status is None:
        return typed[0] if typed else "transport"
    if status in _STATUSES:
        return _STATUSES[status]
    return "transport" if status >= 500 else "rejected"  # noqa: PLR2004 - 5xx are the server's own


def _error(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    error = value.get("error") or value
    if isinstance(error, dict):
        return error
    return {key: value[key] for key in ("code", "type", "param") if key in value} | {"message": error}


def _words(error: dict[str, Any], body: bytes) -> str:
    """The message in one line, with nothing but the beginning of a long one."""
    message = error.get("message")
    if not isinstance(message, str):
        detail = error.get("detail")
        message = detail if isinstance(detail, str) else body[: 4 * _READ_CHARACTERS].decode("utf-8", "replace")
    return " ".join(message[:_READ_CHARACTERS].split())


def _cut(words: str, characters: int) -> str:
    return words if len(words) <= characters else f"{words[:characters]} …"


def _seconds(text: str | None, now: datetime | None) -> float | None:
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = _until(text, now)
    return max(0.0, seconds) if isfinite(seconds) else None


def _until(text: str, now: datetime | None) -> float:
    """Seconds from `now` to a date; not a number when it is none."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return float("nan")
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return (date - (now or datetime.now(UTC))).total_seconds()
