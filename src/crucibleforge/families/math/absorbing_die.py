"""A token on a ring of squares, moved by a spinner, slid by chutes, until it stops: with what chance, after how long?

On the hard rungs the time is asked given the place where the token stops, which is neither the plain expectation nor
the joint one, and a sector that comes up twice in a row may end the game, so that the last spin is part of the state.

`solve` sets up the linear equations and eliminates in whole numbers; `verify` plays all spin sequences forward, finds
the rational generating function of the stopping times from their counts, and takes its value and slope.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Literal

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.types import Grading

Asked = Literal["chance", "spins", "given"]
"""The chance to stop at home; the expected number of spins; the same given that it stops at home."""

Span = tuple[int, int]
"""Both ends included."""


@dataclass(frozen=True)
class Game:
    """Squares are numbered from 0 round a ring.

    `moves` tells for each run of sectors how many there are and how far they move. `chutes` lead from a square to
    another. The game stops on `home` and on `pit`, and without a move when the run `twice` comes up twice in a row
    (-1: no such rule).
    """

    title: str
    token: str
    ring: int
    start: int
    home: int
    pit: int
    moves: tuple[tuple[int, int], ...]
    chutes: tuple[tuple[int, int], ...]
    twice: int
    asked: Asked


@dataclass(frozen=True)
class Params:
    """Ranges of a rung.

    `sizes` are those of a run of sectors, `steps` the moves to draw from, `states` the unknowns to solve for, `parts`
    the answer's numerator and denominator.
    """

    ring: Span
    sizes: Span
    steps: tuple[int, ...]
    runs: int
    asked: tuple[Asked, ...]
    states: Span
    parts: Span
    chutes: int = 0
    twice: bool = False


_TITLES = (
    "Osk", "Brindle", "Tarrow", "Quell", "Numbat", "Farrow", "Istle", "Dovet", "Wicken", "Pallor", "Ombre", "Zester",
    "Garnel", "Hask", "Lumper", "Mirtle", "Kestow", "Rundle", "Sorrel", "Tipple", "Umbel", "Vintry", "Yarrow", "Cobble",
)  # fmt: skip
_TOKENS = (
    "brass", "wooden", "blue", "red", "green", "white", "black", "clay", "glass", "tin", "bone", "copper", "pink",
    "grey", "yellow", "cork", "felt", "silver", "slate", "striped",
)  # fmt: skip


def generate(params: Params, draw: Draw) -> Game:
    """Draw until the game can stop at home and elsewhere, and the answer is of the rung's size."""
    return draw.until(lambda: _fitting(params, draw), tries=20_000)


def _fitting(params: Params, draw: Draw) -> Game | None:
    ring = draw.between(*params.ring)
    squares = draw.sample(range(ring), 3 + 2 * params.chutes)
    steps = draw.sample(params.steps, params.runs)
    moves = tuple((draw.between(*params.sizes), step) for step in steps)
    ends = squares[3:]
    game = Game(
        title=draw.pick(_TITLES),
        token=draw.pick(_TOKENS),
        ring=ring,
        start=squares[0],
        home=squares[1],
        pit=squares[2],
        moves=moves,
        chutes=tuple(sorted(zip(ends[::2], ends[1::2], strict=True))),
        twice=draw.below(params.runs) if params.twice else -1,
        asked=draw.pick(params.asked),
    )
    states = _reached(game)
    if states is None or not params.states[0] <= len(states) <= params.states[1]:
        return None
    if _value(replace(game, asked="chance")) in {None, 1}:
        return None
    value = _value(game)
    if value is None or not all(params.parts[0] <= part <= params.parts[1] for part in value.as_integer_ratio()):
        return None
    return None if re.search(rf"\b{value.numerator}\W+{value.denominator}\b", ask(game).prompt) else game


def solve(game: Game) -> str:
    """Eliminate; the fraction in lowest terms as text."""
    value = _value(game)
    if value is None:
        raise ValueError("the game need not stop")
    return str(value)


State = tuple[int, bool]
"""Square, and whether the last spin was of the run that stops the game when it comes twice."""


def _value(game: Game) -> Fraction | None:
    """The answer; None where the game need not stop, or never stops at home."""
    states = _reached(game)
    if states is None:
        return None
    sectors = sum(size for size, _ in game.moves)
    places = {state: place for place, state in enumerate(states)}
    matrix = [[sectors * (row == column) for column in range(len(states))] for row in range(len(states))]
    homes = [0] * len(states)
    for state, place in places.items():
        for size, after in _after(game, state):
            if after in places:
                matrix[place][places[after]] -= size
            homes[place] += size * (after is not None and after[0] == game.home)
    if game.asked == "spins":
        total, times = _eliminated(matrix, [sectors] * len(states))
        return Fraction(times[0], total) if total else None
    total, chances = _eliminated(matrix, homes)
    if not total or not chances[0]:
        return None
    if game.asked == "chance":
        return Fraction(chances[0], total)
    _, weighted = _eliminated(matrix, [sectors * chance for chance in chances])
    return Fraction(weighted[0], chances[0] * total)


def _reached(game: Game) -> list[State] | None:
    """The states in which a spin can happen, the start first; None if the game can go on for ever from one of them."""
    states: list[State] = [(game.start, False)]
    leads: dict[State, list[State | None]] = {}
    for state in states:
        leads[state] = [after for _, after in _after(game, state)]
        for after in leads[state]:
            if after and after[0] not in {game.home, game.pit} and after not in states:
                states.append(after)
    ending: set[State] = set()
    for _ in states:
        ending |= {one for one in states if any(after not in leads or after in ending for after in leads[one])}
    return states if len(ending) == len(states) else None


def _after(game: Game, state: State) -> list[tuple[int, State | None]]:
    """The sectors and the next state of every run; None: stopped by the second one in a row."""
    square, was = state
    slides = dict(game.chutes)
    found: list[tuple[int, State | None]] = []
    for run, (size, step) in enumerate(game.moves):
        on = (square + step) % game.ring
        # A spin that moves nothing lands nowhere; the token never rests on the upper end of a chute anyway.
        found.append((size, None if was and run == game.twice else (slides.get(on, on), run == game.twice)))
    return found


def _eliminated(matrix: list[list[int]], right: list[int]) -> tuple[int, list[int]]:
    """Determinant and numerators of the solution; every division is exact (Bareiss 1968, Math. Comp. 22:565)."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    before = 1
    for place in range(len(rows)):
        pivot = next((row for row in range(place, len(rows)) if rows[row][place]), None)
        if pivot is None:
            return 0, []
        if pivot != place:
            rows[place], rows[pivot] = rows[pivot], [-value for value in rows[place]]
        chosen = rows[place]
        head = chosen[place]
        for number, row in enumerate(rows):
            if number != place:
                factor = row[place]
                rows[number] = [(head * mine - factor * its) // before for mine, its in zip(row, chosen, strict=True)]
        before = head
    return before, [row[-1] for row in rows]


def verify(game: Game) -> str:
    """Count the sequences of spins that stop after each number of spins, and sum their generating function."""
    sectors = sum(size for size, _ in game.moves)
    home, all_ways = _played(game, spins=4 * game.ring + 2)
    chance, slope = _summed(all_ways if game.asked == "spins" else home, Fraction(1, sectors))
    return str({"chance": chance, "spins": slope, "given": slope / chance}[game.asked])


def _played(game: Game, spins: int) -> tuple[list[int], list[int]]:
    """Numbers of sector sequences that stop at home, and that stop at all, after 1, 2, 3 ... spins."""
    home: list[int] = []
    all_ways: list[int] = []
    ways = {(game.start, -1): 1}
    for _ in range(spins):
        later: dict[tuple[int, int], int] = {}
        stopped = {"home": 0, "pit": 0, "twice": 0}
        for (square, last), count in ways.items():
            for run, (size, step) in enumerate(game.moves):
                if run == last == game.twice:
                    stopped["twice"] += count * size
                    continue
                landed = (square + step + game.ring) % game.ring
                for upper, lower in game.chutes:
                    if landed == upper:
                        landed = lower
                        break
                if landed in (game.home, game.pit):
                    stopped["home" if landed == game.home else "pit"] += count * size
                else:
                    key = (landed, run if run == game.twice else -1)
                    later[key] = later.get(key, 0) + count * size
        ways = later
        home.append(stopped["home"])
        all_ways.append(sum(stopped.values()))
    return home, all_ways


def _summed(counts: list[int], at: Fraction) -> tuple[Fraction, Fraction]:
    """Sum of counts[n] * at^(n+1), and the same with each term times n + 1, over all n to infinity.

    The counts obey a linear recurrence no longer than half their number, so that they fix it.
    """
    below = _recurrence(counts)
    zero = Fraction(0)
    above = [sum((below[k] * counts[n - k] for k in range(n + 1)), zero) for n in range(len(below) - 1)]
    top, bottom = _with_slope([zero, *above], at), _with_slope(below, at)
    value = top[0] / bottom[0]
    return value, (top[1] - value * bottom[1]) / bottom[0] * at


def _with_slope(polynomial: list[Fraction], at: Fraction) -> tuple[Fraction, Fraction]:
    value = slope = Fraction(0)
    for coefficient in reversed(polynomial):
        slope = slope * at + value
        value = value * at + coefficient
    return value, slope


def _recurrence(counts: list[int]) -> list[Fraction]:
    """The shortest linear recurrence, as the denominator of the generating function (Massey 1969, IEEE IT 15:122)."""
    now: list[Fraction] = [Fraction(1)]
    old, zero = now, Fraction(0)
    length, gap, fault = 0, 1, Fraction(1)
    for number in range(len(counts)):
        off = sum((c * counts[number - k] for k, c in enumerate(now) if k <= number), zero)
        if not off:
            gap += 1
            continue
        shifted = [zero] * gap + [off / fault * c for c in old]
        longer = [one - other for one, other in zip_longest(now, shifted, fillvalue=zero)]
        if 2 * length <= number:
            length, old, fault, gap = number + 1 - length, now, off, 1
        else:
            gap += 1
        now = longer
    return [*now, *[zero] * (length + 1 - len(now))]


def ask(game: Game) -> Draft:
    """The board, the spinner, the chutes, when it stops, the question."""
    sectors = sum(size for size, _ in game.moves)
    board = (
        f"The game of {game.title} has squares numbered 0 to {game.ring - 1} in a ring: clockwise, {game.ring - 1} is "
        f"followed by 0. A {game.token} token starts on square {game.start}. A turn is one spin of a spinner with "
        f"{sectors} equally likely sectors, numbered 1 to {sectors}. The token then moves:"
    )
    lines = [board, *_table(game)]
    lines += [
        f"A chute leads from square {upper} to square {lower}: a token whose move ends on {upper} slides to {lower} "
        "in the same turn."
        for upper, lower in game.chutes
    ]
    lines.append(
        f"The game stops when the token is on square {game.home} (home) or square {game.pit} (pit) after a turn."
    )
    if game.twice >= 0:
        one = _sectors(game, game.twice)
        run = one if game.moves[game.twice][0] == 1 else f"one of the {one} (the same or another)"
        lines.append(
            f"It also stops, neither at home nor in the pit, when two turns in a row both show {run}: "
            "in the second of them the token does not move, and that turn counts as a spin."
        )
    return Draft(prompt="\n".join([*lines, _question(game), ANSWER_LINE]))


def _table(game: Game) -> list[str]:
    ways = {True: "clockwise", False: "counterclockwise"}
    return [
        f"- {_sectors(game, run)}: "
        + (f"{abs(step)} square{'s' * (abs(step) > 1)} {ways[step > 0]}" if step else "not at all")
        for run, (_, step) in enumerate(game.moves)
    ]


def _sectors(game: Game, run: int) -> str:
    first = 1 + sum(size for size, _ in game.moves[:run])
    last = first + game.moves[run][0] - 1
    return f"sector {first}" if first == last else f"sectors {first} to {last}"


def _question(game: Game) -> str:
    match game.asked:
        case "chance":
            what = "the probability that the game stops at home"
        case "spins":
            what = "the expected number of spins until the game stops"
        case "given":
            what = "the expected number of spins in the game, given that it stops at home"
    return f"What is {what}? Give a fraction in lowest terms."


def right(item: Item) -> Dialogues:
    """The fraction in several dressings."""
    above, below = item.answer.split("/")
    return (*answers(item.answer), *alone(f"ANSWER: \\(\\dfrac{{{above}}}{{{below}}}\\)", f"ANSWER: {above} / {below}"))


def near_misses(item: Item) -> Dialogues:
    """Another question answered, a rule overlooked, a spin too many or too few, a rounded value."""
    game: Game = item.instance
    answer = Fraction(item.answer)
    wrong = _other_answers(game)
    wrong += [answer - 1, answer + 1, 1 - answer, 1 / answer, answer / 2, answer * 2]
    wrong += [Fraction(answer.numerator + 1, answer.denominator), Fraction(answer.numerator, answer.denominator + 1)]
    different = [str(value) for value in dict.fromkeys(wrong) if value != answer]
    rounded = [text for text in (f"{float(answer):.2f}", f"{float(answer):.3f}") if Fraction(text) != answer]
    return alone(*(f"ANSWER: {text}" for text in (*different, *rounded)))


def _other_answers(game: Game) -> list[Fraction]:
    answers = {asked: _value(replace(game, asked=asked)) for asked in ("chance", "spins", "given")}
    chance, given = answers["chance"], answers["given"]
    others = [
        *answers.values(),
        chance * given if chance and given else None,
        _value(replace(game, home=game.pit, pit=game.home)),
        _value(replace(game, chutes=())),
        _value(replace(game, twice=-1)),
        _value(replace(game, moves=tuple((size, -step) for size, step in game.moves))),
        _value(replace(game, moves=tuple((1, step) for _, step in game.moves))),
    ]
    return [value for value in others if value is not None]


def shortcuts(item: Item) -> Dialogues:
    """Halves and thirds, and what the sector counts suggest."""
    game: Game = item.instance
    sectors = sum(size for size, _ in game.moves)
    near = [Fraction(1, 2), Fraction(1, 3), Fraction(2, 3), Fraction(game.ring), Fraction(sectors)]
    near += [Fraction(sectors, game.moves[0][0]), Fraction(game.moves[0][0], sectors), Fraction(game.ring, 2)]
    return alone(*(f"ANSWER: {value}" for value in near))


def effort(game: Game) -> float:
    """Cells of the equations to solve."""
    states = len(_reached(game) or ())
    return (2 if game.asked == "given" else 1) * states**2


_STEPS = (-3, -2, -1, 1, 2, 3)

FAMILY = Family(
    name="math/absorbing-die",
    rungs={
        "L1": Params((3, 3), (3, 20), (0, 1, 2), 3, ("chance",), states=(1, 1), parts=(4, 40)),
        "L2": Params((4, 5), (2, 9), (-1, 0, 1, 2), 2, ("chance", "spins"), states=(2, 3), parts=(2, 2000)),
        "L3": Params((6, 7), (1, 2), _STEPS, 3, ("chance", "spins"), states=(4, 5), parts=(10, 5000), chutes=1),
        "L4": Params((6, 7), (1, 2), _STEPS, 3, ("given",), states=(5, 8), parts=(20, 10**6), chutes=1, twice=True),
        "L5": Params((8, 9), (1, 2), _STEPS, 4, ("given",), states=(7, 10), parts=(50, 10**8), chutes=2, twice=True),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens=dict.fromkeys(("L1", "L2", "L3", "L4", "L5"), 420),
)
