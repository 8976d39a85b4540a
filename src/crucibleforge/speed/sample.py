"""One measured request: what follows from a reply's moments and the server's counts, with the rule and the doubts.

A moment that never came is None and never 0. A count that nobody gave is None and never guessed from events.
"""

from __future__ import annotations

from msgspec import Struct

from crucibleforge.chat import CountSource, Finish, Reply, ServerTimings, Timing, Usage

MIN_TOKENS = 16
MIN_SPAN_S = 0.05
"""A rate over fewer tokens or less time says more about jitter than about speed."""
_MIN_SPLIT_TOKENS = 32
_WARM_SHARE, _WARM_TOKENS = 0.02, 32
"""More than this out of a cache: a chat template's own words explain less. (llama.cpp: 24 tokens of 260.)"""
_LUMPY = 1.5


class Rate(Struct, frozen=True):
    """Tokens per second and how they were worked out, in words."""

    per_s: float
    rule: str


class Sample(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request that was measured; seconds count from the moment it was handed to the socket, the connection being up.

    `wait_s` is the part of the time to the first token that the server did not spend on reading the prompt (or loading
    the model): its queue, its template, HTTP. `cached_share` of the prompt came out of a cache; `is_warm`: more than
    the template's own words. `sent_ns` is on this process's monotonic clock; `resent` times a kept connection had
    closed and the request went out anew, with a clock of its own. `failure` is why there is no `reply`. `reply` is kept
    whole, so that every figure can be worked out again.
    """

    ttft_any_s: float | None = None
    ttft_reasoning_s: float | None = None
    ttft_content_s: float | None = None
    first_event_s: float | None = None
    headers_s: float | None = None
    connect_s: float | None = None
    total_s: float | None = None
    tokens: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cached_share: float | None = None
    is_warm: bool = False
    count_source: CountSource = "none"
    decode: Rate | None = None
    reasoning: Rate | None = None
    content: Rate | None = None
    tpot_s: float | None = None
    e2e_per_s: float | None = None
    wait_s: float | None = None
    finish: Finish = "unknown"
    doubts: tuple[str, ...] = ()
    sent_ns: int | None = None
    resent: int = 0
    failure: str = ""
    reply: Reply | None = None

    @property
    def fresh_tokens(self) -> int | None:
        """Tokens of the prompt that the server had to read; None where it does not say how long the prompt was."""
        return None if self.prompt_tokens is None else max(self.prompt_tokens - (self.cached_tokens or 0), 0)

    @property
    def is_whole(self) -> bool:
        """True when a reply with at least one token came."""
        return not self.failure


def sample(reply: Reply) -> Sample:
    """Everything that one reply says about speed; a reply without any token is a failure."""
    timing, usage = reply.timing, reply.usage
    first_s, trace = timing.first_token_s, timing.trace
    decode = _decode(timing, usage)
    cached = _cached(usage, reply.server_timings)
    is_warm = cached is not None and cached > _WARM_SHARE * (usage.prompt_tokens or cached) + _WARM_TOKENS
    return Sample(
        ttft_any_s=first_s,
        ttft_reasoning_s=timing.first_reasoning_s,
        ttft_content_s=timing.first_content_s,
        first_event_s=timing.first_event_s,
        headers_s=None if trace is None else trace.headers_s,
        connect_s=timing.connect_s,
        total_s=timing.total_s,
        tokens=usage.completion_tokens,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=cached,
        cached_share=cached / usage.prompt_tokens if cached is not None and usage.prompt_tokens else None,
        is_warm=is_warm,
        count_source=usage.source,
        decode=decode,
        reasoning=_reasoning(timing, usage),
        content=_content(timing, usage),
        tpot_s=_tpot_s(timing, usage),
        e2e_per_s=_over(usage.completion_tokens, timing.last_token_s),
        wait_s=_wait_s(first_s, reply.server_timings),
        finish=reply.finish,
        doubts=_doubts(timing, usage),
        sent_ns=None if trace is None else trace.sent_ns,
        resent=0 if trace is None else trace.resent,
        failure="" if first_s is not None else "the reply held no token",
        reply=reply,
    )


def failed(why: str) -> Sample:
    """A request that brought no reply: it counts in every share, and in none of the medians."""
    return Sample(failure=why)


def _decode(timing: Timing, usage: Usage) -> Rate | None:
    """(N - n1) / (last token - first token); n1 tokens came with the first event and are paid for by the prompt."""
    tokens, first_s, last_s = usage.completion_tokens, timing.first_token_s, timing.last_token_s
    if tokens is None or first_s is None or last_s is None:
        return None
    n1 = timing.first_event_tokens or 1
    whose = "" if timing.first_event_tokens else ", taken as 1"
    return _rate(tokens, n1, last_s - first_s, f"N by {usage.source}, n1 the first event's{whose}")


def _reasoning(timing: Timing, usage: Usage) -> Rate | None:
    """The part before the first content, where the server counts it and the trace shows where it ends."""
    split = _split(timing, usage)
    begin_s, end_s, trace = timing.first_reasoning_s, timing.first_content_s, timing.trace
    if split is None or trace is None or begin_s is None or end_s is None:
        return None
    last_s = max((stamp_s for stamp_s in trace.stamps_s if stamp_s < end_s), default=begin_s)
    return _rate(split[0], timing.first_event_tokens or 1, last_s - begin_s, "reasoning tokens by usage")


def _content(timing: Timing, usage: Usage) -> Rate | None:
    split = _split(timing, usage)
    if split is None or timing.first_content_s is None or timing.last_token_s is None:
        return None
    return _rate(split[1], 1, timing.last_token_s - timing.first_content_s, "all but the reasoning tokens by usage")


def _split(timing: Timing, usage: Usage) -> tuple[int, int] | None:
    """Reasoning and content tokens, where reasoning came first and both are enough for a rate."""
    if usage.completion_tokens is None or usage.reasoning_tokens is None:
        return None
    if timing.first_reasoning_s is None or timing.first_content_s is None:
        return None
    content = usage.completion_tokens - usage.reasoning_tokens
    is_long = min(usage.reasoning_tokens, content) >= _MIN_SPLIT_TOKENS
    return (usage.reasoning_tokens, content) if is_long and timing.first_reasoning_s < timing.first_content_s else None


def _rate(tokens: int, n1: int, span_s: float, counted: str) -> Rate | None:
    if tokens < MIN_TOKENS or tokens <= n1 or span_s < MIN_SPAN_S:
        return None
    return Rate((tokens - n1) / span_s, f"(N - n1) / t = ({tokens} - {n1}) / {span_s:.3f} s; {counted}")


def _tpot_s(timing: Timing, usage: Usage) -> float | None:
    """Seconds per token after the first: (last - first) / (N - 1), as vLLM and MLPerf have it."""
    tokens, first_s, last_s = usage.completion_tokens, timing.first_token_s, timing.last_token_s
    if tokens is None or tokens < 2 or first_s is None or last_s is None or last_s <= first_s:  # noqa: PLR2004 - one gap
        return None
    return (last_s - first_s) / (tokens - 1)


def _over(tokens: int | None, span_s: float | None) -> float | None:
    return tokens / span_s if tokens and span_s else None


def _wait_s(first_s: float | None, timings: ServerTimings | None) -> float | None:
    """LM Studio states the time to the first token as a whole; what it waited for is not to be had."""
    if first_s is None or timings is None or timings.source == "lmstudio" or not timings.prompt_ms:
        return None
    return first_s - (timings.prompt_ms + (timings.load_ms or 0.0)) / 1e3


def _cached(usage: Usage, timings: ServerTimings | None) -> int | None:
    """By usage, else by llama.cpp's timings; of Ollama only a count above 0 is believed: old builds do not say."""
    if usage.cached_tokens is not None and usage.source == "usage":
        return usage.cached_tokens
    if timings is None or timings.source == "lmstudio" or (timings.source == "ollama" and not timings.cache_n):
        return None
    return timings.cache_n


def _doubts(timing: Timing, usage: Usage) -> tuple[str, ...]:
    doubts = list(usage.doubts)
    tokens = usage.completion_tokens
    if tokens is None:
        doubts.append("the server counted no tokens: no rate")
    elif tokens and timing.token_events > tokens:
        doubts.append("more events with text than tokens")
    elif tokens and timing.first_event_tokens is None and tokens > _LUMPY * timing.token_events:
        doubts.append("several tokens an event, and the first event's are not known")
    if usage.source not in {"usage", "none"}:
        doubts.append(f"counted by {usage.source}")
    return tuple(doubts)
