"""Speeds as bars of text, for a terminal or a log. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crucibleforge.bench.record import Record

_WIDTH = 50
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def plotted(record: Record) -> str:
    """Decode speed by prompt length, by depth and by streams; nothing where nothing was measured."""
    if record.speed is None:
        return ""
    cells = record.speed.cells
    groups = (
        (
            "tok/s by prompt",
            [(cell.name, cell.decode.median) for cell in cells if cell.kind == "length" and cell.decode],
        ),
        (
            "tok/s by depth",
            [
                (f"{cell.depth_tokens or 0:,.0f}", cell.decode.median)
                for cell in cells
                if cell.kind == "depth" and cell.decode
            ],
        ),
        ("tok/s together by streams", [(str(row.streams), row.whole_per_s) for row in record.speed.loads]),
    )
    return "\n".join(line for title, bars in groups if bars for line in _bars(title, bars))


def _bars(title: str, bars: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield title
    most = max(value for _, value in bars) or 1.0
    width = max(len(name) for name, _ in bars)
    for name, value in bars:
        eighths = round(8 * _WIDTH * value / most)
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        yield f"  {name.rjust(width)}  {bar} {value:.1f}"
