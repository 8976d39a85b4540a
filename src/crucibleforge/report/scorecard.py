"""The board and its scorecards: what the rows of one model say, in numbers.

Two numbers stand beside each other. *Delivered*: passes over all counted rows, what a user gets at this budget. *When
answered*: passes over the rows that brought an answer. They differ by the answers that were lost or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from crucibleforge.report.tokens import Spent
from crucibleforge.stats.intervals import weighted_mean, wilson
from crucibleforge.stats.rates import decode_rate
from crucibleforge.types import Adapted, Case, Row, RunPlan


class Source(Struct, frozen=True):
    """What one run brings to the board: its plan, its rows as of now, what was learnt about its targets."""

    plan: RunPlan
    rows: Sequence[Row]
    adapted: tuple[Adapted, ...] = ()


class Rate(Struct, frozen=True):
    """`passed` of `total`, with the ends of a 95% interval in [0, 1]; both ends None when total is 0."""

    passed: int
    total: int
    low: float | None
    high: float | None


class Speed(Struct, frozen=True):
    """Median decode rate in tokens per second over `n` replies; `alone`: each was the only request in flight."""

    tok_per_s: float
    n: int
    alone: bool


class Part(Struct, frozen=True):
    """`count` of `total` rows."""

    count: int
    total: int


class CategoryScore(Struct, frozen=True):
    """A category of one target; `weight` 0 means shown, never counted.

    `rate` is the delivered score. `lost`: cut off or without an answer, of the counted rows. `recovered`: answered when
    asked again, and counted like any other.
    """

    name: str
    rate: Rate
    when_answered: Rate
    lost: Part
    recovered: int
    weight: float


class FailedRow(Struct, frozen=True):
    """A row that did not pass, and why; `seed` gives its hidden inputs again, "" if there were none."""

    case_id: str
    repeat: int
    outcome: str
    why: str
    seed: str = ""


class Overall(Struct, frozen=True):
    """Weighted mean of the category rates in percent, with its 95% interval."""

    percent: float
    low: float
    high: float


class Scorecard(Spent, frozen=True, kw_only=True):
    """One line of the board, with what its replies took.

    `overall` is the delivered score; None for a partial run and for an invalid one: no total, no rank. `invalid` says
    why not one of its answers is known, "" where some are. `when_answered` is None as well where a category that
    counts brought no answer.
    """

    label: str
    model_id: str
    invalid: str
    overall: Overall | None
    when_answered: Overall | None
    lost: Part
    recovered: int
    categories: tuple[CategoryScore, ...]
    speed: Speed | None
    revision: str
    settled: int
    planned: int
    skipped: int
    errors: int
    notes: tuple[str, ...]
    failures: tuple[FailedRow, ...]


class Alarm(Struct, frozen=True):
    """Something about a model's score that speaks against it; `text` is for people."""

    label: str
    kind: Literal["invalid", "cut_off", "all_failed", "all_passed"]
    text: str


class Board(Struct, frozen=True):
    """All scorecards, ranked ones first, best first; `generated` is UTC. `alarms` are to be read before any number."""

    generated: str
    revision: str
    cards: tuple[Scorecard, ...]
    alarms: tuple[Alarm, ...] = ()


def is_scored(row: Row) -> bool:
    """True when a row belongs into a denominator; the reserve never does."""
    return row.verdict is not None and row.verdict.outcome not in {"skipped", "pending"} and row.case.level != "reserve"


def is_lost(row: Row) -> bool:
    """True when the reply was cut off before its answer, or held none."""
    return row.verdict is not None and row.verdict.outcome in {"truncated", "unanswered"}


def is_error(row: Row) -> bool:
    """True when a row has no verdict because of trouble that is not the model's."""
    return row.verdict is None and row.attempt is not None and row.attempt.failure is not None


def is_recovered(row: Row) -> bool:
    """True when the row's answer came only when it was asked for again."""
    return row.attempt is not None and any(recovery.mode for recovery in row.attempt.recoveries)


def categories(rows: Iterable[Row], suite: Sequence[Case], weights: Mapping[str, float]) -> tuple[CategoryScore, ...]:
    """The scores of every category of the suite, in its order; a weight that is not given is 1."""
    by_name: dict[str, list[Row]] = {case.category: [] for case in suite}
    for row in rows:
        if is_scored(row):
            by_name[row.case.category].append(row)
    return tuple(
        CategoryScore(
            name=name,
            rate=_rate(found),
            when_answered=_rate([row for row in found if _is_answered(row)]),
            lost=Part(sum(map(is_lost, found)), len(found)),
            recovered=sum(map(is_recovered, found)),
            weight=weights.get(name, 1.0),
        )
        for name, found in by_name.items()
    )


def overall(parts: Iterable[tuple[float, Rate]]) -> Overall | None:
    """The weighted mean of rates, given each with its weight; None where one that counts has no rows."""
    counted = [(weight, rate) for weight, rate in parts if weight > 0]
    known = [
        (weight, rate.passed / rate.total, rate.low, rate.high)
        for weight, rate in counted
        if rate.low is not None and rate.high is not None
    ]
    if not known or len(known) < len(counted):
        return None
    mean, low, high = weighted_mean(known)
    return Overall(100 * mean, 100 * low, 100 * high)


def invalid(rows: Iterable[Row]) -> str:
    """Why nothing can be said about a model, or "": every counted row was cut off or lost inside its reasoning."""
    counted = [row for row in rows if is_scored(row)]
    cut = sum(1 for row in counted if row.verdict and row.verdict.outcome == "truncated")
    lost = sum(1 for row in counted if _is_lost_in_reasoning(row))
    if not counted or cut + lost < len(counted):
        return ""
    if cut == 0:
        return "every reply stopped inside its reasoning"
    return "every reply was cut off" if lost == 0 else "every reply was cut off or stopped inside its reasoning"


def speed(rows: Iterable[Row]) -> Speed | None:
    """From replies that were alone in flight where there are any: others measure the queue as well."""
    attempts = [row.attempt for row in rows if row.attempt]
    for alone in (True, False):
        rates = [
            rate
            for attempt in attempts
            if not alone or attempt.in_flight == 1
            for reply in attempt.replies
            if (rate := decode_rate(reply)) is not None
        ]
        if rates:
            return Speed(median(rates), len(rates), alone)
    return None


def failures(rows: Iterable[Row]) -> Iterable[FailedRow]:
    """Every row that did not pass, with its reason."""
    for row in rows:
        if row.verdict is not None and row.verdict.outcome != "pass":
            yield FailedRow(row.job.case_id, row.job.repeat, row.verdict.outcome, row.verdict.why, row.verdict.seed)
        elif row.verdict is None and row.attempt and row.attempt.failure:
            failure = row.attempt.failure
            tries = "1 try" if failure.tries == 1 else f"{failure.tries} tries"
            yield FailedRow(row.job.case_id, row.job.repeat, "error", f"{failure.message} ({tries})")


def _rate(rows: Sequence[Row]) -> Rate:
    """Raw counts over rows; the interval is over cases, since repeats of one case are not independent."""
    if not rows:
        return Rate(0, 0, None, None)
    passed = sum(1 for row in rows if row.verdict and row.verdict.outcome == "pass")
    cases = len({row.job.case_id for row in rows})
    low, high = wilson(passed / len(rows) * cases, cases)
    return Rate(passed, len(rows), low, high)


def _is_answered(row: Row) -> bool:
    return row.verdict is not None and row.verdict.outcome != "refused" and not is_lost(row)


def _is_lost_in_reasoning(row: Row) -> bool:
    """Text without an answer is reasoning that the server did not tell apart."""
    if row.verdict is None or row.verdict.outcome != "unanswered" or row.attempt is None or not row.attempt.replies:
        return False
    last = row.attempt.replies[-1]
    return bool(last.reasoning or last.text.strip())
