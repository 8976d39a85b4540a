"""Text for people and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec


def say(text: str) -> None:
    """A line to stderr: progress, notices, anything that is not the data asked for."""
    # Servers and models have a hand in many of these lines; none of them may steer the terminal.
    click.echo(printable(text), err=True)


def printable(text: str) -> str:
    """One line with a space for each character that could steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def print_json(value: Any) -> None:
    """A value to stdout as indented JSON in ASCII, so that nothing in it can steer a terminal."""
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, two spaces apart; readable without colour and when piped."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def duration(seconds: float) -> str:
    """`45 s`, `12 min` or `3 h 20 min`."""
    if seconds < 90:  # noqa: PLR2004 - below this a count of seconds reads better
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004
