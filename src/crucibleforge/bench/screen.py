"""A record as people read it: speed by prompt length, plausibility, the eight checks, each with its reason. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crucibleforge.bench._question import Judged
from crucibleforge.bench.abilities import ABILITY, FITNESS
from crucibleforge.bench.fitness import VERBOSE
from crucibleforge.bench.measured import Cell, Measured
from crucibleforge.bench.record import Record, Subject
from crucibleforge.bench.summary import SLUGGISH_S
from crucibleforge.speed.median import Summary
from crucibleforge.speed.plausible import Plausibility

Row = tuple[str, ...]


def shown(record: Record) -> str:
    """Everything about one model, ready to be printed."""
    return "\n".join(_all(record)) + "\n"


def compared(records: Sequence[Record]) -> tuple[Row, list[Row]]:
    """Header and rows of a table of several models."""
    header: Row = ("Model", "Size", "tok/s (95%)", "TTFT s", "Prefill", "Plausible", "Ability", "Agent", "JSON")
    rows: list[Row] = []
    for record in records:
        summary, subject = record.summary, record.subject
        json = f"{summary.json.right}/{summary.json.asked}" if summary.json else "-"
        rows.append(
            (
                subject.label,
                _size(subject.size_bytes),
                _rate(summary.tok_per_s, summary.tok_per_s_interval),
                "-" if summary.ttft_s is None else f"{summary.ttft_s:.3f}",
                "-" if summary.prefill_tok_per_s is None else f"{summary.prefill_tok_per_s:,.0f}",
                f"{summary.plausibility} ({summary.confidence})",
                _score(summary.ability_passed, summary.ability_asked),
                _score(summary.fitness_passed, summary.fitness_asked),
                json,
            )
        )
    return header, rows


def table(header: Row, rows: Sequence[Row]) -> list[str]:
    """Columns as wide as their widest cell, two spaces apart."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]


def _all(record: Record) -> Iterator[str]:
    yield _title(record.subject)
    yield from _where(record)
    if record.speed:
        yield ""
        yield from _speed(record.speed)
    yield from _plausible("Plausibility", record.decode_plausibility)
    yield from _plausible("Prefill", record.prefill_plausibility)
    yield from _checks(record)
    for note in (*record.notes, *(record.speed.notes if record.speed else ())):
        yield f"note: {note}"
    if not record.is_whole:
        yield "note: ended early; this is what had been measured"


def _title(subject: Subject) -> str:
    facts = [_size(subject.size_bytes) if subject.size_bytes else "size not known"]
    facts += [subject.quant or "quant not known"]
    facts += [f"window {subject.context_tokens:,} tokens"] if subject.context_tokens else []
    facts += [f"{subject.slots} slots"] if subject.slots and subject.slots > 1 else []
    server = f"{subject.server} {subject.server_version or ''}".strip()
    return f"{subject.label}: {', '.join(facts)}; on {server}"


def _where(record: Record) -> Iterator[str]:
    hardware = f"{record.hardware} ({record.hardware_from})" if record.hardware else "not known (`--hardware` says it)"
    yield f"hardware: {hardware}"
    resident = record.resident
    if resident.before is not None:
        yield f"in memory before: {', '.join(resident.before) or 'nothing'}"
    if resident.unloaded:
        yield f"unloaded for the time: {', '.join(resident.unloaded)}"
    if resident.left:
        yield f"in memory beside it: {', '.join(resident.left)} (`--yes` unloads them for the time)"
    if record.load_s is not None:
        yield f"load time: {record.load_s:.1f} s"


def _speed(speed: Measured) -> Iterator[str]:
    lengths = [cell for cell in speed.cells if cell.kind == "length"]
    header = ("Speed", "tok/s", "95% interval", "mean", "TTFT s", "TTFT mean", "TTFT content", "n", "")
    yield from table(header, [_length(cell) for cell in lengths])
    if speed.decode:
        yield f"{'all':<10}  {_figures(speed.decode)}; one request at a time, temperature 0"
    if any(cell.ttft and cell.ttft.median > SLUGGISH_S for cell in lengths):
        yield f"sluggish: the first token takes longer than {SLUGGISH_S:g} s"
    yield from _prefill(speed)
    for pair in speed.cached:
        share = "not stated" if pair.cached_share is None else f"{pair.cached_share:.0%} of its prompt from the cache"
        yield f"next turn: first token after {pair.next_s:.3f} s instead of {pair.first_s:.3f} s; {share}"
    yield from _sweeps(speed)
    for check in speed.checks:
        off = f"{check.difference:+.2%}" if check.unit == "tok/s" else f"{check.difference:+.4g} {check.unit}"
        yield f"server's own figures: {check.what} {check.server:.4g} {check.unit}, ours {check.client:.4g} ({off})"
    yield from _doubts(speed)


def _length(cell: Cell) -> Row:
    rate, ttft = cell.decode, cell.ttft
    return (
        cell.name,
        "-" if rate is None else f"{rate.median:.1f}",
        "-" if rate is None else _interval(rate),
        "-" if rate is None else f"{rate.mean:.1f}",
        "-" if ttft is None else f"{ttft.median:.3f}",
        "-" if ttft is None else f"{ttft.mean:.3f}",
        "-" if cell.ttft_content is None else f"{cell.ttft_content.median:.3f}",
        str(len(cell.samples) - cell.failures - cell.warm),
        "indicative" if cell.is_indicative else "",
    )


def _prefill(speed: Measured) -> Iterator[str]:
    found = speed.prefill
    if found is None:
        return
    naive = f"{found.naive_per_s:,.0f} tok/s by tokens over time"
    if found.per_s is None:
        segments = "; ".join(
            f"{part.from_tokens:,.0f} to {part.to_tokens:,.0f} tokens: {part.per_s:,.0f} tok/s"
            for part in found.segments
        )
        yield f"prefill: {segments or 'no slope'} ({naive})" + (f"; {found.doubt}" if found.doubt else "")
        return
    shortest, longest = found.lengths[0].tokens, found.lengths[-1].tokens
    # A line through two points may cut below nought, which only says that it is short.
    overhead_s = found.overhead_s or 0.0
    overhead = f", {overhead_s * 1e3:.0f} ms before it begins" if overhead_s > 0 else ""
    doubt = f"; {found.doubt}" if found.doubt else ""
    by = f"by slope from {shortest:,.0f} to {longest:,.0f} tokens"
    yield f"prefill: {found.per_s:,.0f} tok/s {by}{overhead} ({naive}){doubt}"


def _sweeps(speed: Measured) -> Iterator[str]:
    depths = [cell for cell in speed.cells if cell.kind == "depth"]
    if depths:
        depth_rows: list[Row] = [
            (
                f"{cell.depth_tokens or 0:,.0f} tokens",
                "-" if cell.decode is None else f"{cell.decode.median:.1f}",
                "-" if cell.decode is None else _interval(cell.decode),
                "-" if cell.ttft is None else f"{cell.ttft.median:.3f}",
                str(len(cell.samples) - cell.failures - cell.warm),
            )
            for cell in depths
        ]
        yield ""
        yield from table(("Depth", "tok/s", "95% interval", "TTFT s", "n"), depth_rows)
    if speed.loads:
        yield ""
        header = (
            "Streams",
            "tok/s together",
            "steady",
            "tok/s each",
            "TTFT s",
            "TTFT tail",
            "queue s",
            "goodput/s",
            "n",
        )
        load_rows: list[Row] = [
            (
                str(row.streams),
                f"{row.whole_per_s:.1f}",
                "-" if row.steady_per_s is None else f"{row.steady_per_s:.1f}",
                "-" if row.decode is None else f"{row.decode.median:.1f}",
                "-" if row.ttft is None else f"{row.ttft.median:.3f}",
                "-" if row.ttft_tail is None else f"{row.ttft_tail[0]} {row.ttft_tail[1]:.3f}",
                "-" if row.queue_s is None else f"{row.queue_s:.3f}",
                "-" if row.goodput is None else f"{row.goodput.per_s:.2f} ({row.goodput.met}/{row.goodput.total})",
                str(row.requests) + (f" ({row.failures} failed)" if row.failures else ""),
            )
            for row in speed.loads
        ]
        yield from table(header, load_rows)


def _doubts(speed: Measured) -> Iterator[str]:
    if speed.gaps.pattern not in {"steady", "unknown"}:
        yield f"rhythm of the stream: {speed.gaps.pattern}"
    if speed.drift is not None and speed.drift.is_drifting:
        trend = speed.drift
        yield f"UNSTEADY: speed changed by {trend.change:+.0%} over {trend.n} requests (p = {trend.p:.3f})"
    if speed.came_back is not None and not speed.came_back.is_steady:
        yield f"UNSTEADY: at the end the first cell was {speed.came_back.change:+.0%} off"
    for limit in speed.client.limits:
        yield f"client: {limit}"


def _plausible(name: str, verdict: Plausibility | None) -> Iterator[str]:
    if verdict is None:
        return
    yield ""
    yield f"{name}: {verdict.word} (confidence {verdict.confidence})"
    yield from (f"  {line}" for line in verdict.text.splitlines())


def _checks(record: Record) -> Iterator[str]:
    judged = {one.key: one for answer in record.answers for one in answer.judged}
    lost = {key: answer.failure for answer in record.answers if answer.failure for key in answer.checks}
    summary = record.summary
    for name, checks, passed, asked in (
        ("Ability", ABILITY, summary.ability_passed, summary.ability_asked),
        ("Agent fitness", FITNESS, summary.fitness_passed, summary.fitness_asked),
    ):
        known = [check for check in checks if check.key in judged or check.key in lost]
        if not known:
            continue
        yield ""
        yield f"{name}: {_score(passed, asked)}"
        for check in known:
            if check.key in judged:
                one = judged[check.key]
                yield f"  {_word(one):<10} {check.title}: {one.why}"
            else:
                yield f"  {'not asked':<10} {check.title}: {lost[check.key]}"
    if summary.length_ratio is not None:
        word = "VERBOSE" if summary.length_ratio > VERBOSE else "brief enough"
        yield f"  output/input length {summary.length_ratio:.2f}: {word}"


def _word(judged: Judged) -> str:
    return judged.outcome if judged.outcome == "pass" else judged.outcome.upper()


def _figures(figures: Summary) -> str:
    return f"{figures.median:.1f} tok/s ({_interval(figures)}), mean {figures.mean:.1f}, n={figures.n}"


def _interval(figures: Summary) -> str:
    if figures.n == 1:
        return "a single value"
    if figures.low is None or figures.high is None:
        return f"{figures.least:.1f} .. {figures.most:.1f} seen"
    return f"{figures.low:.1f} to {figures.high:.1f}"


def _rate(median: float | None, interval: tuple[float, float] | None) -> str:
    if median is None:
        return "-"
    return f"{median:.1f} ({interval[0]:.1f} to {interval[1]:.1f})" if interval else f"{median:.1f}"


def _score(passed: int, asked: int) -> str:
    return f"{passed}/{asked}" if asked else "-"


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "-"
    return f"{size_bytes / 1e9:.2f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.1f} MB"  # noqa: PLR2004 - units
