"""Rotas: what they hold, how they are told, what is reckoned from them in haste."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Load:
    """`minutes` in each bay, 0 where it cannot go; `ready` and `due` in minutes from opening, `due` 0 for none."""

    name: str
    minutes: tuple[int, int]
    ready: int = 0
    due: int = 0
    crane: bool = False
    red: bool = False

    @property
    def quickest(self) -> int:
        """Minutes in the bay that takes fewer."""
        return min(minutes for minutes in self.minutes if minutes)


@dataclass(frozen=True)
class Rota:
    """`after` has pairs of loads, the second of which waits for the first; `wash` minutes between two labels.

    `asked` is the load whose start is asked besides the finish, -1 for none.
    """

    loads: tuple[Load, ...]
    after: tuple[tuple[int, int], ...] = ()
    wash: int = 0
    asked: int = -1


NAMES = (
    "barley", "slate", "wool", "glass", "tiles", "copper", "cork", "paper", "rope", "salt", "timber", "felt", "bricks",
    "cotton", "gravel", "lamps", "pipes", "seeds", "sugar", "tents", "urns", "vats", "wire", "yarn",
)  # fmt: skip
_BAYS = ("North", "South")


def facts(rota: Rota, load: Load) -> Iterator[str]:
    """What is known of a load alone."""
    ways = [f"{minutes} minutes in {bay}" for bay, minutes in zip(_BAYS, load.minutes, strict=True) if minutes]
    yield " or ".join(ways) if len(ways) > 1 else f"{ways[0]} only"
    if load.ready:
        yield f"cannot start before minute {load.ready}"
    if load.due:
        yield f"must be finished by minute {load.due}"
    if load.crane:
        yield "needs the crane"
    if rota.wash:
        yield f"{'red' if load.red else 'blue'} label"


def rules(rota: Rota) -> Iterator[str]:
    """What binds the loads to each other."""
    for first, then in rota.after:
        yield f"- {rota.loads[then].name} may start only when {rota.loads[first].name} is finished."
    if any(load.crane for load in rota.loads):
        yield "- There is one crane. A load that needs it keeps it from start to finish, and the next may then have it."
    if rota.wash:
        yield (
            f"- When loads of different labels follow each other in a bay, it is washed for {rota.wash} minutes "
            "between them. There is no washing before the first load or after the last."
        )


def numbers_of(rota: Rota) -> set[int]:
    """The numbers of the prompt."""
    of_loads = {number for load in rota.loads for number in (*load.minutes, load.ready, load.due)}
    return of_loads | {rota.wash}


def longest_chain(rota: Rota) -> int:
    """The finish if only readiness and waiting counted."""
    ends = [load.ready + load.quickest for load in rota.loads]
    for _ in rota.loads:
        for first, then in rota.after:
            ends[then] = max(ends[then], ends[first] + rota.loads[then].quickest)
    return max(ends)


def bay_work(rota: Rota) -> list[int]:
    """The minutes of each bay when every load goes where it is quicker."""
    quicker = [min((minutes, bay) for bay, minutes in enumerate(load.minutes) if minutes) for load in rota.loads]
    return [sum(minutes for minutes, at in quicker if at == bay) for bay in range(2)]


def looser(rota: Rota) -> Iterator[Rota]:
    """The rota with a kind of rule overlooked."""
    yield replace(rota, after=())
    yield replace(rota, wash=0)
    for loose in ({"crane": False}, {"ready": 0}, {"due": 0}):
        yield replace(rota, loads=tuple(replace(load, **loose) for load in rota.loads))
