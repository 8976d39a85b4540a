"""Rows of all runs to one scorecard a model, ranked.

A row counts iff its case still stands in the suite with the same content hash; of several rows for the same case and
repeat the newest settled one counts. A model whose settled rows do not cover the suite has no total and no rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from crucibleforge.report import scorecard
from crucibleforge.report.alarms import alarms
from crucibleforge.report.notes import Gathered, notes
from crucibleforge.report.scorecard import Board, Part, Scorecard, Source
from crucibleforge.report.tokens import spent
from crucibleforge.types import Case, Row, RunPlan, Target


def board(runs: Sequence[Source], suite: Sequence[Case], weights: Mapping[str, float], generated: str) -> Board:
    """The board over all runs, given oldest first."""
    labels = {target.label: None for run in runs for target in run.plan.targets}
    found = [
        (_card(gathered, suite, weights), gathered) for label in labels if (gathered := _gathered(label, runs, suite))
    ]
    found.sort(key=lambda pair: _place(pair[0]))
    cards = tuple(card for card, _ in found)
    raised = tuple(alarm for card, gathered in found for alarm in alarms(card, gathered.rows))
    return Board(generated, cards[0].revision if cards else "", cards, raised)


def _place(card: Scorecard) -> tuple[bool, float, str]:
    return (card.overall is None, -(card.overall.percent if card.overall else 0), card.label)


def _card(found: Gathered, suite: Sequence[Case], weights: Mapping[str, float]) -> Scorecard:
    rows = found.rows
    counted = [row for row in rows if scorecard.is_scored(row)]
    covered = len({row.job.case_id for row in counted})
    invalid = scorecard.invalid(rows)
    scores = scorecard.categories(rows, suite, weights)
    has_total = covered == len(suite) and not invalid
    return Scorecard(
        label=found.target.label,
        model_id=found.target.model_id,
        invalid=invalid,
        overall=scorecard.overall((score.weight, score.rate) for score in scores) if has_total else None,
        when_answered=scorecard.overall((score.weight, score.when_answered) for score in scores) if has_total else None,
        lost=Part(sum(map(scorecard.is_lost, counted)), len(counted)),
        recovered=sum(map(scorecard.is_recovered, counted)),
        categories=scores,
        speed=scorecard.speed(rows),
        revision=found.plan.revision,
        settled=covered,
        planned=len(suite),
        skipped=sum(1 for row in rows if row.verdict and row.verdict.outcome == "skipped"),
        errors=sum(map(scorecard.is_error, rows)),
        notes=tuple(notes(found, len(suite))),
        failures=tuple(scorecard.failures(rows)),
        **msgspec.structs.asdict(spent([row.attempt for row in rows if row.attempt], found.target.price)),
    )


def _gathered(label: str, runs: Sequence[Source], suite: Sequence[Case]) -> Gathered | None:
    """What counts for a label; None when it was never asked.

    Runs whose target differs in more than price and speed limits are of another model, whatever its label.
    """
    hashes = {case.id: case.hash for case in suite}
    order = {case.id: place for place, case in enumerate(suite)}
    newest: tuple[Target, RunPlan] | None = None
    stale, learnt = 0, []
    chosen: dict[tuple[str, int], Row] = {}
    reserve: dict[tuple[str, int], Row] = {}
    for run in reversed(runs):
        own = next((target for target in run.plan.targets if target.label == label), None)
        touched = [row for row in run.rows if row.job.label == label and (row.attempt or row.verdict)]
        if own is None or not touched or (newest and own.identity != newest[0].identity):
            continue
        newest = newest or (own, run.plan)
        learnt += [event for event in run.adapted if event.label == label]
        for row in touched:
            is_reserve = row.case.level == "reserve"
            if not is_reserve and hashes.get(row.case.id) != row.case.hash:
                stale += 1
                continue
            kept = reserve if is_reserve else chosen
            held = kept.get((row.case.id, row.job.repeat))
            if held is None or (row.is_settled and not held.is_settled):
                kept[row.case.id, row.job.repeat] = row
    if newest is None or not (chosen or reserve):
        return None
    ordered = sorted(chosen.values(), key=lambda row: (order[row.case.id], row.job.repeat))
    said = tuple(dict.fromkeys(event.what for event in learnt))
    return Gathered(*newest, tuple(ordered), stale, said, tuple(reserve.values()))
