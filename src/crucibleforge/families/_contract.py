"""Holds a family to its laws. Pure: whoever has a sandbox passes it in as `run`.

Each broken law is one line. A family that raises breaks the law that was being looked at, never the check itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct

from crucibleforge.families import _laws_of_items as items
from crucibleforge.families import _laws_of_marks as marks
from crucibleforge.families import _laws_of_programs as programs
from crucibleforge.families._kit import Family
from crucibleforge.families._law import QUICK, BrokenError, Drawn, Extent, Look, Run, drawn
from crucibleforge.programs import Program, Ran
from crucibleforge.types import RUNGS, Rung


class Examined(Struct, frozen=True):
    """What came of one family: a line for each broken law, and what was done to find out.

    `cases` are canonical; `references` ran, `derived` answers were found a second time, `refused` wrong programs did
    not pass, `timed_out` slow ones ran out of time.
    """

    family: str
    cases: int
    problems: tuple[str, ...]
    references: int = 0
    derived: int = 0
    refused: int = 0
    timed_out: int = 0


def examine(
    family: Family, run: Run, extent: Extent = QUICK, progress: Callable[[str], None] = lambda _: None
) -> Examined:
    """Look at a family from all sides.

    Args:
        family: The family to look at.
        run: Runs a program of a reply; the same program runs once only.
        extent: How many draws are looked at.
        progress: Told what is looked at now.
    """
    look = Look(family, extent, _once(run))
    unset = tuple(items.settings(look))
    if unset:
        return Examined(family.name, 0, unset)
    canonical: list[Drawn] = []
    found = list(_collected(family.name, _all(look, canonical, progress)))
    tally = look.tally
    return Examined(
        family=family.name,
        cases=len(canonical),
        problems=tuple(found),
        references=tally["references"],
        derived=tally["derived"],
        refused=tally["refused"],
        timed_out=tally["timed out"],
    )


def _all(look: Look, canonical: list[Drawn], progress: Callable[[str], None]) -> Iterator[Iterator[str]]:
    for rung in RUNGS:
        progress(f"{rung}: draws")
        yield items.of_rung(look, rung)
        yield items.verified(look, rung)
        yield marks.guesses(look, rung)
        for slot in range(1, look.family.slots[rung] + 1):
            progress(f"{rung}.{slot}: marking")
            yield _case(look, rung, slot, canonical)
    progress("forms")
    yield items.independent(look)
    yield items.harder(look)
    yield items.forms(look)
    yield items.alike(canonical)


def _case(look: Look, rung: Rung, slot: int, canonical: list[Drawn]) -> Iterator[str]:
    one = drawn(look.family, rung, slot)
    canonical.append(one)
    for law in (items.of_case, marks.of_case, programs.of_case):
        yield from _collected(one.case.id, [law(look, one)])
    if (rung, slot) == (RUNGS[1], 1):
        yield from _collected(one.case.id, [marks.total(look, one)])


def _collected(place: str, laws: Iterable[Iterator[str]]) -> Iterator[str]:
    for law in laws:
        try:
            yield from law
        except BrokenError as error:
            yield f"{place}: {error}"


def _once(run: Run) -> Run:
    """Run each program a single time: dressings of one answer hold the same code."""
    known: dict[bytes, Ran] = {}

    def remembered(program: Program) -> Ran:
        key = msgspec.json.encode(program)
        if key not in known:
            known[key] = run(program)
        return known[key]

    return remembered
