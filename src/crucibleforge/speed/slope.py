"""How fast prompts are read, by the slope between prompts of different length.

Time over length alone would take queue, template, network and the first token for reading. The line through two
lengths tells them apart: its slope is the speed, what it leaves at length 0 is the overhead.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from crucibleforge.speed.median import Summary, summary

_LEAST_RATIO = 4.0
_LEAST_SPREADS = 10.0
_BEND = 0.20


class Length(Struct, frozen=True):
    """Prompts of about one length: tokens that the server had to read, and seconds to the first token."""

    tokens: float
    ttft: Summary


class Segment(Struct, frozen=True, omit_defaults=True):
    """Tokens per second between two lengths. `doubt` says why the slope is not sound; empty: it is."""

    from_tokens: float
    to_tokens: float
    per_s: float
    doubt: str = ""


class Prefill(Struct, frozen=True, omit_defaults=True):
    """Reading speed. `per_s` is the slope from the shortest to the longest, None where one figure would mislead.

    `overhead_s` is what the line leaves at no tokens at all; None where there is no one line. `naive_per_s` is tokens
    over time at the longest, as others print it. `is_bent`: the speed falls by more than 20% along the lengths, so
    that the segments are the answer.
    """

    lengths: tuple[Length, ...]
    segments: tuple[Segment, ...]
    naive_per_s: float
    per_s: float | None = None
    overhead_s: float | None = None
    is_bent: bool = False
    doubt: str = ""


def prefill(points: Sequence[Sequence[tuple[int, float]]]) -> Prefill | None:
    """Reading speed out of repeats at two or more lengths; None where fewer lengths have any.

    Args:
        points: For each length, of each repeat the uncached tokens and the seconds to the first token.
    """
    lengths = sorted((found for repeats in points if (found := _length(repeats))), key=lambda length: length.tokens)
    steps = [(a, b) for a, b in pairwise(lengths) if b.tokens > a.tokens]
    if not steps:
        return None
    segments = tuple(segment for a, b in steps if (segment := _segment(a, b)))
    longest = lengths[-1]
    naive = longest.tokens / longest.ttft.median
    whole = _segment(lengths[0], longest)
    if whole is None or not segments:
        return Prefill(tuple(lengths), segments, naive, doubt="a longer prompt took no longer")
    is_bent = any(b.per_s < (1 - _BEND) * a.per_s for a, b in pairwise(segments))
    return Prefill(
        lengths=tuple(lengths),
        segments=segments,
        naive_per_s=naive,
        per_s=None if is_bent else whole.per_s,
        overhead_s=None if is_bent else lengths[0].ttft.median - lengths[0].tokens / whole.per_s,
        is_bent=is_bent,
        doubt="" if is_bent else whole.doubt,
    )


def _length(repeats: Sequence[tuple[int, float]]) -> Length | None:
    ttft, tokens = summary([seconds for _, seconds in repeats]), summary([tokens for tokens, _ in repeats])
    return None if ttft is None or tokens is None or ttft.median <= 0 else Length(tokens.median, ttft)


def _segment(a: Length, b: Length) -> Segment | None:
    """The slope from `a` to `b`; None where the longer one took no longer."""
    span_s = b.ttft.median - a.ttft.median
    if span_s <= 0 or b.tokens <= a.tokens:
        return None
    spread_s = max(_spread_s(a.ttft), _spread_s(b.ttft))
    doubt = ""
    if b.tokens < _LEAST_RATIO * a.tokens:
        doubt = "the lengths are less than four times apart"
    elif span_s < _LEAST_SPREADS * spread_s:
        doubt = "the times differ by less than ten times their spread"
    return Segment(a.tokens, b.tokens, (b.tokens - a.tokens) / span_s, doubt)


def _spread_s(ttft: Summary) -> float:
    """The middle half; of fewer than four values, all of them."""
    return ttft.iqr if ttft.n > 3 else ttft.most - ttft.least  # noqa: PLR2004 - quartiles of three are none
