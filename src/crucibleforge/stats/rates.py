"""Speeds out of a reply's stamps and the server's token counts."""

from __future__ import annotations

from crucibleforge.chat import Reply, ServerTimings

MIN_TOKENS = 16
"""A rate over fewer tokens says more about jitter than about speed."""


def decode_rate(reply: Reply) -> float | None:
    """Tokens per second while generating: (N - n1) / (last token - first token), N by the server's usage.

    The tokens of the first event, n1, are paid for by the prompt; one, where the server does not count as it goes.
    None when the server gave no count, for fewer than `MIN_TOKENS` tokens, or when all arrived at once.
    """
    tokens, first, last = reply.usage.completion_tokens, reply.timing.first_token_s, reply.timing.last_token_s
    if tokens is None or tokens < MIN_TOKENS or first is None or last is None or last <= first:
        return None
    after_first = tokens - (reply.timing.first_event_tokens or 1)
    return after_first / (last - first) if after_first > 0 else None


def server_decode_rate(timings: ServerTimings) -> float | None:
    """Tokens per second while generating by the server's own clock: (N - 1) / `predicted_ms`.

    llama.cpp from build 10621 on, and Ollama on top of it, begin `predicted_ms` at the first token, so N tokens span
    N - 1 intervals; an older build began before it, and comes out lower by one part in N. None for fewer than
    `MIN_TOKENS` tokens or no time at all.
    """
    if timings.predicted_n < MIN_TOKENS or timings.predicted_ms <= 0:
        return None
    return (timings.predicted_n - 1) / timings.predicted_ms * 1e3
