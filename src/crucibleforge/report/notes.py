"""What must be said about a model beside its numbers, each in a few words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from crucibleforge.extract.calls import writes_call
from crucibleforge.report import scorecard
from crucibleforge.report.tokens import count_notes
from crucibleforge.types import Attempt, Row, RunPlan, Target

_RUNGS: tuple[tuple[Literal["budget", "no_think", "continue"], str], ...] = (
    ("budget", "by a larger budget"),
    ("no_think", "with reasoning off"),
    ("continue", "by handing the reasoning back"),
)
_WIDTH = 80
_NAMES = 3
# File ending, quantization, date and channel are how servers dress a name, not which model it is.
_DRESSING = re.compile(
    r"\.(?:gguf|bin|safetensors)$|-\d{5}-of-\d{5}$|[-_.@:](?:i?q\d(?:_[0-9a-z]+){0,3}|(?:bf|fp|f)(?:8|16|32)|int[48]|[48]bit"
    r"|awq|gptq|gguf|mlx|ud|latest|20\d{2}-?\d{2}-?\d{2}|\d{4})$"
)


class Gathered(Struct, frozen=True):
    """All that counts for one model: its newest target and plan, its rows in the suite's order.

    `stale` is the number of rows of an older suite, `reserve` the rows that are shown and not counted, `learnt` what
    was learnt about the target on the way.
    """

    target: Target
    plan: RunPlan
    rows: tuple[Row, ...]
    stale: int
    learnt: tuple[str, ...]
    reserve: tuple[Row, ...] = ()


def notes(found: Gathered, cases: int) -> Iterable[str]:
    """The notes, those first that decide what the numbers are worth; `cases` is the size of the suite."""
    attempts = [row.attempt for row in found.rows if row.attempt]
    if invalid := scorecard.invalid(found.rows):
        yield f"INVALID: {invalid}"
    covered = len({row.job.case_id for row in found.rows if scorecard.is_scored(row)})
    if covered < cases:
        yield f"partial ({covered}/{cases} cases)"
    yield from _outcomes(found)
    if found.reserve:
        passed = sum(row.verdict is not None and row.verdict.outcome == "pass" for row in found.reserve)
        yield f"reserve: {passed} of {len(found.reserve)} passed, not counted"
    yield from _recovered(attempts)
    if written := sum(_writes_call(row) for row in found.rows):
        yield f"{written} tool {'call' if written == 1 else 'calls'} written as text, not counted as calls"
    yield from (f"answered by {name}" for name in _others(attempts, found.target.model_id))
    yield from (_shortened(what) for what in found.learnt)
    yield from count_notes(attempts)
    speed = scorecard.speed(found.rows)
    if speed and not speed.alone:
        yield "tok/s beside other requests"


def is_other(served: str, asked: str) -> bool:
    """True when a server's name for a model is clearly not the one that was asked for, however it is dressed."""
    one, two = _bare(served), _bare(asked)
    return bool(one and two) and one != two


def _outcomes(found: Gathered) -> Iterable[str]:
    counts = Counter(row.verdict.outcome for row in found.rows if row.verdict)
    counted = {
        "skipped: context too small": counts["skipped"],
        "truncated": counts["truncated"],
        "unanswered": counts["unanswered"],
        "refused": counts["refused"],
        "errored, not scored": sum(map(scorecard.is_error, found.rows)),
    }
    yield from (f"{count} {what}" for what, count in counted.items() if count)
    if found.stale:
        yield f"{found.stale} {'row' if found.stale == 1 else 'rows'} of an older suite not counted"
    if any(row.verdict and row.verdict.isolation == "none" for row in found.rows):
        yield "code ran without a sandbox"


def _recovered(attempts: Iterable[Attempt]) -> Iterable[str]:
    modes = Counter(recovery.mode for attempt in attempts for recovery in attempt.recoveries)
    if brought := modes.total() - modes[None]:
        how = ", ".join(f"{modes[mode]} {words}" for mode, words in _RUNGS if modes[mode])
        yield f"{brought} {'answer' if brought == 1 else 'answers'} recovered ({how})"
    if modes[None]:
        yield f"{modes[None]} lost to reasoning and not recovered"


def _writes_call(row: Row) -> int:
    if not row.case.dialogue.tools or row.attempt is None:
        return 0
    # The text of a malformed reply is the server's, which may quote the call.
    return sum(writes_call(reply.text) for reply in row.attempt.replies if reply.finish != "malformed")


def _others(attempts: Iterable[Attempt], asked: str) -> Iterable[str]:
    served = dict.fromkeys(reply.served_model for attempt in attempts for reply in attempt.replies)
    others = [name for name in served if name and is_other(name, asked)]
    yield from (_shortened(name) for name in others[:_NAMES])
    if len(others) > _NAMES:
        yield f"{len(others) - _NAMES} more"


def _bare(name: str) -> str:
    """Lower case, without folder and dressing, one kind of separator."""
    bare = re.split(r"[/\\]", name[-4 * _WIDTH :].lower().rstrip("/\\"))[-1]
    while bare != (shorter := _DRESSING.sub("", bare)):
        bare = shorter
    return re.sub(r"[-_.:@ ]+", "-", bare).removeprefix("meta-")


def _shortened(text: str) -> str:
    return text if len(text) <= 2 * _WIDTH else f"{text[: 2 * _WIDTH]}..."
