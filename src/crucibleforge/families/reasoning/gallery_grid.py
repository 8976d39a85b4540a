"""Who painted what, in which frame, and on which hook of a wall: a logic grid, marked cell by cell.

The grids stay small, because large ones measure the token budget. What makes them hard is the kind of clue: places in
between, gaps, either-or, conditions, a number of statements that are true. All but the spare clues are needed.

`solve` holds the set of all possible walls as the bits of a number and cuts it with the set of every clue; `verify`
hangs picture by picture and backs out when a clue can no longer come true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations
from math import factorial, log2

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.reasoning._clues import PARTS, POOLS, Clue, Kind, mentioned, sentence, truth
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Wall:
    """Columns are painters, subjects and frames, as many as the rung has, all of one length."""

    columns: tuple[tuple[str, ...], ...]
    clues: tuple[Clue, ...]


@dataclass(frozen=True)
class Params:
    """Of a rung: hooks, columns, the kinds to draw clues from (repeated: more often), clues that are not needed."""

    size: int
    columns: int
    kinds: tuple[Kind, ...]
    spare: int = 0


_PLAIN: tuple[Kind, ...] = ("at", "same", "left", "right")
"""What the parts of a compound say."""


def generate(params: Params, draw: Draw) -> Wall:
    """Hang pictures, draw true clues until no other wall fits, drop what is not needed, add the spare ones."""
    columns = tuple(tuple(draw.sample(pool, params.size)) for pool in POOLS[: params.columns])
    hooks = [hook for _ in columns for hook in draw.shuffled(range(params.size))]
    chosen: list[tuple[Clue, int]] = []
    worlds = every = _everything(params.size, params.columns)
    while worlds.bit_count() > 1:
        clue = _true_clue(params, hooks, draw)
        cut = _worlds(clue, params.size, params.columns)
        # A clue that hardly says anything new makes the prompt longer and not harder.
        if 4 * (worlds & cut).bit_count() <= 3 * worlds.bit_count():
            worlds &= cut
            chosen.append((clue, cut))
    clues = _needed(draw.shuffled(chosen), every)
    for _ in range(params.spare):
        clues.append(draw.until(lambda: one if (one := _true_clue(params, hooks, draw)) not in clues else None))
    return Wall(columns, tuple(draw.shuffled(clues)))


def _needed(chosen: list[tuple[Clue, int]], worlds: int) -> list[Clue]:
    """The clues without each in turn that the others imply."""
    kept = chosen
    for one in chosen:
        rest = worlds
        others = [other for other in kept if other is not one]
        for _, cut in others:
            rest &= cut
        if rest.bit_count() == 1:
            kept = others
    return [clue for clue, _ in kept]


def _true_clue(params: Params, hooks: Sequence[int], draw: Draw) -> Clue:
    def wanted() -> Clue | None:
        clue = _any_clue(draw.pick(params.kinds), params, draw)
        return clue if clue is not None and truth(clue, hooks) else None

    return draw.until(wanted)


def _any_clue(kind: Kind, params: Params, draw: Draw) -> Clue | None:
    """A clue of the kind, true or false; None if the draw makes no sense."""
    size = params.size
    if kind in PARTS:
        kinds = _PLAIN[:2] if kind == "not" else _PLAIN
        parts = [_any_clue(draw.pick(kinds), params, draw) for _ in range(PARTS[kind])]
        known = tuple(part for part in parts if part is not None)
        number = draw.between(1, 2) if kind == "count" else 0
        return Clue(kind, (), number, known) if len({part.things for part in known}) == PARTS[kind] else None
    things = tuple(draw.sample(range(size * params.columns), {"at": 1, "between": 3}.get(kind, 2)))
    if kind == "at":
        return Clue(kind, things, draw.below(size))
    if kind == "same":
        first, second = sorted(things)
        return Clue(kind, (first, second)) if first // size != second // size else None
    return Clue(kind, things, draw.between(1, size - 2) if kind == "gap" else 0)


def solve(wall: Wall) -> dict[str, list[str]]:
    """Cut the set of all walls with every clue; of the one that is left, each painter's cells.

    Raises:
        ValueError: no wall fits, or several.
    """
    size, columns = len(wall.columns[0]), len(wall.columns)
    worlds = _everything(size, columns)
    for clue in wall.clues:
        worlds &= _worlds(clue, size, columns)
    if worlds.bit_count() != 1:
        raise ValueError(f"{worlds.bit_count()} walls fit the clues")
    number, orders = worlds.bit_length() - 1, tuple(permutations(range(size)))
    rows = []
    for _ in range(columns):
        number, order = divmod(number, len(orders))
        rows.append(orders[order])
    found = {}
    for painter, hook in zip(wall.columns[0], rows[0], strict=True):
        others = zip(wall.columns[1:], rows[1:], strict=True)
        found[painter] = [str(hook + 1), *(names[row.index(hook)] for names, row in others)]
    return found


@cache
def _everything(size: int, columns: int) -> int:
    """A bit for every wall: the orders of the columns as the digits of its number, the painters' the lowest."""
    walls: int = factorial(size) ** columns
    return (1 << walls) - 1


@cache
def _at(size: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """For each thing and hook the walls on which it hangs there."""
    orders = tuple(permutations(range(size)))
    table = []
    for column in range(columns):
        block = len(orders) ** column
        period = block * len(orders)
        copies = ((1 << len(orders) ** columns) - 1) // ((1 << period) - 1)
        for value in range(size):
            fits = [[place for place, order in enumerate(orders) if order[value] == hook] for hook in range(size)]
            table.append(tuple(sum(((1 << block) - 1) << block * at for at in places) * copies for places in fits))
    return tuple(table)


def _worlds(clue: Clue, size: int, columns: int) -> int:
    """The walls on which a clue is true."""
    if clue.parts:
        parts = [_worlds(part, size, columns) for part in clue.parts]
        return _compound(clue, parts, _everything(size, columns))
    at = [_at(size, columns)[thing] for thing in clue.things]
    match clue.kind:
        case "at":
            cut = at[0][clue.number]
        case "left":
            cut = _ordered(at)
        case "right":
            cut = _ordered(at[::-1])
        case "between":
            cut = _ordered([at[1], at[0], at[2]]) | _ordered([at[2], at[0], at[1]])
        case _:
            step = {"same": 0, "touch": 1}.get(clue.kind, clue.number + 1)
            pairs = [(hook, hook + step) for hook in range(size - step)]
            cut = _any(at[0][low] & at[1][high] | at[0][high] & at[1][low] for low, high in pairs)
    return cut


def _any(sets: Iterator[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found


def _ordered(at: Sequence[Sequence[int]]) -> int:
    """The walls on which things hang in this order from left to right, each on a hook of its own."""
    reached = list(at[0])
    for one in at[1:]:
        before, later = 0, []
        for hook, here in enumerate(one):
            later.append(here & before)
            before |= reached[hook]
        reached = later
    return _any(iter(reached))


def _compound(clue: Clue, parts: list[int], every: int) -> int:
    first, *others = parts
    match clue.kind:
        case "not":
            return every ^ first
        case "or":
            return first | others[0]
        case "xor":
            return first ^ others[0]
        case "if":
            return every ^ first | others[0]
        case "iff":
            return every ^ first ^ others[0]
        case _:
            second, third = others
            odd, all_three = first ^ second ^ third, first & second & third
            return (
                odd ^ all_three if clue.number == 1 else (first & second | first & third | second & third) ^ all_three
            )


def verify(wall: Wall) -> dict[str, list[str]]:
    """Hang thing after thing in every way that no clue forbids; there must be one.

    Raises:
        ValueError: no wall fits, or several.
    """
    size = len(wall.columns[0])
    about = [[clue for clue in wall.clues if thing in mentioned(clue)] for thing in range(size * len(wall.columns))]
    order = sorted(range(len(about)), key=lambda thing: (thing // size, -len(about[thing])))
    found = list(_hung([-1] * len(about), order, about, size))
    if len(found) != 1:
        raise ValueError(f"{len(found)} walls fit the clues")
    names = [name for column in wall.columns for name in column]
    cells: dict[str, list[str]] = {}
    for painter in range(size):
        cells[names[painter]] = [str(found[0][painter] + 1)]
        for thing in range(size, len(names)):
            if found[0][thing] == found[0][painter]:
                cells[names[painter]].append(names[thing])
    return cells


def _hung(hooks: list[int], order: list[int], about: list[list[Clue]], size: int) -> Iterator[tuple[int, ...]]:
    if not order:
        yield tuple(hooks)
        return
    thing, column = order[0], order[0] // size
    taken = hooks[column * size : (column + 1) * size]
    for hook in range(size):
        if hook not in taken:
            hooks[thing] = hook
            if all(truth(clue, hooks) is not False for clue in about[thing]):
                yield from _hung(hooks, order[1:], about, size)
    hooks[thing] = -1


_COUNTS = ("No", "One", "Two", "Three", "Four", "Five")
_EACH = (
    "Each is by a different painter ({}).",
    "Each is by a different painter ({}) and shows a different subject ({}).",
    "Each is by a different painter ({}), shows a different subject ({}) and has a different frame ({}).",
)
_ASKED = (
    "On which hook does each painter's picture hang?",
    "On which hook does each painter's picture hang, and what does it show?",
    "On which hook does each painter's picture hang, what does it show, and which frame does it have?",
)


def ask(wall: Wall) -> Draft:
    """The wall, the words, the clues, the form of the answer."""
    size, width = len(wall.columns[0]), len(wall.columns)
    row = f"{_COUNTS[size]} pictures hang in a row, one on each of the hooks 1 to {size}, numbered from left to right."
    each = _EACH[width - 1].format(*(", ".join(column) for column in wall.columns))
    words = '"To the left" and "to the right" mean anywhere on that side, "next to" means on neighbouring hooks.'
    if any(clue.kind == "if" for clue in wall.clues):
        words += ' "If A, then B" says only that A is not true without B.'
    clues = [f"{number}. {sentence(clue, wall.columns)}" for number, clue in enumerate(wall.clues, start=1)]
    first, second, *_ = wall.columns[0]
    cells = ", ".join(("hook", "subject", "frame")[:width])
    form = f"List all painters, as in `{first}: {cells}; {second}: {cells}; ...`."
    settings = {"choices": [[str(hook + 1) for hook in range(size)], *map(list, wall.columns[1:])]}
    return Draft(
        prompt="\n".join([f"{row} {each} {words}", *clues, f"{_ASKED[width - 1]} {form}", ANSWER_LINE]),
        settings=settings,
    )


Cells = dict[str, list[str]]


def right(item: Item) -> Dialogues:
    """All cells in several dressings: in one line, a line for each painter, a table, the painters in another order."""
    cells: Cells = item.answer
    rows = [(painter, ", ".join(cells[painter])) for painter in cells]
    table = "\n".join(f"| {painter} | {' | '.join(cells[painter])} |" for painter in cells)
    head = f"| Painter |{' ... |' * len(next(iter(cells.values())))}"
    return (
        *answers(_line(cells)),
        *alone(
            f"ANSWER: {_line(dict(reversed(cells.items())))}",
            "ANSWER: " + ", ".join(f"{painter} = hook {row}" for painter, row in rows),
            "**Answer:**\n" + "\n".join(f"- **{painter}**: {row}" for painter, row in rows),
            f"Answer:\n{head}\n{'|---' * head.count('.')}|\n{table}\n",
            "ANSWER: " + "; ".join(f"{painter} (hook {row})" for painter, row in rows),
        ),
    )


def _line(cells: Cells) -> str:
    return "; ".join(f"{painter}: {', '.join(row)}" for painter, row in cells.items())


def near_misses(item: Item) -> Dialogues:
    """Two painters confused in a cell or a row, the wall from the wrong end, a painter forgotten, a cell left open."""
    cells: Cells = item.answer
    painters, size = list(cells), len(cells)
    wrong = [_confused(cells, one, other, column) for one, other, column in _pairs(cells)]
    wrong += [{name: cells[name] for name in painters if name != gone} for gone in painters]
    wrong += [dict(zip(painters, [cells[name] for name in painters[1:] + painters[:1]], strict=True))]
    wrong += [{name: [str(size + 1 - int(hook)), *rest] for name, (hook, *rest) in cells.items()}]
    wrong += [{name: [str(int(hook) % size + 1), *rest] for name, (hook, *rest) in cells.items()}]
    hedged = [_line({**cells, name: [f"{cells[name][0]} or {int(cells[name][0]) % size + 1}"]}) for name in painters]
    bare = [", ".join(", ".join(row) for row in cells.values()), "; ".join(painters)]
    return alone(*(f"ANSWER: {text}" for text in (*map(_line, wrong), *hedged, *bare)))


def _pairs(cells: Cells) -> Iterator[tuple[str, str, int]]:
    painters = list(cells)
    for one, other in pairwise(painters):
        for column in range(len(cells[one])):
            yield one, other, column


def _confused(cells: Cells, one: str, other: str, column: int) -> Cells:
    copy = {painter: list(row) for painter, row in cells.items()}
    copy[one][column], copy[other][column] = cells[other][column], cells[one][column]
    return copy


def shortcuts(item: Item) -> Dialogues:
    """Everything in the order in which it is listed, or in which the clues first or last speak of it."""
    wall: Wall = item.instance
    listed = [list(column) for column in wall.columns]
    text = " ".join(sentence(clue, wall.columns) for clue in wall.clues)
    first = [sorted(column, key=text.find) for column in wall.columns]
    last = [sorted(column, key=text.rfind) for column in wall.columns]
    orders = [listed, first, last, [column[::-1] for column in listed], [column[::-1] for column in first]]
    return alone(*(f"ANSWER: {_hung_so(order, wall.columns[0])}" for order in orders))


def _hung_so(order: list[list[str]], painters: Sequence[str]) -> str:
    rows = {row[0]: [str(hook), *row[1:]] for hook, row in enumerate(zip(*order, strict=True), start=1)}
    return _line({painter: rows[painter] for painter in painters})


_CASES: dict[Kind, int] = {"touch": 2, "gap": 2, "between": 2, "or": 6, "xor": 4, "if": 6, "iff": 4, "count": 9}
"""The cases that a clue leaves open, times the statements in each."""


def effort(wall: Wall) -> float:
    """Bits to settle, times the cases that the clues leave open one by one."""
    walls = factorial(len(wall.columns[0])) ** len(wall.columns)
    return log2(walls) * sum(_CASES.get(clue.kind, 1) for clue in wall.clues)


def fingerprint(wall: Wall) -> tuple[list[list[str]], list[str]]:
    """The lists and the clues in alphabetical order."""
    return [sorted(column) for column in wall.columns], sorted(sentence(clue, wall.columns) for clue in wall.clues)


_HARD: tuple[Kind, ...] = ("touch", "gap", "between", "not", "or", "xor", "if")

FAMILY = Family(
    name="reasoning/gallery-grid",
    rungs={
        "L1": Params(3, 1, ("left", "right", "not", "touch", "at")),
        "L2": Params(4, 2, ("at", "same", "left", "right", "not", "same", "touch")),
        "L3": Params(4, 3, (*_HARD, "same", "left"), spare=1),
        "L4": Params(5, 2, (*_HARD, "xor", "iff", "count"), spare=1),
        "L5": Params(4, 3, ("gap", "between", "xor", "if", "iff", "count", "count"), spare=1),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("exact", {"kind": "grid"}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    fingerprint=fingerprint,
    chance=1 / 6,
    shown="painters, subjects, frames and hooks are listed",
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens={"L1": 250, "L2": 400, "L3": 600, "L4": 900, "L5": 1100},
)
