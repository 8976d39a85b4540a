"""What a run still owes: a set difference, so resuming is nothing of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from crucibleforge.types import Attempt, Row


def to_ask(rows: Iterable[Row]) -> list[Row]:
    """Rows without a reply: never asked, or the last attempt failed for a reason that is not the model's."""
    return [row for row in rows if row.verdict is None and not _is_answered(row.attempt)]


def to_mark(rows: Iterable[Row]) -> list[Row]:
    """Rows with replies that no grader has looked at."""
    return [row for row in rows if row.verdict is None and _is_answered(row.attempt)]


def _is_answered(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.failure is None and bool(attempt.replies)
