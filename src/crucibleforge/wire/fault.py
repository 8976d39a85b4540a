"""Classify what a server says went wrong: an HTTP status, a body, an error object inside a stream."""

from __future__ import annotations

from typing import Any

import msgspec

from crucibleforge.errors import Trouble
from crucibleforge.types import FailureKind

_KINDS: dict[int, FailureKind] = {
    401: "auth",
    403: "auth",
    408: "timeout",
    429: "overload",
    503: "overload",
    504: "timeout",
    529: "overload",
}
_CONTEXT_TYPES = {"exceed_context_size_error", "context_length_exceeded"}


def fault(status: int | None, body: bytes, retry_after: str | None = None) -> Trouble:
    """The trouble that a server's error amounts to.

    Args:
        status: HTTP status; None for an error object inside a stream, whose own `code` is then used.
        body: What came instead of a reply.
        retry_after: The header of that name; only its form in seconds is understood.
    """
    error = _error(body)
    code = error.get("code")
    if status is None and isinstance(code, int):
        status = code
    words = _words(error, body)
    said = f"the server answered HTTP {status}: {words}" if status else f"the server reported an error: {words}"
    return Trouble(_kind(status, error), said, status=status, retry_after_s=_seconds(retry_after))


def _kind(status: int | None, error: dict[str, Any]) -> FailureKind:
    if {str(error.get("type")), str(error.get("code"))} & _CONTEXT_TYPES:
        return "context"
    if status is None:
        return "transport"
    if status in _KINDS:
        return _KINDS[status]
    return "transport" if status >= 500 else "rejected"  # noqa: PLR2004 - 5xx are the server's own


def _error(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    if not isinstance(value, dict):
        return {}
    error = value.get("error", value)
    return error if isinstance(error, dict) else {"message": error}


def _words(error: dict[str, Any], body: bytes) -> str:
    message = error.get("message")
    words = message if isinstance(message, str) else body.decode("utf-8", "replace")
    return " ".join(words.split())


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
