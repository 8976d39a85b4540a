"""Several requests at a time, each lane sending its next as soon as its last has ended (a closed loop)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from msgspec import Struct

from crucibleforge.speed.goodput import Goodput, Slo, goodput
from crucibleforge.speed.median import Summary, summary, tail
from crucibleforge.speed.sample import Sample

_ACTIVE_SHARE = 0.9
_LEAST_GAIN = 0.05
_MOST_FAILURES = 0.01
_SLOTS_FACTOR = 2


class Load(Struct, frozen=True, omit_defaults=True):
    """What `streams` at a time gave. Rates are of all streams together but for `decode`, which is of each.

    `steady_per_s`: tokens a second from when all streams had their first token to when fewer than 90% still ran,
    `steady_s` long; None where there was no such time. `whole_per_s` is from the first request to the last reply.
    `wait` is the time to the first token that was not spent on reading; `queue_s` is its median above that of one
    stream alone.
    """

    streams: int
    requests: int
    failures: int
    whole_s: float
    whole_per_s: float
    requests_per_s: float
    steady_s: float | None = None
    steady_per_s: float | None = None
    decode: Summary | None = None
    ttft: Summary | None = None
    ttft_tail: tuple[str, float] | None = None
    wait: Summary | None = None
    queue_s: float | None = None
    goodput: Goodput | None = None


def load(lanes: Sequence[Sequence[Sample]], alone: Load | None = None, slo: Slo | None = None) -> Load | None:
    """One row of the table; None where no request was sent. A request without a reply has no moments, but counts.

    Args:
        lanes: The requests of each stream, in order.
        alone: The row of one stream, against which waiting counts as queueing.
        slo: Limits to count the requests that kept them.
    """
    samples = [sample for lane in lanes for sample in lane]
    whole = [sample for sample in samples if sample.is_whole and sample.sent_ns is not None]
    if not samples:
        return None
    begin_s = min((_sent_s(sample) for sample in whole), default=0.0)
    span_s = max((_end_s(sample) for sample in whole), default=0.0) - begin_s
    wait, ttft = summary(_known(sample.wait_s for sample in whole)), _known(sample.ttft_any_s for sample in whole)
    window = _window(lanes)
    return Load(
        streams=len(lanes),
        requests=len(samples),
        failures=sum(not sample.is_whole for sample in samples),
        whole_s=span_s,
        whole_per_s=sum(sample.tokens or 0 for sample in whole) / span_s if span_s > 0 else 0.0,
        requests_per_s=len(whole) / span_s if span_s > 0 else 0.0,
        steady_s=None if window is None else window[1] - window[0],
        steady_per_s=None if window is None else _within(whole, *window) / (window[1] - window[0]),
        decode=summary([sample.decode.per_s for sample in whole if sample.decode is not None]),
        ttft=summary(ttft),
        ttft_tail=tail(ttft, 95),
        wait=wait,
        queue_s=_queue_s(wait, alone),
        goodput=None if slo is None else goodput(samples, slo, span_s),
    )


def is_enough(rows: Sequence[Load], slots: int | None, slo: Slo | None = None) -> bool:
    """True when more streams would tell nothing: errors, twice the server's slots, or no gain and too late a token."""
    last = rows[-1]
    if last.failures > _MOST_FAILURES * last.requests or (slots is not None and last.streams >= _SLOTS_FACTOR * slots):
        return True
    if len(rows) == 1 or last.whole_per_s >= (1 + _LEAST_GAIN) * rows[-2].whole_per_s:
        return False
    limit_s = None if slo is None else slo.ttft_s
    return limit_s is None or last.ttft_tail is None or last.ttft_tail[1] > limit_s


def _window(lanes: Sequence[Sequence[Sample]]) -> tuple[float, float] | None:
    """From the last of the first tokens of all lanes to the end of the lane that leaves fewer than 90% running."""
    moving = [[sample for sample in lane if sample.is_whole and sample.sent_ns is not None] for lane in lanes]
    if not all(moving):
        return None
    begin = max(_sent_s(lane[0]) + (lane[0].ttft_any_s or 0.0) for lane in moving)
    ends = sorted(_end_s(lane[-1]) for lane in moving)
    # With so many lanes left one more that ends leaves too few.
    may_end = len(lanes) - ceil(_ACTIVE_SHARE * len(lanes))
    return (begin, ends[may_end]) if ends[may_end] > begin else None


def _within(samples: Sequence[Sample], begin_s: float, end_s: float) -> float:
    """Tokens that came in the window; those of one reply are spread evenly over its events."""
    tokens = 0.0
    for sample in samples:
        stamps = sample.reply.timing.trace.stamps_s if sample.reply and sample.reply.timing.trace else ()
        inside = sum(begin_s < _sent_s(sample) + stamp_s <= end_s for stamp_s in stamps)
        tokens += inside * (sample.tokens or 0) / max(len(stamps), 1)
    return tokens


def _queue_s(wait: Summary | None, alone: Load | None) -> float | None:
    if wait is None or alone is None or alone.wait is None:
        return None
    return max(wait.median - alone.wait.median, 0.0)


def _sent_s(sample: Sample) -> float:
    return (sample.sent_ns or 0) * 1e-9


def _end_s(sample: Sample) -> float:
    return _sent_s(sample) + (sample.total_s or 0.0)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
