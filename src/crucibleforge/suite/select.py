"""Which part of the suite is meant."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from crucibleforge.errors import InputError, UnknownName
from crucibleforge.types import LEVELS, Case, Selection


def select(cases: Sequence[Case], selection: Selection) -> tuple[Case, ...]:
    """The cases that a selection means, in the suite's order. Patterns may hold `*` and `?`.

    The reserve is left out unless it is named, as a difficulty or by its cases.

    Raises:
        UnknownName: a category, difficulty or case that does not exist.
        InputError: the parts exist but have nothing in common.
    """
    categories = sorted({case.category for case in cases})
    _known("category", selection.categories, categories)
    _known("difficulty", selection.difficulty, LEVELS)
    for pattern in selection.cases:
        if not any(_matches(case, pattern) for case in cases):
            raise UnknownName("case", pattern, [case.id for case in cases], hint="`crucibleforge cases list`")
    chosen = tuple(case for case in cases if _is_meant(case, selection))
    if not chosen:
        raise InputError("no case fits all of the filters", hint="`crucibleforge cases list` shows what there is")
    return chosen


def _is_meant(case: Case, selection: Selection) -> bool:
    return (
        (not selection.categories or case.category in selection.categories)
        and _fits_level(case, selection)
        and (not selection.cases or any(_matches(case, pattern) for pattern in selection.cases))
        and (not selection.smoke or case.smoke)
    )


def _fits_level(case: Case, selection: Selection) -> bool:
    if selection.difficulty:
        return case.level in selection.difficulty
    return case.level != "reserve" or bool(selection.cases)


def _matches(case: Case, pattern: str) -> bool:
    return pattern == case.family or fnmatchcase(case.id, pattern)


def _known(kind: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known, hint=f"known: {', '.join(known)}")
