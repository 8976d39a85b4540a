"""Inputs of programs that no file holds: drawn from a run's seed, by the family that drew the case.

The canonical inputs and their values are public, so a program that knows them by heart must still fail.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from typing import Any

import msgspec

from crucibleforge import plugins
from crucibleforge.errors import UnknownName
from crucibleforge.families._build import build, hidden, item
from crucibleforge.suite.expand import CANONICAL_NAME, key
from crucibleforge.types import Case, Rung

_ID = re.compile(r"(.+)/(L[1-5])\.([1-9][0-9]{0,5})")
_KEPT = 16  # cases that hold their inputs for other targets and repeats; large inputs take some 10 MB a case


def new_seed() -> str:
    """16 hex digits that nobody can know before."""
    return secrets.token_hex(8)


def with_hidden(case: Case, seed: str, form: str = CANONICAL_NAME) -> Case:
    """The case of a form with the inputs of this seed after its own; the very same object where there are none.

    There are none without a seed, where the family is unknown or draws none, and where it asks another question under
    this id by now: its inputs would not fit the stored one.
    """
    more = _inputs(case.id, case.hash, seed, form) if seed else ()
    return msgspec.structs.replace(case, expected=[*case.expected, *more]) if more else case


def seed_of(case: Case, isolation: str, seed: str, form: str = CANONICAL_NAME) -> str:
    """What a verdict says of its seed: "" where nothing ran, or nothing was drawn from it."""
    return seed if isolation and with_hidden(case, seed, form) is not case else ""


@lru_cache(maxsize=_KEPT)
def _inputs(case_id: str, case_hash: str, seed: str, form: str) -> tuple[dict[str, Any], ...]:
    place = _ID.fullmatch(case_id)
    if place is None:
        return ()
    try:
        family = plugins.find("families", place[1])
    except UnknownName:
        return ()
    if family.hidden is None:
        return ()
    rung: Rung = place[2]  # type: ignore[assignment]  # the pattern lets no other word through
    drawn = item(family, rung, int(place[3]), key(form))
    if build(family, rung, int(place[3]), drawn).hash != case_hash:
        return ()
    return tuple(hidden(family, drawn.instance, case_id, seed))
