"""The clues of a gallery grid: how they are said, and whether they are true of a wall that is hung in part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["at", "same", "left", "right", "touch", "gap", "between", "not", "or", "xor", "if", "iff", "count"]

PARTS: dict[Kind, int] = {"not": 1, "or": 2, "xor": 2, "if": 2, "iff": 2, "count": 3}
"""How many parts a compound has."""

_PAINTERS = (
    "Tamsel", "Brivo", "Keldra", "Osti", "Marnu", "Velko", "Yorrick", "Dorsk", "Pemble", "Gruvin", "Ilsabet", "Corvel",
    "Hadrel", "Wynna", "Zubin", "Lorcas", "Fenwyn", "Quillon", "Reska", "Sorbin", "Ulmar", "Jessop", "Abrix", "Nimb",
    "Eskil", "Tovar", "Birla", "Kasmin", "Odwin", "Mirelle", "Vantor", "Yelva", "Dorrin", "Pashti", "Gilder", "Indrel",
    "Casdel", "Hovik", "Wendrin", "Zarel", "Lutvig", "Farrin", "Quorra", "Runet", "Selmo", "Umbrin", "Joreth", "Aldrun",
    "Nerys", "Ettle", "Tulvo", "Borska", "Kivren", "Orlet", "Maddru", "Virlo", "Yantor", "Delfrin", "Prewit", "Gosta",
)  # fmt: skip
_SUBJECTS = (
    "heron", "lantern", "bridge", "orchard", "kettle", "harbour", "fiddle", "glacier", "beehive", "anchor", "windmill",
    "pumpkin", "staircase", "meadow", "thistle", "lighthouse", "carousel", "badger", "teapot", "volcano", "sledge",
    "canyon", "rooster", "fountain",
)  # fmt: skip
_FRAMES = (
    "oak", "cork", "brass", "ivory", "copper", "walnut", "bamboo", "silver", "ebony", "pewter", "birch", "bronze",
    "cedar", "nickel", "wicker", "maple",
)  # fmt: skip
POOLS = (_PAINTERS, _SUBJECTS, _FRAMES)
"""Names for the columns: painters, subjects, frames."""

_PICTURE = ("the picture by {}", "the picture of the {}", "the picture in the {} frame")
_IS = ("is by {}", "shows the {}", "has the {} frame")
_IS_NOT = ("is not by {}", "does not show the {}", "does not have the {} frame")
_COUNTS = ("no", "one", "two", "three")


@dataclass(frozen=True)
class Clue:
    """A statement about things. A thing is a painter, a subject or a frame and stands for its picture.

    Things are numbered through: column times size plus place in the column. `number` is the hook from 0 ("at"), how
    many pictures hang between ("gap") or how many parts are true ("count").
    """

    kind: Kind
    things: tuple[int, ...] = ()
    number: int = 0
    parts: tuple[Clue, ...] = ()


def sentence(clue: Clue, columns: tuple[tuple[str, ...], ...]) -> str:
    """The clue with a capital letter and a full stop."""
    text = _said(clue, columns)
    return f"{text[0].upper()}{text[1:]}."


def _said(clue: Clue, columns: tuple[tuple[str, ...], ...]) -> str:
    if clue.parts:
        return _compound(clue, [_said(part, columns) for part in clue.parts], columns)
    first, *others = [_PICTURE[column].format(columns[column][place]) for column, place in _places(clue, columns)]
    match clue.kind:
        case "at":
            said = f"{first} hangs on hook {clue.number + 1}"
        case "same":
            column, place = _places(clue, columns)[1]
            said = f"{first} {_IS[column].format(columns[column][place])}"
        case "left" | "right":
            said = f"{first} hangs to the {clue.kind} of {others[0]}"
        case "touch":
            said = f"{first} hangs next to {others[0]}"
        case "between":
            said = f"{first} hangs somewhere between {others[0]} and {others[1]}"
        case _:
            pictures = f"{_COUNTS[clue.number]} picture{' hangs' if clue.number == 1 else 's hang'}"
            said = f"exactly {pictures} between {first} and {others[0]}"
    return said


def _compound(clue: Clue, said: list[str], columns: tuple[tuple[str, ...], ...]) -> str:
    first, *others = said
    match clue.kind:
        case "not":
            return _denied(clue.parts[0], first, columns)
        case "or":
            return f"{first}, or {others[0]}, or both"
        case "xor":
            return f"either {first}, or {others[0]}, but not both"
        case "if":
            return f"if {first}, then {others[0]}"
        case "iff":
            return f"{first} if and only if {others[0]}"
        case _:
            head = (
                f"exactly {_COUNTS[clue.number]} of these three statements {'is' if clue.number == 1 else 'are'} true"
            )
            return f"{head}: (a) {first}; (b) {others[0]}; (c) {others[1]}"


def _denied(part: Clue, said: str, columns: tuple[tuple[str, ...], ...]) -> str:
    if part.kind != "same":
        return said.replace(" hangs on ", " does not hang on ")
    column, place = _places(part, columns)[1]
    name = columns[column][place]
    return said.removesuffix(_IS[column].format(name)) + _IS_NOT[column].format(name)


def _places(clue: Clue, columns: tuple[tuple[str, ...], ...]) -> list[tuple[int, int]]:
    return [divmod(thing, len(columns[0])) for thing in clue.things]


def mentioned(clue: Clue) -> set[int]:
    """The things of a clue and of its parts."""
    return set(clue.things).union(*map(mentioned, clue.parts))


def truth(clue: Clue, hooks: Sequence[int]) -> bool | None:
    """What a clue is worth when things hang on these hooks, some nowhere yet (-1); None: that is open."""
    if clue.parts:
        return _joined(clue, [truth(part, hooks) for part in clue.parts])
    first, *others = [hooks[thing] for thing in clue.things]
    if -1 in (first, *others):
        return None
    match clue.kind:
        case "at":
            is_so = first == clue.number
        case "same":
            is_so = first == others[0]
        case "left":
            is_so = first < others[0]
        case "right":
            is_so = first > others[0]
        case "between":
            is_so = min(others) < first < max(others)
        case _:
            is_so = abs(first - others[0]) == (1 if clue.kind == "touch" else clue.number + 1)
    return is_so


def _joined(clue: Clue, parts: list[bool | None]) -> bool | None:
    least, most = sum(part is True for part in parts), sum(part is not False for part in parts)
    match clue.kind:
        case "or":
            return True if least else None if most else False
        case "if":
            return True if parts[0] is False or parts[1] is True else None if None in parts else False
        case "not" | "xor" | "count":
            wanted = {"not": 0, "xor": 1}.get(clue.kind, clue.number)
            return None if least <= wanted <= most and least < most else least == wanted
        case _:
            return None if None in parts else parts[0] == parts[1]
