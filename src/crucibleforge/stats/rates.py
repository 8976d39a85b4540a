"""Speeds out of a reply's stamps and the server's token counts."""

from __future__ import annotations

from crucibleforge.types import Reply

MIN_TOKENS = 16
"""A rate over fewer tokens says more about jitter than about speed."""


def decode_rate(reply: Reply) -> float | None:
    """Tokens per second while generating: (N - 1) / (last token - first token), N by the server's usage.

    The first token is paid for by the prompt, so N tokens span N - 1 intervals. None when the server gave no count,
    for fewer than `MIN_TOKENS` tokens, or when all arrived at once.
    """
    tokens, first, last = reply.usage.completion_tokens, reply.timing.first_token_s, reply.timing.last_token_s
    if tokens is None or tokens < MIN_TOKENS or first is None or last is None or last <= first:
        return None
    return (tokens - 1) / (last - first)
