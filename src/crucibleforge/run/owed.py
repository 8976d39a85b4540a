"""What a run still owes: a set difference, so resuming is nothing of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from crucibleforge.run.thinking import cause
from crucibleforge.types import Attempt, Row


def to_ask(rows: Iterable[Row]) -> list[Row]:
    """Rows without a reply: never asked, or the last attempt failed for a reason that is not the model's."""
    return [row for row in rows if row.verdict is None and not _is_answered(row.attempt)]


def to_mark(rows: Iterable[Row]) -> list[Row]:
    """Rows with replies that no grader has looked at."""
    return [row for row in rows if row.verdict is None and _is_answered(row.attempt)]


def lost(rows: Iterable[Row]) -> list[Row]:
    """Rows with a reply that was lost to reasoning and never asked for again: those of runs without recovery."""
    return [
        row
        for row in rows
        if row.attempt is not None
        and not row.attempt.recoveries
        and any(cause(reply) is not None for reply in row.attempt.replies)
    ]


def _is_answered(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.failure is None and bool(attempt.replies)
