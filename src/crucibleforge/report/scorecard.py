"""Rows of all runs to one scorecard a model.

A row counts iff its case still stands in the suite with the same content hash; of several rows for the same case and
repeat the newest settled one counts. A model whose settled rows do not cover the suite has no total and no rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from msgspec import Struct

from crucibleforge.stats.intervals import weighted_mean, wilson
from crucibleforge.stats.rates import decode_rate
from crucibleforge.types import Case, Row, RunPlan, Target


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


class CategoryScore(Struct, frozen=True):
    """A category of one target; `weight` 0 means shown, never counted."""

    name: str
    rate: Rate
    weight: float


class FailedRow(Struct, frozen=True):
    """A row that did not pass, and why."""

    case_id: str
    repeat: int
    outcome: str
    why: str


class Overall(Struct, frozen=True):
    """Weighted mean of the category rates in percent, with its 95% interval."""

    percent: float
    low: float
    high: float


class Scorecard(Struct, frozen=True, kw_only=True):
    """One line of the board. `overall` is None for a partial run: it has no total and no rank."""

    label: str
    model_id: str
    overall: Overall | None
    categories: tuple[CategoryScore, ...]
    speed: Speed | None
    revision: str
    settled: int
    planned: int
    skipped: int
    errors: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None
    notes: tuple[str, ...]
    failures: tuple[FailedRow, ...]


class Board(Struct, frozen=True):
    """All scorecards, ranked ones first, best first; `generated` is UTC."""

    generated: str
    revision: str
    cards: tuple[Scorecard, ...]


def board(
    runs: Sequence[tuple[RunPlan, Sequence[Row]]], suite: Sequence[Case], weights: Mapping[str, float], generated: str
) -> Board:
    """The board over all runs, given oldest first."""
    labels = {target.label: None for plan, _ in runs for target in plan.targets}
    cards = [card for label in labels if (card := _card(label, runs, suite, weights))]
    cards.sort(key=lambda card: (card.overall is None, -(card.overall.percent if card.overall else 0), card.label))
    return Board(generated, cards[0].revision if cards else "", tuple(cards))


def scored(row: Row) -> bool:
    """True when a row belongs into a denominator."""
    return row.verdict is not None and row.verdict.outcome not in {"skipped", "pending"}


def _card(
    label: str, runs: Sequence[tuple[RunPlan, Sequence[Row]]], suite: Sequence[Case], weights: Mapping[str, float]
) -> Scorecard | None:
    rows, target, plan, stale = _gathered(label, runs, suite)
    if not rows or target is None or plan is None:
        return None
    categories = _categories(rows, suite, weights)
    counted = [row for row in rows if scored(row)]
    covered = len({row.job.case_id for row in counted})
    complete = covered == len(suite)
    usages = [reply.usage for row in rows if row.attempt for reply in row.attempt.replies]
    costs = [row.attempt.cost_usd for row in rows if row.attempt and row.attempt.failure is None]
    known = [amount for amount in costs if amount is not None]
    speed = _speed(rows)
    return Scorecard(
        label=label,
        model_id=target.model_id,
        overall=_overall(categories) if complete else None,
        categories=categories,
        speed=speed,
        revision=plan.revision,
        settled=covered,
        planned=len(suite),
        skipped=sum(1 for row in rows if row.verdict and row.verdict.outcome == "skipped"),
        errors=sum(1 for row in rows if _is_error(row)),
        prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
        completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
        cost_usd=sum(known) if known and len(known) == len(costs) else None,
        notes=tuple(_notes(rows, covered, len(suite), stale, speed)),
        failures=tuple(_failures(rows)),
    )


def _gathered(
    label: str, runs: Sequence[tuple[RunPlan, Sequence[Row]]], suite: Sequence[Case]
) -> tuple[list[Row], Target | None, RunPlan | None, int]:
    """The rows that count for a label, its newest target and plan, and how many rows are of an older suite.

    Runs whose target differs in more than price and speed limits are of another model, whatever its label.
    """
    hashes = {case.id: case.hash for case in suite}
    order = {case.id: place for place, case in enumerate(suite)}
    target, newest, stale = None, None, 0
    chosen: dict[tuple[str, int], Row] = {}
    for plan, rows in reversed(runs):
        own = next((candidate for candidate in plan.targets if candidate.label == label), None)
        touched = [row for row in rows if row.job.label == label and (row.attempt or row.verdict)]
        if own is None or not touched or (target and own.identity != target.identity):
            continue
        target, newest = target or own, newest or plan
        for row in touched:
            if hashes.get(row.case.id) != row.case.hash:
                stale += 1
                continue
            held = chosen.get((row.case.id, row.job.repeat))
            if held is None or (row.is_settled and not held.is_settled):
                chosen[row.case.id, row.job.repeat] = row
    ordered = sorted(chosen.values(), key=lambda row: (order[row.case.id], row.job.repeat))
    return ordered, target, newest, stale


def _categories(rows: Iterable[Row], suite: Sequence[Case], weights: Mapping[str, float]) -> tuple[CategoryScore, ...]:
    names = {case.category: None for case in suite}
    by_name: dict[str, list[Row]] = {name: [] for name in names}
    for row in rows:
        if scored(row):
            by_name[row.case.category].append(row)
    return tuple(CategoryScore(name, _rate(found), weights.get(name, 1.0)) for name, found in by_name.items())


def _rate(rows: Sequence[Row]) -> Rate:
    """Raw counts over rows; the interval is over cases, since repeats of one case are not independent."""
    if not rows:
        return Rate(0, 0, None, None)
    passed = sum(1 for row in rows if row.verdict and row.verdict.outcome == "pass")
    cases = len({row.job.case_id for row in rows})
    low, high = wilson(passed / len(rows) * cases, cases)
    return Rate(passed, len(rows), low, high)


def _overall(categories: Iterable[CategoryScore]) -> Overall | None:
    parts = [
        (score.weight, score.rate.passed / score.rate.total, score.rate.low, score.rate.high)
        for score in categories
        if score.weight > 0 and score.rate.low is not None and score.rate.high is not None
    ]
    if not parts:
        return None
    mean, low, high = weighted_mean(parts)
    return Overall(100 * mean, 100 * low, 100 * high)


def _speed(rows: Iterable[Row]) -> Speed | None:
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


def _notes(rows: Sequence[Row], covered: int, total: int, stale: int, speed: Speed | None) -> Iterable[str]:
    if covered < total:
        yield f"partial ({covered}/{total} cases)"
    counts = Counter(row.verdict.outcome for row in rows if row.verdict)
    counted = {
        "skipped: context too small": counts["skipped"],
        "truncated": counts["truncated"],
        "unanswered": counts["unanswered"],
        "errored, not scored": sum(1 for row in rows if _is_error(row)),
    }
    yield from (f"{count} {what}" for what, count in counted.items() if count)
    if stale:
        yield f"{stale} rows of an older suite not counted"
    if any(row.verdict and row.verdict.isolation == "none" for row in rows):
        yield "code ran without a sandbox"
    if speed and not speed.alone:
        yield "tok/s beside other requests"


def _is_error(row: Row) -> bool:
    return row.verdict is None and row.attempt is not None and row.attempt.failure is not None


def _failures(rows: Iterable[Row]) -> Iterable[FailedRow]:
    for row in rows:
        if row.verdict is not None and row.verdict.outcome != "pass":
            yield FailedRow(row.job.case_id, row.job.repeat, row.verdict.outcome, row.verdict.why)
        elif row.verdict is None and row.attempt and row.attempt.failure:
            failure = row.attempt.failure
            yield FailedRow(row.job.case_id, row.job.repeat, "error", f"{failure.message} ({failure.tries} tries)")
