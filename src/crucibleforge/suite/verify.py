"""Prove the suite on this machine: every family keeps its contract, every case is the locked one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from crucibleforge import plugins
from crucibleforge.families._contract import problems
from crucibleforge.programs import Program, Ran
from crucibleforge.suite.expand import cases
from crucibleforge.suite.lock import differences, rendered, stored


class Checked(Struct, frozen=True):
    """What came of one family: how many canonical cases it has, and a line for each broken law."""

    family: str
    cases: int
    problems: tuple[str, ...]


def verify(families: Sequence[str], run: Callable[[Program], Ran]) -> Iterator[Checked]:
    """Check families one after the other, each against its contract and the lock."""
    locked = stored()
    for name in families:
        family = plugins.find("families", name)
        canonical = tuple(cases(family))
        own = "".join(line + "\n" for line in locked.splitlines() if line.startswith(f"{name}/"))
        found = [*problems(family, run), *differences(own, rendered(canonical))]
        yield Checked(name, len(canonical), tuple(found))


def orphans() -> list[str]:
    """Locked cases whose family is gone."""
    known = set(plugins.names("families"))
    return [
        f"{line.split()[0]}: in the lock, its family is not in the suite"
        for line in stored().splitlines()
        if line.split()[0].rsplit("/", 1)[0] not in known
    ]
