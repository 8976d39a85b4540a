"""What was measured: the cells with every request whole, and what they say together. Pure; ready to be written."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from crucibleforge.bench._texts import Text
from crucibleforge.bench.protocol import AGAIN, Kind, Mode, Options, Planned
from crucibleforge.speed.client import Client, grows
from crucibleforge.speed.crosscheck import Check, crosscheck, crosscheck_prefill
from crucibleforge.speed.drift import Drift, Return, came_back, drift
from crucibleforge.speed.gaps import Gaps, gaps
from crucibleforge.speed.load import Load, load
from crucibleforge.speed.median import Summary, median, summary
from crucibleforge.speed.sample import Sample
from crucibleforge.speed.slope import Prefill, prefill

# Characters per token are guessed from a short prompt, of which nonce and template are a large part: long ones came out
# at 0.7 of the tokens expected. Servers that cut in silence were seen at a half and less.
_CUT_SHARE = 0.55
_COMPARABLE: frozenset[Kind] = frozenset({"length", "text", "soak", "again"})
"""Cells of one stream at no depth: their speeds differ by the machine alone, or by the text."""


class Cell(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A kind of request with all its repeats in order; summaries are of those that were neither warm nor failed.

    `lanes` says of each sample of a load which stream sent it. `depth_tokens` is what stood before the reply by the
    server's own count. `is_indicative`: too little to say more than roughly. `is_cut`: the server read far less than
    was sent. `lag_p99_s` is how late the client woke up meanwhile.
    """

    name: str
    kind: Kind
    samples: tuple[Sample, ...]
    text: Text = "prose"
    characters: int = 0
    max_tokens: int = 0
    streams: int = 1
    lanes: tuple[int, ...] = ()
    decode: Summary | None = None
    ttft: Summary | None = None
    ttft_content: Summary | None = None
    depth_tokens: float | None = None
    warm: int = 0
    failures: int = 0
    is_indicative: bool = False
    is_cut: bool = False
    lag_p99_s: float | None = None


class Cached(Struct, frozen=True, omit_defaults=True):
    """A conversation and its next turn: seconds to the first token of each, and how much of the second was cached."""

    name: str
    first_s: float
    next_s: float
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cached_share: float | None = None


class Measured(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything about a model's speed. `is_whole` False: it was ended early, and what had been measured is here.

    `decode` and `ttft` are over all cells of the three lengths. `is_unsteady`: a trend, or the first cell did not come
    back at the end; then every figure is under that label.
    """

    run_id: str
    mode: Mode
    is_whole: bool
    took_s: float
    cells: tuple[Cell, ...]
    client: Client
    gaps: Gaps
    decode: Summary | None = None
    ttft: Summary | None = None
    drift: Drift | None = None
    came_back: Return | None = None
    is_unsteady: bool = False
    prefill: Prefill | None = None
    cached: tuple[Cached, ...] = ()
    loads: tuple[Load, ...] = ()
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()


class Kept(Struct, kw_only=True):
    """A cell while it is being measured; `sent_characters` of each request, `lags_s` of the loop meanwhile."""

    plan: Planned
    samples: list[Sample]
    lanes: list[int]
    sent_characters: list[int]
    lag_p99_s: float | None = None


def cell(kept: Kept, characters_per_token: float) -> Cell:
    """What one cell says."""
    plan, cold = kept.plan, _cold(kept.samples)
    depths = [float(sample.prompt_tokens) for sample in kept.samples if sample.prompt_tokens is not None]
    return Cell(
        name=plan.name,
        kind=plan.kind,
        samples=tuple(kept.samples),
        text=plan.text,
        characters=plan.characters,
        max_tokens=plan.max_tokens,
        streams=plan.streams,
        lanes=tuple(kept.lanes) if plan.kind == "load" else (),
        decode=summary([sample.decode.per_s for sample in cold if sample.decode is not None]),
        ttft=summary([sample.ttft_any_s for sample in cold if sample.ttft_any_s is not None]),
        ttft_content=summary([sample.ttft_content_s for sample in cold if sample.ttft_content_s is not None]),
        depth_tokens=median(depths) if depths else None,
        warm=sum(sample.is_warm for sample in kept.samples),
        failures=sum(not sample.is_whole for sample in kept.samples),
        is_indicative=plan.is_indicative,
        is_cut=_is_cut(kept, characters_per_token),
        lag_p99_s=kept.lag_p99_s,
    )


class Course(Struct, frozen=True, omit_defaults=True):
    """How the measuring went: `is_whole` False where it was ended early."""

    took_s: float
    client: Client
    is_whole: bool = True
    notes: tuple[str, ...] = ()


def measured(options: Options, cells: Sequence[Cell], course: Course) -> Measured:
    """All cells together."""
    alone = [sample for cell in cells if cell.streams == 1 and cell.kind != "load" for sample in cell.samples]
    lengths = [sample for cell in cells if cell.kind == "length" for sample in _cold(cell.samples)]
    reading = [_cold(cell.samples) for cell in cells if cell.kind == "prefill"]
    mine = prefill([_read(samples) for samples in reading])
    own = None if mine is None else crosscheck_prefill(mine, [_read_by_server(samples) for samples in reading])
    trend, back = drift(_speeds(cells)), came_back(_rates(cells, AGAIN), _rates(cells, "again"))
    loads = _loads(cells, options)
    return Measured(
        run_id=options.run_id,
        mode=options.mode,
        is_whole=course.is_whole,
        took_s=course.took_s,
        cells=tuple(cells),
        client=_judged(course.client, cells),
        gaps=gaps([sample.reply for sample in lengths if sample.reply is not None]),
        decode=summary([sample.decode.per_s for sample in lengths if sample.decode is not None]),
        ttft=summary([sample.ttft_any_s for sample in lengths if sample.ttft_any_s is not None]),
        drift=trend,
        came_back=back,
        is_unsteady=(trend is not None and trend.is_drifting) or (back is not None and not back.is_steady),
        prefill=mine,
        cached=tuple(found for cell in cells if cell.kind == "cached" and (found := _cached(cell))),
        loads=loads,
        checks=(*crosscheck(alone), *(() if own is None else (own,))),
        notes=(*course.notes, *_said(cells)),
    )


def _cold(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.is_whole and not sample.is_warm]


def _is_cut(kept: Kept, characters_per_token: float) -> bool:
    """True when a prompt of more than a few words was counted far shorter than it was sent."""
    return any(
        sample.prompt_tokens is not None and sample.prompt_tokens < _CUT_SHARE * sent / characters_per_token
        for sample, sent in zip(kept.samples, kept.sent_characters, strict=True)
    )


def _read(samples: Sequence[Sample]) -> list[tuple[int, float]]:
    return [
        (sample.fresh_tokens, sample.ttft_any_s)
        for sample in samples
        if sample.fresh_tokens is not None and sample.ttft_any_s is not None
    ]


def _read_by_server(samples: Sequence[Sample]) -> list[tuple[int, float]]:
    stated = [sample.reply.server_timings for sample in samples if sample.reply is not None]
    return [(own.prompt_n, own.prompt_ms / 1e3) for own in stated if own is not None and own.source != "lmstudio"]


def _rates(cells: Sequence[Cell], name: str) -> list[float]:
    return [
        sample.decode.per_s
        for cell in cells
        if cell.name == name
        for sample in _cold(cell.samples)
        if sample.decode is not None
    ]


def _speeds(cells: Sequence[Cell]) -> list[float]:
    """Decode rates in the order in which they were measured, each as a share of what is usual in its cell."""
    usual = {cell.name: cell.decode.median for cell in cells if cell.decode is not None}
    # What is measured again is what it was measured as at first, or the trend between the two would be lost.
    for late in ("again", "soak"):
        if AGAIN in usual and late in usual:
            usual[late] = usual[AGAIN]
    timed = [
        (sample.sent_ns, sample.decode.per_s / usual[cell.name])
        for cell in cells
        if cell.kind in _COMPARABLE
        for sample in _cold(cell.samples)
        if sample.decode is not None and sample.sent_ns is not None
    ]
    return [speed for _, speed in sorted(timed)]


def _cached(cell: Cell) -> Cached | None:
    if len(cell.samples) < 2:  # noqa: PLR2004 - a conversation and its next turn
        return None
    first, later = cell.samples[:2]
    if first.ttft_any_s is None or later.ttft_any_s is None:
        return None
    return Cached(
        cell.name, first.ttft_any_s, later.ttft_any_s, later.prompt_tokens, later.cached_tokens, later.cached_share
    )


def _loads(cells: Sequence[Cell], options: Options) -> tuple[Load, ...]:
    rows: list[Load] = []
    for cell in cells:
        if cell.kind == "load" and (row := row_of(cell, rows[0] if rows else None, options)):
            rows.append(row)
    return tuple(rows)


def row_of(cell: Cell, alone: Load | None, options: Options) -> Load | None:
    """A load's row; `alone` is that of one stream."""
    lanes = [
        [sample for sample, lane in zip(cell.samples, cell.lanes, strict=True) if lane == wanted]
        for wanted in range(cell.streams)
    ]
    return load(lanes, alone if alone is not None and alone.streams == 1 else None, options.slo)


def _judged(client: Client, cells: Sequence[Cell]) -> Client:
    """With what the sweep adds: lag that grows with the streams while the server's own pace does not."""
    pairs = [
        (cell.lag_p99_s, median(tpots))
        for cell in cells
        if cell.kind == "load" and cell.lag_p99_s is not None and (tpots := _server_tpots_s(cell))
    ]
    if not grows([lag for lag, _ in pairs], [tpot for _, tpot in pairs]):
        return client
    more = "client-limited: its lag grew with the streams while the server kept its pace"
    return replace(client, limits=(*client.limits, more))


def _server_tpots_s(cell: Cell) -> list[float]:
    stated = [sample.reply.server_timings for sample in cell.samples if sample.reply is not None]
    return [own.predicted_ms / 1e3 / own.predicted_n for own in stated if own is not None and own.predicted_n]


def _said(cells: Sequence[Cell]) -> list[str]:
    notes = []
    for cell in cells:
        if cell.failures:
            first = next(sample.failure for sample in cell.samples if not sample.is_whole)
            notes.append(f"{cell.name}: {cell.failures} of {len(cell.samples)} requests failed, the first: {first}")
        if cell.warm and cell.kind not in {"cached", "warm-up"}:
            notes.append(
                f"{cell.name}: {cell.warm} of {len(cell.samples)} prompts came out of a cache and are left out"
            )
        if cell.is_cut:
            notes.append(f"{cell.name}: the server read far fewer tokens than were sent; its window may be smaller")
    # The warm-up is there to take on itself what happens but once.
    counted = [sample for cell in cells if cell.kind != "warm-up" for sample in cell.samples]
    return notes + sorted({doubt for sample in counted for doubt in sample.doubts})
