"""docs/cases.md: what the suite asks, written from the families themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from crucibleforge import plugins
from crucibleforge.families._build import build, items
from crucibleforge.families._kit import Family
from crucibleforge.graders import ByRunning
from crucibleforge.suite.expand import scored
from crucibleforge.types import RUNGS, Case, Rung

_HEAD = """\
# The cases

Written by `crucibleforge cases docs > docs/cases.md`; do not edit it by hand.

Each row is a family: one kind of question on five rungs, L1 / L2 / L3 / L4 / L5; one number stands for all five. L1 is
easy (its first case is the smoke test), L2 medium, L3 and L4 hard, L5 a reserve that is not scored yet. Max tokens
bound one reply. Context is an upper estimate in tokens, prompt and replies together. Effort is what an instance costs a
solver, in a unit of the family's own. Difficulty is *structural*: the order of the rungs follows from how the questions
are made. What models made of them, `crucibleforge cases stats` shows from the runs at hand.
"""
_COLUMNS = ("family", "what it asks", "marked by", "cases", "max tokens", "context", "effort", "difficulty")
_LABEL = "structural"


@dataclass(frozen=True)
class _Entry:
    """A family and its canonical cases; `effort` is the median by rung."""

    family: Family
    asks: str
    cases: tuple[Case, ...]
    effort: dict[Rung, float]


def catalogue() -> str:
    """The page: the totals, then a table a category. Every case is drawn anew."""
    names = [name for name in plugins.names("families") if _module(name) is not None]
    return "".join(_page([_entry(name) for name in names]))


def _page(entries: Sequence[_Entry]) -> Iterator[str]:
    yield f"{_HEAD}\n"
    yield f"{_totals(entries)}\n"
    for category, of_it in groupby(entries, lambda entry: entry.family.name.partition("/")[0]):
        listed = list(of_it)
        yield f"\n## {category}\n\n{_totals(listed)}\n\n"
        yield _row(_COLUMNS) + _row(["---"] * len(_COLUMNS))
        yield from (_row(_cells(entry)) for entry in listed)


def _totals(entries: Sequence[_Entry]) -> str:
    cases = [case for entry in entries for case in entry.cases]
    count = len(scored(cases))
    kinds = "1 family" if len(entries) == 1 else f"{len(entries)} families"
    return f"{kinds}, {len(cases)} cases: {count} count, {len(cases) - count} are reserve."


def _entry(name: str) -> _Entry:
    family: Family = plugins.find("families", name)
    drawn = {rung: list(items(family, rung, family.slots[rung])) for rung in RUNGS}
    return _Entry(
        family,
        _first_paragraph(_module(name) or ""),
        tuple(build(family, rung, slot, item) for rung in RUNGS for slot, item in enumerate(drawn[rung], start=1)),
        {rung: median(family.effort(item.instance) for item in drawn[rung]) for rung in RUNGS},
    )


def _cells(entry: _Entry) -> list[str]:
    family, context = entry.family, [[c.needs.context_tokens for c in entry.cases if c.rung == rung] for rung in RUNGS]
    grader = family.grading.grader
    by_running = isinstance(plugins.find("graders", grader), ByRunning)
    return [
        f"`{family.name.partition('/')[2]}`",
        entry.asks.replace("|", "\\|"),
        f"{grader}, by running" if by_running else grader,
        _by_rung(str(family.slots[rung]) for rung in RUNGS),
        _by_rung(f"{family.max_tokens[rung]:,}" for rung in RUNGS),
        _by_rung(f"{max(of_rung):,}" for of_rung in context),
        # Three digits: a logarithm may differ in its last one between machines.
        _by_rung(f"{entry.effort[rung]:.3g}" for rung in RUNGS),
        _LABEL,
    ]


def _by_rung(values: Iterable[str]) -> str:
    listed = list(values)
    return listed[0] if len(set(listed)) == 1 else " / ".join(listed)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _module(name: str) -> str | None:
    """What the module of a family says of itself; None when the family is not one of ours."""
    plugins.find("families", name)
    module = sys.modules.get(f"crucibleforge.families.{name.replace('/', '.').replace('-', '_')}")
    return module.__doc__ if module else None


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())
