"""How hard each rung of each family turned out to be, and which cases a person should read. Pure.

Pass rates are over the rows at hand, whichever models they are of: they rank rungs, not models. Nothing here changes a
score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import StatisticsError, correlation, fmean
from typing import Any, Literal

from msgspec import Struct

from crucibleforge.graders._shown import as_json, shortened
from crucibleforge.report.scorecard import Rate, Source
from crucibleforge.stats.intervals import wilson
from crucibleforge.suite.expand import CANONICAL_NAME
from crucibleforge.types import RUNGS, Case, Row, Target

Item = tuple[str, str]
"""A case: its id and its hash."""

PANEL = 6
"""Models from which on a label says how hard a rung is found, no longer how it is built (field study, cases.md 0.4)."""
HARD = 0.5
"""A rung is hard when the middle of the panel passes no more (cases.md 0.4)."""
_MIDDLE = 3
SATURATED = 0.9
"""A rung tells models apart no longer when `FEW` of them reach this (cases.md 0.2)."""
FEW = 3
"""Fewer models than this say nothing of how a rung or an item tells models apart."""
_MOST = 0.5
_ANSWER_CHARACTERS = 120
_TAIL_CHARACTERS = 2000


class Difficulty(Struct, frozen=True, kw_only=True):
    """One rung of one family. Shares are of `rows`, in [0, 1].

    `rate` counts rows; its interval takes the repeats of one case by one model as one. `discrimination` is the mean
    over `discriminating` items of the point-biserial correlation, over models, of an item with the rest of what they
    were asked; None with fewer than `FEW` models, or where all did alike. `label` is `easy`, `medium`, `hard` or
    `reserve` by structure (`basis`), from `PANEL` models on `hard` or `not hard` by what they made of it.
    """

    family: str
    rung: str
    models: int
    items: int
    rows: int
    rate: Rate
    truncated: float
    unparsed: float
    discrimination: float | None
    discriminating: int
    flag: Literal["saturated", "impossible", ""]
    label: str
    basis: Literal["structural", "operational"]


class Miss(Struct, frozen=True):
    """One model's miss of an item; `passed` of `total` rows of the category are what it can do. `answer` is its end."""

    label: str
    passed: int
    total: int
    outcome: str
    why: str
    answer: str


class ToRead(Struct, frozen=True):
    """An item that a model missed which passes most of its category: it may be the item that is wrong."""

    case_id: str
    case_hash: str
    expected: str
    misses: tuple[Miss, ...]


class Evidence(Struct, frozen=True):
    """The rows that count, by model, and what was passed over: rows of questions that are no longer asked."""

    rows: dict[str, tuple[Row, ...]]
    stale: int


def gathered(runs: Sequence[Source], suite: Sequence[Case]) -> Evidence:
    """What the runs, given oldest first, know: the newest verdict for each model, question and repeat.

    Of a label whose target changed, only runs of the newest one count. Canonical rows count if their question is
    still the suite's; fresh forms have questions of their own.
    """
    hashes = {case.id: case.hash for case in suite}
    newest: dict[str, Target] = {}
    chosen: dict[tuple[str, str, str, int], Row] = {}
    stale = 0
    for run in reversed(runs):
        for target in run.plan.targets:
            newest.setdefault(target.label, target)
        own = {target.label for target in run.plan.targets if target.identity == newest[target.label].identity}
        for row in run.rows:
            if row.job.label not in own or not is_counted(row):
                continue
            if run.plan.form == CANONICAL_NAME and hashes.get(row.case.id) != row.case.hash:
                stale += 1
                continue
            chosen.setdefault((row.job.label, row.case.id, row.case.hash, row.job.repeat), row)
    found: dict[str, list[Row]] = {}
    for row in chosen.values():
        found.setdefault(row.job.label, []).append(row)
    return Evidence({label: tuple(rows) for label, rows in sorted(found.items())}, stale)


def is_counted(row: Row) -> bool:
    """True when the row says something of its case, the reserve included."""
    return row.verdict is not None and row.verdict.outcome not in {"skipped", "pending"}


def difficulties(evidence: Evidence) -> tuple[Difficulty, ...]:
    """Every rung of every family that was asked, in order."""
    panel = _Panel(evidence)
    cells: dict[tuple[str, str], list[Row]] = {}
    for row in (row for rows in evidence.rows.values() for row in rows):
        cells.setdefault((row.case.family, row.case.rung), []).append(row)
    order = sorted(cells, key=lambda cell: (cell[0], RUNGS.index(cell[1]) if cell[1] in RUNGS else len(RUNGS)))
    return tuple(_difficulty(cells[cell], panel) for cell in order)


def to_read(evidence: Evidence, canonical: Sequence[Case]) -> tuple[ToRead, ...]:
    """The canonical items missed by a model that passes more than half of its category, those missed by most first.

    A reply that was cut off says nothing of its question and is no miss.
    """
    known = {(case.id, case.hash): case for case in canonical}
    misses: dict[Item, list[Miss]] = {}
    for label, rows in evidence.rows.items():
        for category in sorted({row.case.category for row in rows}):
            own = [row for row in rows if row.case.category == category]
            counted = [row for row in own if row.case.level != "reserve"] or own
            passed = sum(map(_is_passed, counted))
            if passed <= _MOST * len(counted):
                continue
            for row in own:
                item = (row.case.id, row.case.hash)
                if item in known and row.verdict and row.verdict.outcome not in {"pass", "truncated"}:
                    misses.setdefault(item, []).append(_miss(label, row, passed, len(counted)))
    found = [ToRead(*item, as_json(known[item].expected), tuple(of)) for item, of in misses.items()]
    return tuple(sorted(found, key=lambda one: (-len({miss.label for miss in one.misses}), one.case_id)))


class _Panel:
    """What each model did with each item, repeats averaged."""

    def __init__(self, evidence: Evidence) -> None:
        self.marks = {label: _marks(rows) for label, rows in evidence.rows.items()}
        self._scored = {
            (row.case.id, row.case.hash)
            for rows in evidence.rows.values()
            for row in rows
            if row.case.level != "reserve"
        }
        self._common: dict[tuple[str, ...], frozenset[Item]] = {}
        self._totals: dict[tuple[str, ...], dict[str, Fraction]] = {}

    def common(self, labels: tuple[str, ...]) -> frozenset[Item]:
        """The scored items that all of these models were asked: else a model's mean would tell which ones it got."""
        if labels not in self._common:
            asked = [self.marks[label].keys() for label in labels]
            self._common[labels] = frozenset(self._scored.intersection(*asked))
        return self._common[labels]

    def asked(self, item: Item) -> tuple[str, ...]:
        """The models that were asked an item."""
        return tuple(label for label, marks in self.marks.items() if item in marks)

    def discrimination(self, item: Item) -> float | None:
        """Correlation over models of an item with their mean on the rest; None where it cannot be told.

        (Point-biserial, item against rest: Lord and Novick 1968, Statistical Theories of Mental Test Scores, ch. 15.)
        """
        labels = self.asked(item)
        is_part = item in self.common(labels)
        rest = len(self.common(labels)) - is_part
        if len(labels) < FEW or not rest:
            return None
        own = [self.marks[label][item] for label in labels]
        totals = self._total(labels)
        others = [(totals[label] - is_part * mark) / rest for label, mark in zip(labels, own, strict=True)]
        try:
            return correlation([float(mark) for mark in own], [float(mean) for mean in others])
        except StatisticsError:  # all passed, all failed, or all are alike on the rest
            return None

    def middle(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The three models in the middle of the ranking by common items, four where their number is even."""
        totals = self._total(labels)
        ranked = sorted(labels, key=lambda label: (totals[label], label))
        size = _MIDDLE + (len(labels) - _MIDDLE) % 2
        start = (len(labels) - size) // 2
        return tuple(ranked[start : start + size])

    def _total(self, labels: tuple[str, ...]) -> dict[str, Fraction]:
        """What each of these models made of all their common items together."""
        if labels not in self._totals:
            items = self.common(labels)
            self._totals[labels] = {
                label: sum((self.marks[label][item] for item in items), Fraction()) for label in labels
            }
        return self._totals[labels]


def _marks(rows: Iterable[Row]) -> dict[Item, Fraction]:
    """Exact, so that models that did alike are alike and do not differ by rounding."""
    found: dict[Item, list[bool]] = {}
    for row in rows:
        found.setdefault((row.case.id, row.case.hash), []).append(_is_passed(row))
    return {item: Fraction(sum(passed), len(passed)) for item, passed in found.items()}


def _mean(rows: Iterable[Row]) -> float:
    marks = _marks(rows)
    return float(sum(marks.values(), Fraction()) / len(marks))


def _difficulty(rows: Sequence[Row], panel: _Panel) -> Difficulty:
    case = rows[0].case
    labels = tuple(dict.fromkeys(row.job.label for row in rows))
    items = sorted({(row.case.id, row.case.hash) for row in rows})
    by_model = {label: _mean(row for row in rows if row.job.label == label) for label in labels}
    known = [value for item in items if (value := panel.discrimination(item)) is not None]
    is_operational = len(labels) >= PANEL
    return Difficulty(
        family=case.family,
        rung=case.rung,
        models=len(labels),
        items=len(items),
        rows=len(rows),
        rate=_rate(rows),
        truncated=fmean(row.verdict is not None and row.verdict.outcome == "truncated" for row in rows),
        unparsed=fmean(row.verdict is not None and row.verdict.why.startswith("unparsed") for row in rows),
        discrimination=fmean(known) if known else None,
        discriminating=len(known),
        flag=_flag(list(by_model.values())),
        label=_found(by_model, panel.middle(labels)) if is_operational else case.level,
        basis="operational" if is_operational else "structural",
    )


def _found(by_model: dict[str, float], middle: Sequence[str]) -> str:
    return "hard" if fmean(by_model[label] for label in middle) <= HARD else "not hard"


def _flag(rates: Sequence[float]) -> Literal["saturated", "impossible", ""]:
    if sum(rate >= SATURATED for rate in rates) >= FEW:
        return "saturated"
    return "impossible" if len(rates) >= FEW and max(rates) == 0 else ""


def _rate(rows: Sequence[Row]) -> Rate:
    passed = sum(map(_is_passed, rows))
    answers = len({(row.job.label, row.case.id, row.case.hash) for row in rows})
    return Rate(passed, len(rows), *wilson(passed / len(rows) * answers, answers))


def _is_passed(row: Row) -> bool:
    return row.verdict is not None and row.verdict.outcome == "pass"


def _miss(label: str, row: Row, passed: int, total: int) -> Miss:
    assert row.verdict is not None
    replies = row.attempt.replies if row.attempt else ()
    why = shortened(row.verdict.why, _ANSWER_CHARACTERS)
    return Miss(label, passed, total, row.verdict.outcome, why, _end(replies[-1]) if replies else "")


def _end(reply: Any) -> str:
    """The calls, or where the text ends: that is where answers stand."""
    calls = " ".join(f"{call.name}({call.arguments[:_ANSWER_CHARACTERS]})" for call in reply.tool_calls[:_MIDDLE])
    line = " ".join(reply.text[-_TAIL_CHARACTERS:].split())
    end = line if len(line) <= _ANSWER_CHARACTERS else f"...{line[3 - _ANSWER_CHARACTERS :]}"
    return shortened(calls or end, _ANSWER_CHARACTERS)
