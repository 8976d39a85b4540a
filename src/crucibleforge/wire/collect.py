"""Collect the events of one streamed reply, with the time of each, into a `Reply`.

Times are taken by the caller when bytes arrive, before anything is parsed. Token counts are the server's own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from crucibleforge.errors import Trouble
from crucibleforge.types import Finish, Reply, ServerTimings, Timing, ToolCall, Usage
from crucibleforge.wire.fault import fault
from crucibleforge.wire.sse import Splitter

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_NS = 1e-9


class Collector:
    """Feed `(t_ns, bytes)` as they arrive; `reply` when the stream has ended. Times are of one monotonic clock."""

    def __init__(self, t0_ns: int) -> None:
        self._t0_ns = t0_ns
        self._splitter = Splitter()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._finish: str | None = None
        self._usage = Usage()
        self._server_timings: ServerTimings | None = None
        self._served_model: str | None = None
        self._first_event_ns: int | None = None
        self._first_reasoning_ns: int | None = None
        self._first_content_ns: int | None = None
        self._last_token_ns: int | None = None
        self._token_events = 0
        self._done = False

    def feed(self, t_ns: int, chunk: bytes) -> None:
        """Take in bytes that arrived at `t_ns`.

        Raises:
            Trouble: an event is not JSON, or holds an error of the server.
        """
        for data in self._splitter.feed(chunk):
            self._event(t_ns, data)

    def reply(self, t_ns: int, connect_s: float | None = None) -> Reply:
        """The whole reply, the stream having ended at `t_ns`.

        Raises:
            Trouble: the stream ended before the server said that the reply was complete.
        """
        for data in self._splitter.close():
            self._event(t_ns, data)
        if self._first_event_ns is None:
            raise Trouble("protocol", "the reply held no events: not a streaming chat endpoint")
        if self._finish is None and not self._done:
            raise Trouble("transport", "the stream ended before the reply was complete")
        return Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(call.made(index) for index, call in sorted(self._calls.items())),
            finish=_FINISH.get(self._finish or "", "unknown"),
            usage=self._usage,
            timing=self._timing(t_ns, connect_s),
            served_model=self._served_model,
            server_timings=self._server_timings,
        )

    def _timing(self, t_ns: int, connect_s: float | None) -> Timing:
        def since(stamp_ns: int | None) -> float | None:
            return None if stamp_ns is None else (stamp_ns - self._t0_ns) * _NS

        return Timing(
            total_s=(t_ns - self._t0_ns) * _NS,
            first_event_s=since(self._first_event_ns),
            first_reasoning_s=since(self._first_reasoning_ns),
            first_content_s=since(self._first_content_ns),
            last_token_s=since(self._last_token_ns),
            connect_s=connect_s,
            token_events=self._token_events,
        )

    def _event(self, t_ns: int, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self._done = True
            return
        if self._done:
            return
        try:
            event = msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            raise Trouble("protocol", f"an event of the stream is not JSON: {error}") from error
        if not isinstance(event, dict):
            raise Trouble("protocol", "an event of the stream is not an object")
        if event.get("error"):
            raise fault(None, data)
        if self._first_event_ns is None:
            self._first_event_ns = t_ns
        self._facts(event)
        choice = _first(event.get("choices"))
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
        self._delta(t_ns, _dict(choice.get("delta")))

    def _facts(self, event: dict[str, Any]) -> None:
        if isinstance(event.get("model"), str):
            self._served_model = event["model"]
        if isinstance(event.get("usage"), dict):
            self._usage = _usage(event["usage"])
        if isinstance(event.get("timings"), dict):
            self._server_timings = _server_timings(event["timings"])

    def _delta(self, t_ns: int, delta: dict[str, Any]) -> None:
        content = _text(delta.get("content"))
        reasoning = _text(delta.get("reasoning_content")) or _text(delta.get("reasoning"))
        calls = delta.get("tool_calls") if isinstance(delta.get("tool_calls"), list) else []
        if not (content or reasoning or calls):
            return
        self._token_events += 1
        self._last_token_ns = t_ns
        if reasoning:
            self._reasoning.append(reasoning)
            self._first_reasoning_ns = self._first_reasoning_ns or t_ns
        if content or calls:
            self._text.append(content)
            self._first_content_ns = self._first_content_ns or t_ns
        for position, call in enumerate(calls or ()):
            self._call(position, _dict(call))

    def _call(self, position: int, delta: dict[str, Any]) -> None:
        index = delta.get("index")
        call = self._calls.setdefault(index if isinstance(index, int) else position, _Call())
        function = _dict(delta.get("function"))
        call.id = call.id or _text(delta.get("id"))
        call.name += _text(function.get("name"))
        call.arguments.append(_text(function.get("arguments")))


class _Call:
    """A tool call that is still arriving."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def made(self, index: int) -> ToolCall:
        return ToolCall(self.id or f"call_{index}", self.name, "".join(self.arguments))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(value: Any) -> dict[str, Any]:
    return _dict(value[0]) if isinstance(value, list) and value else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_count(_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cached_tokens=_count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )


def _server_timings(timings: dict[str, Any]) -> ServerTimings | None:
    try:
        return msgspec.convert(timings, ServerTimings)
    except msgspec.ValidationError:
        return None
