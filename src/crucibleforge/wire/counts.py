"""Token counts and durations by a server's own account: `usage`, and fields of llama.cpp, Ollama and LM Studio.

Rates that a server states are never read: their meaning changes between builds. A count that cannot be right is left
out or doubted, never mended. An event of the stream is not a token.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec

from crucibleforge.chat import Finish, ServerTimings, Usage

_MOST_TOKENS = 2**31
"""No reply has as many; a larger number is not a count."""


class Counts:
    """Feed every event; ask when the stream has ended."""

    def __init__(self) -> None:
        self._usage = Usage()
        self._timings: ServerTimings | None = None
        self._stats: dict[str, Any] = {}
        self._went_down = False
        self._steps: list[tuple[int, int]] = []

    def feed(self, t_ns: int, event: dict[str, Any], *, brought_text: bool) -> int | None:
        """Take in what an event counts; `brought_text` when it held text, reasoning or a call.

        Returns:
            How many tokens the server had written by this event; None where the event does not say.
        """
        usage = _usage(_dict(event.get("usage")))
        timings = _llama_cpp(_dict(event.get("timings"))) or _ollama(event)
        self._account(usage)
        self._timings = timings or self._timings
        self._stats = _dict(event.get("stats")) or self._stats
        tokens = usage.completion_tokens
        if tokens is None and timings is not None:
            # llama.cpp counts here when it is asked for `timings_per_token`.
            tokens = timings.predicted_n
        if brought_text and tokens is not None:
            self._steps.append((t_ns, tokens))
        return tokens

    def usage(self, finish: Finish, max_tokens: int | None, *, has_text: bool) -> Usage:
        """The counts of the whole reply, the best source first, with what is doubtful about them."""
        usage = self._best()
        doubts = []
        if usage.completion_tokens is not None:
            if finish == "length" and max_tokens is not None and usage.completion_tokens == max_tokens - 1:
                doubts.append("one short of the limit")
            if (usage.reasoning_tokens or 0) > usage.completion_tokens:
                usage = msgspec.structs.replace(usage, reasoning_tokens=None)
                doubts.append("more reasoning than completion tokens")
            if has_text and usage.completion_tokens == 0:
                doubts.append("no tokens counted for a reply with text")
        if usage.prompt_tokens is not None and (usage.cached_tokens or 0) > usage.prompt_tokens:
            doubts.append("cached tokens above prompt tokens")
        if self._went_down:
            doubts.append("usage went down")
        return msgspec.structs.replace(usage, doubts=tuple(doubts))

    def server_timings(self) -> ServerTimings | None:
        """The server's own durations with their counts; None where it states none."""
        return self._timings or _lmstudio(self._stats, self._usage)

    def first_event_tokens(self, first_token_ns: int | None) -> int | None:
        """How many tokens had come with the first; None unless the server counts as it goes."""
        if first_token_ns is None:
            return None
        return max((tokens for t_ns, tokens in self._steps if t_ns <= first_token_ns), default=0) or None

    def _account(self, usage: Usage) -> None:
        if usage.source == "none":
            return
        now, before = usage.completion_tokens, self._usage.completion_tokens
        if now is not None:
            self._went_down = self._went_down or (before is not None and now < before)
        self._usage = usage

    def _best(self) -> Usage:
        if self._usage.source != "none":
            return self._usage
        if self._timings is not None:
            timings = self._timings
            return Usage(
                timings.prompt_n + timings.cache_n,
                timings.predicted_n,
                cached_tokens=timings.cache_n,
                source="timings",
            )
        prompt, completion = _lmstudio_counts(self._stats)
        if prompt is None and completion is None:
            return Usage()
        reasoning = _count(self._stats.get("reasoning_output_tokens"))
        return Usage(prompt, completion, reasoning, source="stats")


def _usage(usage: dict[str, Any]) -> Usage:
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None and completion is None:
        return Usage()
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=_count(_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cached_tokens=_count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
        source="usage",
    )


def _llama_cpp(timings: dict[str, Any]) -> ServerTimings | None:
    prompt_n, predicted_n = _count(timings.get("prompt_n")), _count(timings.get("predicted_n"))
    prompt_ms, predicted_ms = _duration(timings.get("prompt_ms")), _duration(timings.get("predicted_ms"))
    if prompt_n is None or predicted_n is None or prompt_ms is None or predicted_ms is None:
        return None
    return ServerTimings(
        prompt_n,
        prompt_ms,
        predicted_n,
        predicted_ms,
        _count(timings.get("cache_n")) or 0,
        draft_n=_count(timings.get("draft_n")),
        draft_n_accepted=_count(timings.get("draft_n_accepted")),
    )


def _ollama(event: dict[str, Any]) -> ServerTimings | None:
    """Nanoseconds to milliseconds. `prompt_eval_count` holds the cached tokens, `prompt_eval_duration` does not.

    A build that does not say how many were cached leaves them in `prompt_n`: no prompt rate follows from it.
    """
    prompt, predicted = _count(event.get("prompt_eval_count")), _count(event.get("eval_count"))
    predicted_ns = _duration(event.get("eval_duration"))
    if prompt is None or predicted is None or predicted_ns is None:
        return None
    cached = min(prompt, _count(event.get("prompt_eval_cached_count")) or 0)
    load_ns = _duration(event.get("load_duration"))
    return ServerTimings(
        prompt_n=prompt - cached,
        prompt_ms=(_duration(event.get("prompt_eval_duration")) or 0.0) / 1e6,
        predicted_n=predicted,
        predicted_ms=predicted_ns / 1e6,
        cache_n=cached,
        load_ms=None if load_ns is None else load_ns / 1e6,
        source="ollama",
    )


def _lmstudio(stats: dict[str, Any], usage: Usage) -> ServerTimings | None:
    """Seconds to milliseconds; the counts stand in `stats` or, in older builds, in `usage` alone."""
    prompt, predicted = _lmstudio_counts(stats)
    prompt = usage.prompt_tokens if prompt is None else prompt
    predicted = usage.completion_tokens if predicted is None else predicted
    first_s = _duration(stats.get("time_to_first_token", stats.get("time_to_first_token_seconds")))
    generation_s = _duration(stats.get("generation_time"))
    if prompt is None or predicted is None or first_s is None or generation_s is None:
        return None
    return ServerTimings(prompt, first_s * 1e3, predicted, generation_s * 1e3, source="lmstudio")


def _lmstudio_counts(stats: dict[str, Any]) -> tuple[int | None, int | None]:
    return (
        _count(stats.get("input_tokens", stats.get("prompt_tokens_count"))),
        _count(stats.get("total_output_tokens", stats.get("predicted_tokens_count"))),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_TOKENS
    return value if is_count else None


def _duration(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        duration = float(value)
    except OverflowError:
        return None
    return duration if isfinite(duration) and duration >= 0 else None
