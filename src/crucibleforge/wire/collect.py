"""Collect the events of one streamed reply, with the time of each, into a `Reply`.

Times are taken by the caller when bytes arrive, before anything is parsed. Token counts are the server's own.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from crucibleforge.chat import Finish, Reply, Timing, ToolCall, Trace
from crucibleforge.errors import Trouble
from crucibleforge.wire.calls import Calls
from crucibleforge.wire.counts import Counts
from crucibleforge.wire.fault import fault
from crucibleforge.wire.sse import Splitter
from crucibleforge.wire.thoughts import Thoughts

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_NS = 1e-9
_MAX_TEXT = 32 * 1024 * 1024
"""Characters of text, reasoning and calls together; a hundred times the longest honest reply."""
_CALL_WEIGHT = 64


MAX_EVENTS = 200_000
"""Several times what any budget of tokens makes; reading more would hold up everybody else for seconds."""


class Collector:
    """Feed `(t_ns, bytes)` as they arrive; `reply` when the stream has ended. Times are of one monotonic clock.

    `max_tokens` is the limit that was sent, against which the server's count is checked; None: it is not. `is_traced`:
    every moment is kept.
    """

    def __init__(
        self, t0_ns: int, *, max_tokens: int | None = None, max_text: int = _MAX_TEXT, is_traced: bool = False
    ) -> None:
        self._t0_ns = t0_ns
        self._max_tokens = max_tokens
        self._left = max_text
        self._splitter = Splitter()
        self._thoughts = Thoughts()
        self._calls = Calls()
        self._counts = Counts()
        self._finish = ""
        self._served_model: str | None = None
        self._choices: set[int] = set()
        self._first_event_ns: int | None = None
        self._first_call_ns: int | None = None
        self._last_token_ns: int | None = None
        self._events = 0
        self._token_events = 0
        self._done = False
        self._trace = _Tracer(t0_ns) if is_traced else None

    def feed(self, t_ns: int, chunk: bytes) -> None:
        """Take in bytes that arrived at `t_ns`.

        Raises:
            Trouble: an event is not JSON, holds an error of the server, or the reply is longer than any may be.
            Malformed: the server could not parse the model's tool call.
        """
        if self._trace is not None:
            self._trace.read(t_ns, len(chunk))
        if self._done:
            return
        for data in self._splitter.feed(chunk):
            self._events += 1
            if self._events > MAX_EVENTS:
                raise Trouble("runaway", f"the reply has more than {MAX_EVENTS:,} events")
            self._event(t_ns, data)

    def reply(self, t_ns: int, connect_s: float | None = None) -> Reply:
        """The whole reply, the stream having ended at `t_ns`.

        Raises:
            Trouble: the stream ended before the server said that the reply was complete, or as `feed`.
            Malformed: as `feed`.
        """
        for data in self._splitter.close():
            self._event(t_ns, data)
        if self._first_event_ns is None:
            raise Trouble("protocol", "the reply held no events: not a streaming chat endpoint")
        if not self._finish and not self._done:
            raise Trouble("transport", "the stream ended before the reply was complete")
        self._thoughts.close()
        finish = _FINISH.get(self._finish, "unknown")
        return Reply(
            text=_mended(self._thoughts.text),
            reasoning=_mended(self._thoughts.thought),
            tool_calls=tuple(
                ToolCall(_mended(call.id), _mended(call.name), _mended(call.arguments)) for call in self._calls.made()
            ),
            finish=finish,
            usage=self._counts.usage(finish, self._max_tokens, has_text=self._token_events > 0),
            timing=self._timing(t_ns, connect_s),
            served_model=None if self._served_model is None else _mended(self._served_model),
            server_timings=self._counts.server_timings(),
        )

    def _timing(self, t_ns: int, connect_s: float | None) -> Timing:
        def since(stamp_ns: int | None) -> float | None:
            return None if stamp_ns is None else (stamp_ns - self._t0_ns) * _NS

        content_ns = _earliest(self._thoughts.first_text_ns, self._first_call_ns)
        first_token_ns = _earliest(self._thoughts.first_thought_ns, content_ns)
        return Timing(
            total_s=(t_ns - self._t0_ns) * _NS,
            first_event_s=since(self._first_event_ns),
            first_reasoning_s=since(self._thoughts.first_thought_ns),
            first_content_s=since(content_ns),
            last_token_s=since(self._last_token_ns),
            connect_s=connect_s,
            token_events=self._token_events,
            first_event_tokens=self._counts.first_event_tokens(first_token_ns),
            trace=None if self._trace is None else self._trace.whole(),
        )

    def _event(self, t_ns: int, data: bytes) -> None:
        if self._done:
            return
        if data.strip() == b"[DONE]":
            self._done = True
            return
        event = _decoded(data)
        if event.get("error") or event.get("object") == "error":
            raise fault(None, data)
        if self._first_event_ns is None:
            self._first_event_ns = t_ns
        if isinstance(event.get("model"), str):
            self._served_model = event["model"]
        choice = self._choice(event.get("choices"))
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"] or self._finish
        brought_text = self._delta(t_ns, _dict(choice.get("delta")))
        tokens = self._counts.feed(t_ns, event, brought_text=brought_text)
        if brought_text and self._trace is not None:
            self._trace.token(t_ns, tokens)

    def _choice(self, choices: Any) -> dict[str, Any]:
        """The first choice; we ask for one, so more than one is not the reply that was asked for."""
        chosen: dict[str, Any] = {}
        for position, choice in enumerate(choices if isinstance(choices, list) else []):
            index = _dict(choice).get("index")
            index = index if isinstance(index, int) else position
            self._choices.add(index)
            if len(self._choices) > 1:
                raise Trouble("protocol", "the reply holds several choices where one was asked for")
            if index == 0:
                chosen = _dict(choice)
        return chosen

    def _delta(self, t_ns: int, delta: dict[str, Any]) -> bool:
        content, aside = _spoken(delta.get("content"))
        reasoning = next(filter(None, (_thought(delta.get(key)) for key in _REASONING)), "") + aside
        called = self._call(t_ns, delta)
        self._spend(len(content) + len(reasoning))
        if not (content or reasoning or called):
            return False
        self._token_events += 1
        self._last_token_ns = t_ns
        self._thoughts.think(t_ns, reasoning)
        if content:
            self._thoughts.feed(t_ns, content)
        return True

    def _call(self, t_ns: int, delta: dict[str, Any]) -> int:
        pieces = delta.get("tool_calls")
        if not isinstance(pieces, list):
            pieces = [{"index": 0, "function": delta["function_call"]}] if "function_call" in delta else []
        called = self._calls.feed(pieces)
        self._spend(called + _CALL_WEIGHT * len(pieces))
        if called:
            self._first_call_ns = _earliest(self._first_call_ns, t_ns)
        return called

    def _spend(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise Trouble("runaway", "the reply is longer than any reply may be")


class _Tracer:
    """Keeps the moments of a reply."""

    def __init__(self, t0_ns: int) -> None:
        self._t0_ns = t0_ns
        self._reads: list[tuple[float, int]] = []
        self._stamps_s: list[float] = []
        self._counts: list[int | None] = []

    def read(self, t_ns: int, size_bytes: int) -> None:
        self._reads.append((self._since(t_ns), size_bytes))

    def token(self, t_ns: int, tokens: int | None) -> None:
        self._stamps_s.append(self._since(t_ns))
        self._counts.append(tokens)

    def whole(self) -> Trace:
        has_counts = any(tokens is not None for tokens in self._counts)
        return Trace(
            sent_ns=self._t0_ns,
            stamps_s=tuple(self._stamps_s),
            counts=tuple(self._counts) if has_counts else (),
            reads=tuple(self._reads),
        )

    def _since(self, t_ns: int) -> float:
        return round((t_ns - self._t0_ns) * _NS, 6)


_REASONING = ("reasoning_content", "reasoning", "thinking")


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        event = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        # The lenient way reads bytes that are not UTF-8 and halves of a surrogate pair.
        try:
            event = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise Trouble("protocol", f"an event of the stream is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise Trouble("protocol", "an event of the stream is not an object")
    return event


def _spoken(content: Any) -> tuple[str, str]:
    """Text and reasoning of a `content`, which is a string or a list of typed parts."""
    if not isinstance(content, list):
        return _text(content), ""
    parts = [part for part in content if isinstance(part, dict)]
    text = "".join(_text(part.get("text")) for part in parts if part.get("type", "text") == "text")
    aside = "".join(_thought(part.get("thinking")) for part in parts if part.get("type") == "thinking")
    return text, aside


def _thought(value: Any) -> str:
    """Reasoning as a string, an object with `text`, or a list of either."""
    parts = value if isinstance(value, list) else [value]
    return "".join(_text(part.get("text")) if isinstance(part, dict) else _text(part) for part in parts)


def _earliest(*stamps_ns: int | None) -> int | None:
    return min((stamp_ns for stamp_ns in stamps_ns if stamp_ns is not None), default=None)


def _mended(text: str) -> str:
    """Join halves of surrogate pairs that came in two events; a lone half becomes U+FFFD, which a log can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
