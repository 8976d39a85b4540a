"""Four people in a row of four houses, and the pet of each: a puzzle drawn anew, with exactly one solution.

`pose` looks at all 576 ways to house people and pets: it draws true clues until one way is left, then drops every clue
that the others imply. At most one clue names a house, since a row of facts would be no puzzle. The answer is a grid,
marked cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Literal

from crucibleforge.bench._question import explained, posed
from crucibleforge.families._draw import Draw
from crucibleforge.families._kit import ANSWER_LINE
from crucibleforge.graders import ByReading, Replies, exact
from crucibleforge.types import Case, Finding, Grading

SIZE = 4
ClueKind = Literal["at", "not at", "left", "beside", "not owner", "one of"]
_KINDS: tuple[ClueKind, ...] = ("at", "not at", "left", "left", "beside", "beside", "not owner", "one of")

_PEOPLE = (
    "Ansel", "Brida", "Corin", "Delia", "Edric", "Fenna", "Gesine", "Hauke", "Imke", "Jorun", "Kasimir", "Livia",
    "Mirko", "Nadja", "Orla", "Piet", "Quirin", "Runa", "Silas", "Tilde", "Ulrik", "Vesna", "Wanja", "Ylva",
)  # fmt: skip
_PETS = (
    "cat", "dog", "parrot", "tortoise", "hamster", "goldfish", "rabbit", "ferret", "canary", "gecko", "pony", "goat",
    "hedgehog", "snake", "duck", "chinchilla",
)  # fmt: skip


@dataclass(frozen=True)
class Clue:
    """A statement about things: people are 0 to 3, pets 4 to 7. A pet stands for its owner; `house` is from 1."""

    kind: ClueKind
    things: tuple[int, ...]
    house: int = 0


@dataclass(frozen=True)
class Puzzle:
    """People, pets, and the clues in the order in which they are told."""

    people: tuple[str, ...]
    pets: tuple[str, ...]
    clues: tuple[Clue, ...]


World = tuple[int, ...]
"""The house from 1 of every thing, people first."""


@cache
def worlds() -> tuple[World, ...]:
    """All ways to house four people and four pets, one of each in a house."""
    orders = tuple(permutations(range(1, SIZE + 1)))
    return tuple(people + pets for people in orders for pets in orders)


def holds(clue: Clue, world: World) -> bool:
    """True when the clue is true of the world."""
    first, *others = [world[thing] for thing in clue.things]
    match clue.kind:
        case "at":
            is_so = first == clue.house
        case "not at":
            is_so = first != clue.house
        case "left":
            is_so = first < others[0]
        case "beside":
            is_so = abs(first - others[0]) == 1
        case "not owner":
            is_so = first != others[0]
        case "one of":
            is_so = first in others
    return is_so


@cache
def _fitting(clue: Clue) -> frozenset[World]:
    return frozenset(world for world in worlds() if holds(clue, world))


def solutions(clues: Sequence[Clue]) -> tuple[World, ...]:
    """Every world of which all clues are true, found by a look at each."""
    return tuple(sorted(frozenset(worlds()).intersection(*map(_fitting, clues))))


def puzzle(draw: Draw) -> Puzzle:
    """A puzzle with exactly one solution, of which no clue can be left out."""
    world = draw.pick(worlds())
    left = frozenset(worlds())
    clues: list[Clue] = []
    while len(left) > 1:
        clue = draw.until(lambda: _true_clue(world, clues, draw))
        fitting = left & _fitting(clue)
        # A clue that hardly says anything new makes the puzzle longer and not harder.
        if 4 * len(fitting) <= 3 * len(left):
            left = fitting
            clues.append(clue)
    needed = clues
    for clue in draw.shuffled(clues):
        others = [one for one in needed if one is not clue]
        if len(solutions(others)) == 1:
            needed = others
    people, pets = draw.sample(_PEOPLE, SIZE), draw.sample(_PETS, SIZE)
    return Puzzle(tuple(people), tuple(pets), tuple(draw.shuffled(needed)))


def _true_clue(world: World, clues: Sequence[Clue], draw: Draw) -> Clue | None:
    clue = _any_clue(draw.pick(_KINDS), draw)
    is_second_at = clue.kind == "at" and any(one.kind == "at" for one in clues)
    return clue if holds(clue, world) and not is_second_at else None


def _any_clue(kind: ClueKind, draw: Draw) -> Clue:
    person = draw.below(SIZE)
    match kind:
        case "at" | "not at":
            return Clue(kind, (draw.below(2 * SIZE),), draw.between(1, SIZE))
        case "left" | "beside":
            return Clue(kind, tuple(draw.sample(range(2 * SIZE), 2)))
        case "not owner":
            return Clue(kind, (person, draw.between(SIZE, 2 * SIZE - 1)))
        case "one of":
            return Clue(kind, (person, *draw.sample(range(SIZE, 2 * SIZE), 2)))


def sentence(clue: Clue, puzzle: Puzzle) -> str:
    """The clue as it is told."""
    names = [*puzzle.people, *(f"the {pet}" for pet in puzzle.pets)]
    owners = [name if thing < SIZE else f"the owner of {name}" for thing, name in enumerate(names)]
    first, *others = clue.things
    match clue.kind:
        case "at":
            said = f"{owners[first]} lives in house {clue.house}."
        case "not at":
            said = f"{owners[first]} does not live in house {clue.house}."
        case "left":
            said = f"{owners[first]} lives somewhere to the left of {owners[others[0]]}."
        case "beside":
            said = f"{owners[first]} lives next door to {owners[others[0]]}."
        case "not owner":
            said = f"{owners[first]} does not own {names[others[0]]}."
        case "one of":
            said = f"{owners[first]} owns {names[others[0]]} or {names[others[1]]}."
    return said[0].upper() + said[1:]


def pose(draw: Draw) -> Case:
    """A puzzle as a case."""
    made = puzzle(draw)
    (world,) = solutions(made.clues)
    pet_in = {world[SIZE + place]: pet for place, pet in enumerate(made.pets)}
    cells = {person: [pet_in[world[place]], str(world[place])] for place, person in enumerate(made.people)}
    first, second = made.people[:2]
    asked = "Who owns which pet, and who lives in which house? List all four people, as in"
    lines = [
        f"{', '.join(made.people)} live in a row of four houses, numbered 1 to 4 from left to right, one in each.",
        f"Each owns one pet, and the pets are all different: {', '.join(made.pets)}.",
        "",
        *(f"{number}. {sentence(clue, made)}" for number, clue in enumerate(made.clues, start=1)),
        "",
        f"{asked} `{first}: pet, house; {second}: pet, house; ...`.",
        ANSWER_LINE,
    ]
    houses = [str(house) for house in range(1, SIZE + 1)]
    settings = {"kind": "grid", "choices": [list(made.pets), houses]}
    return posed("pets", "\n".join(lines), 1536, cells, Grading("exact", settings))


def right(case: Case) -> str:
    """A reply that passes."""
    return "ANSWER: " + "; ".join(f"{person}: {pet}, {house}" for person, (pet, house) in case.expected.items())


def _find(case: Case, replies: Replies) -> Finding:
    return explained(exact.find(case, replies), f"{2 * SIZE} of {2 * SIZE} cells right")


GRADER = ByReading("pets", 1, _find)
