"""How tokens came: one by one, in the bursts of speculation, or held up by a proxy or by Nagle's algorithm.

Tokens that share one read off the socket share its stamp, so percentiles of gaps mean nothing without `shared_share`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from crucibleforge.chat import Reply, Trace
from crucibleforge.speed.median import median

Pattern = Literal["steady", "speculation", "several tokens an event", "buffering proxy", "Nagle", "bursts", "unknown"]

_TINY_S = 0.0003
"""No model makes two tokens so close together; they were made or sent as one."""
_MIN_EVENTS = 16
_LUMPY = 1.3
_BURSTY_SHARE = 0.2
# The kernel's delayed acknowledgement, which a small second segment waits for (RFC 1122, 4.2.3.2; Linux: 40 ms).
_DELAYED_ACK_S, _ACK_JITTER_S = 0.040, 0.005
_COMB_SHARE = 0.6
_MIN_BUFFER_BYTES = 1024
_SAME_SIZE, _SAME_SHARE = 0.25, 0.6


class Gaps(Struct, frozen=True, omit_defaults=True):
    """The rhythm of one reply, or of several together.

    Of the gaps between events with text, `tiny_share` are below 0.3 ms and `ack_share` of the others near 40 ms; `cv`
    is their coefficient of variation. `shared_share` of the events came in one read with another. `burst_bytes` is the
    usual size of what comes without a pause. `accepted_share` of the tokens that the server guessed ahead were right.
    """

    events: int
    pattern: Pattern
    tokens_per_event: float | None = None
    tiny_share: float | None = None
    ack_share: float | None = None
    cv: float | None = None
    shared_share: float | None = None
    burst_bytes: float | None = None
    accepted_share: float | None = None


def gaps(replies: Sequence[Reply]) -> Gaps:
    """The rhythm of replies that were traced; those that were not, and those with few events, say nothing of it."""
    traced = [
        (reply, reply.timing.trace)
        for reply in replies
        if reply.timing.trace is not None and len(reply.timing.trace.stamps_s) > 1
    ]
    events = sum(len(trace.stamps_s) for _, trace in traced)
    counted = [(reply.usage.completion_tokens, len(trace.stamps_s)) for reply, trace in traced]
    tokens = sum(n or 0 for n, _ in counted)
    per_event = tokens / events if events and all(n for n, _ in counted) else None
    all_gaps = [later - earlier for _, trace in traced for earlier, later in pairwise(trace.stamps_s)]
    if events < _MIN_EVENTS or not all_gaps:
        return Gaps(events, "unknown", per_event)
    longer = [gap for gap in all_gaps if gap >= _TINY_S]
    bursts = [size for _, trace in traced for size in _bursts(trace)]
    guessed, right = _drafted(reply for reply, _ in traced)
    found = Gaps(
        events=events,
        pattern="unknown",
        tokens_per_event=per_event,
        tiny_share=1 - len(longer) / len(all_gaps),
        ack_share=sum(abs(gap - _DELAYED_ACK_S) <= _ACK_JITTER_S for gap in longer) / len(longer) if longer else None,
        cv=_cv(all_gaps),
        shared_share=sum(_shared(trace) for _, trace in traced) / events,
        burst_bytes=median(bursts) if bursts else None,
        accepted_share=right / guessed if guessed else None,
    )
    return replace(found, pattern=_pattern(found, bursts, is_drafting=guessed > 0))


def _pattern(found: Gaps, bursts: Sequence[int], *, is_drafting: bool) -> Pattern:
    is_bursty = (found.tiny_share or 0.0) >= _BURSTY_SHARE
    is_lumpy = (found.tokens_per_event or 1.0) >= _LUMPY
    if is_drafting and (is_bursty or is_lumpy):
        return "speculation"
    if not is_bursty:
        # A model of 25 tok/s has gaps of 40 ms too, but its tokens come one by one.
        return "several tokens an event" if is_lumpy else "steady"
    if (found.burst_bytes or 0.0) >= _MIN_BUFFER_BYTES and _are_one_size(bursts):
        return "buffering proxy"
    if (found.ack_share or 0.0) >= _COMB_SHARE:
        return "Nagle"
    return "bursts"


def _bursts(trace: Trace) -> list[int]:
    """Bytes of each run of reads without a pause between; first and last, being cut by begin and end, are left out."""
    sizes: list[int] = []
    before_s: float | None = None
    for at_s, size in trace.reads:
        if before_s is not None and at_s - before_s < _TINY_S:
            sizes[-1] += size
        else:
            sizes.append(size)
        before_s = at_s
    return sizes[1:-1]


def _are_one_size(bursts: Sequence[int]) -> bool:
    """True when most are near the usual one; a client that was held up reads two as one."""
    usual = median(bursts)
    return sum(abs(size - usual) <= _SAME_SIZE * usual for size in bursts) >= _SAME_SHARE * len(bursts)


def _shared(trace: Trace) -> int:
    """How many events have the stamp of another."""
    stamps = trace.stamps_s
    last = len(stamps) - 1
    return sum(
        (at > 0 and stamps[at - 1] == stamp) or (at < last and stamps[at + 1] == stamp)
        for at, stamp in enumerate(stamps)
    )


def _drafted(replies: Iterable[Reply]) -> tuple[int, int]:
    timings = [reply.server_timings for reply in replies if reply.server_timings is not None]
    return sum(t.draft_n or 0 for t in timings), sum(t.draft_n_accepted or 0 for t in timings)


def _cv(values: Sequence[float]) -> float:
    """Standard deviation over mean; 0 where there is no mean."""
    mean = sum(values) / len(values) if values else 0.0
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean if mean else 0.0
