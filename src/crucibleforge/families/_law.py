"""What the laws of a family have in common: how far they look, what they look at, how a family's fault is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from crucibleforge.families._build import build, item
from crucibleforge.families._kit import Family, Item
from crucibleforge.graders import Replies
from crucibleforge.graders._mark import mark
from crucibleforge.programs import Program, Ran
from crucibleforge.types import RUNGS, Case, Finding, Rung

Result = TypeVar("Result")
Run = Callable[[Program], Ran]

_SHOWN = 120  # characters of a value in a problem line


@dataclass(frozen=True)
class Extent:
    """How many draws a rung the laws look at; a family's `cost` divides all of them.

    `generated` are made and timed, `verified` solved twice, `different` compared, `guessed` put to every shortcut;
    `fuzzed` replies are made up. On `timed` rungs, from the lowest, slow programs must run out of time. Where that is
    not all, programs are looked at more briefly in other ways too: hidden inputs for a rung's first case only, from
    two seeds on the lowest rung only, and each near miss on one case of a rung.
    """

    generated: int
    verified: int
    different: int
    guessed: int
    fuzzed: int
    timed: int = len(RUNGS)

    @property
    def is_whole(self) -> bool:
        """True when nothing about programs is left out."""
        return self.timed == len(RUNGS)


QUICK = Extent(generated=15, verified=6, different=60, guessed=20, fuzzed=20, timed=1)
FULL = Extent(generated=1000, verified=200, different=5000, guessed=500, fuzzed=10_000)
"""Of field studies: faults of generators show late (public suites fixed items after years), so admission looks wide."""


class BrokenError(Exception):
    """A family's function raised; the message says which and what."""


@dataclass(frozen=True)
class Look:
    """One family under examination: its canonical cases, how to run programs, and a tally of what was done."""

    family: Family
    extent: Extent
    run: Run
    tally: Counter[str] = field(default_factory=Counter)

    def count(self, what: int) -> int:
        """A number of draws, made smaller for a costly family."""
        return max(3, what // self.family.cost)


@dataclass(frozen=True)
class Drawn:
    """A canonical item and its case."""

    rung: Rung
    slot: int
    item: Item
    case: Case

    def at(self, fault: str) -> str:
        """The fault with its place."""
        return f"{self.case.id}: {fault}"


def drawn(family: Family, rung: Rung, slot: int) -> Drawn:
    """The item and case of a slot.

    Raises:
        BrokenError: one of the family's functions raised.
    """
    made = called("generate, solve or ask", item, family, rung, slot)
    return Drawn(rung, slot, made, called("build", build, family, rung, slot, made))


def called(what: str, function: Callable[..., Result], *args: Any) -> Result:
    """Call a family's function.

    Raises:
        BrokenError: it raised.
    """
    try:
        return function(*args)
    except Exception as error:
        raise BrokenError(f"{what} raised {type(error).__name__}: {error}") from error


def marked(case: Case, replies: Replies, run: Run) -> Finding:
    """The finding about replies; graders are total, so what one raises is a fault of the family's settings."""
    return called("mark", mark, case, replies, run)[0]


def json(value: Any) -> bytes:
    """A form in which 1, 1.0 and true differ, and the order of keys does not."""
    return msgspec.json.encode(value, order="sorted")


def short(value: Any) -> str:
    """A value in a problem line."""
    text = value if isinstance(value, str) else json(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
