"""How many rings of coloured beads are there, when turned (and on the hard rungs turned-over) rings are the same?

Colours that may not touch and fixed counts make the rings that a turn or a flip leaves as they are the difficulty:
dividing the number of strings by the number of turns is wrong, and a flip's axis runs through beads or between them.

`solve` counts the fixed strings of every turn and flip (Burnside's lemma) with a transfer matrix; `verify` strings all
rings bead by bead and crosses out those that were there already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import comb, factorial, gcd

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.types import Grading

Span = tuple[int, int]
"""Both ends included."""


@dataclass(frozen=True)
class Rings:
    """What is strung: `counts` bounds how many beads have a colour, `apart` names colours (by place) that never touch.

    A colour may be kept apart from itself. `flips`: a ring turned over is the same one.
    """

    maker: str
    colours: tuple[str, ...]
    beads: int
    counts: tuple[Span, ...]
    apart: tuple[tuple[int, int], ...]
    flips: bool


@dataclass(frozen=True)
class Params:
    """Ranges of a rung.

    `fixed` colours have an exact count, `bounded` ones a least or a most; `apart` is the number of pairs kept apart.
    `plain`: no turn but the full one leaves a ring as it was; otherwise some do. `rings` is the range of the answer.
    """

    beads: tuple[int, ...]
    colours: Span
    rings: Span
    fixed: Span = (0, 0)
    bounded: int = 0
    apart: Span = (0, 0)
    flips: bool = False
    plain: bool = False


_MAKERS = (
    "Oswin", "Brenna", "Tilde", "Corvo", "Hesper", "Lunet", "Marlo", "Nerys", "Pell", "Quill", "Rosk", "Sable", "Thane",
    "Ulla", "Vesna", "Wyn", "Yorick", "Zinna", "Ansel", "Bodil", "Cato", "Dagny", "Eskil", "Fenna", "Garin", "Hilde",
    "Ivo", "Jorun", "Kestrel", "Leif",
)  # fmt: skip
_COLOURS = (
    "amber", "azure", "black", "brown", "cream", "coral", "green", "grey", "indigo", "ivory", "jade", "lilac", "lime",
    "mauve", "navy", "ochre", "olive", "orange", "peach", "pink", "plum", "purple", "red", "rust", "sand", "scarlet",
    "silver", "teal", "umber", "violet", "white", "yellow",
)  # fmt: skip
_SLOT_BITS = 32
"""2^32 is more than the strings of 12 beads in 5 colours, so that packed numbers do not run into each other."""


def generate(params: Params, draw: Draw) -> Rings:
    """Draw until the number of rings is of the rung's size and the hasty divisions give another."""
    return draw.until(lambda: _fitting(params, draw), tries=5000)


def _fitting(params: Params, draw: Draw) -> Rings | None:
    beads, kinds = draw.pick(params.beads), draw.between(*params.colours)
    fixed = draw.between(*params.fixed)
    pairs = [(one, other) for one in range(kinds) for other in range(one, kinds)]
    rings = Rings(
        maker=draw.pick(_MAKERS),
        colours=tuple(draw.sample(_COLOURS, kinds)),
        beads=beads,
        counts=tuple(_counts((fixed, params.bounded, kinds), beads, draw)),
        apart=tuple(sorted(draw.sample(pairs, draw.between(*params.apart)))),
        flips=params.flips,
    )
    if fixed < kinds and sum(low for low, _ in rings.counts) > beads - 2:
        return None
    if fixed and params.plain == any(_turned(rings, turn) for turn in range(1, beads) if beads % turn == 0):
        return None
    if _turned(rings, beads) > 2 * beads * params.rings[1]:
        return None
    answer = solve(rings)
    if not params.rings[0] <= answer <= params.rings[1]:
        return None
    return None if str(answer) in re.findall(r"\d+", ask(rings).prompt) else rings


def _counts(numbers: tuple[int, int, int], beads: int, draw: Draw) -> Iterator[Span]:
    """Bounds for each colour; `numbers` says how many are fixed, bounded, and there at all."""
    fixed, bounded, kinds = numbers
    if fixed >= kinds:
        cuts = [0, *sorted(draw.sample(range(1, beads), kinds - 1)), beads]
        for kind in range(kinds):
            yield cuts[kind + 1] - cuts[kind], cuts[kind + 1] - cuts[kind]
        return
    for kind in range(kinds):
        if kind < fixed:
            count = draw.between(2, beads // 2)
            yield count, count
        elif kind < fixed + bounded:
            bound = draw.between(2, beads // 2)
            yield (bound, beads) if draw.chance(1, 2) else (0, bound)
        else:
            yield 0, beads


def solve(rings: Rings) -> int:
    """The mean number of strings that a turn or flip leaves as they are (Burnside's lemma)."""
    blocks = [gcd(turn, rings.beads) for turn in range(rings.beads)]
    kept = sum(_turned(rings, block) * blocks.count(block) for block in dict.fromkeys(blocks))
    if not rings.flips:
        return kept // rings.beads
    return (kept + _flipped(rings)) // (2 * rings.beads)


def _turned(rings: Rings, block: int) -> int:
    """Strings that a turn by `block` beads, a divisor of all, leaves as they are: one block, repeated."""
    weight = rings.beads // block
    meets = _meets(rings)
    total = 0
    for first in range(len(rings.colours)):
        ways = _along(rings, first, [weight] * block)
        total += sum(packed for last, packed in enumerate(ways) if first in meets[last])
    return _within(rings, total)


def _flipped(rings: Rings) -> int:
    """Strings that a flip leaves as they are, over all flips: one half, and its mirror image."""
    half = rings.beads // 2
    if rings.beads % 2:
        return rings.beads * _mirrored(rings, [1, *[2] * half], first_twin=False, last_twin=True)
    through = _mirrored(rings, [1, *[2] * (half - 1), 1], first_twin=False, last_twin=False)
    between = _mirrored(rings, [2] * half, first_twin=True, last_twin=True)
    return half * (through + between)


def _mirrored(rings: Rings, weights: list[int], *, first_twin: bool, last_twin: bool) -> int:
    """Ways to fill one half; a bead at its end that is not on the axis touches its own mirror image."""
    total = 0
    meets = _meets(rings)
    for first in range(len(rings.colours)):
        if first_twin and first not in meets[first]:
            continue
        for last, packed in enumerate(_along(rings, first, weights)):
            if not last_twin or last in meets[last]:
                total += packed
    return _within(rings, total)


def _along(rings: Rings, first: int, weights: list[int]) -> list[int]:
    """Ways to string beads in a row from a first colour, by the last colour.

    One integer holds the ways for all counts of the counted colours: a bead that stands for w beads moves the number
    by w places of its colour, and the places of one colour are n + 1 times those of the one before.
    """
    kinds = range(len(rings.colours))
    places, meets = _places(rings), _meets(rings)
    ways = [(1 << places[kind] * weights[0]) * (kind == first) for kind in kinds]
    for weight in weights[1:]:
        ways = [sum(ways[before] for before in meets[kind]) << places[kind] * weight for kind in kinds]
    return ways


def _places(rings: Rings) -> list[int]:
    """Bits by which one bead of each colour moves a packed number; 0 for colours that need not be counted."""
    is_last_implied = all(low == high for low, high in rings.counts)
    found: list[int] = []
    place = _SLOT_BITS
    for kind, span in enumerate(rings.counts, start=1):
        counted = span != (0, rings.beads) and not (is_last_implied and kind == len(rings.counts))
        found.append(place * counted)
        place *= rings.beads + 1 if counted else 1
    return found


def _within(rings: Rings, packed: int) -> int:
    """The ways whose counts of every colour are within bounds."""
    counted = [
        (place, range(low, high + 1)) for place, (low, high) in zip(_places(rings), rings.counts, strict=True) if place
    ]
    mask = (1 << _SLOT_BITS) - 1
    return sum(
        packed >> sum(place * count for (place, _), count in zip(counted, counts, strict=True)) & mask
        for counts in product(*(span for _, span in counted))
    )


def _meets(rings: Rings) -> list[list[int]]:
    """For each colour those that may touch it."""
    kinds = range(len(rings.colours))
    return [[other for other in kinds if (min(one, other), max(one, other)) not in rings.apart] for one in kinds]


def verify(rings: Rings) -> int:
    """String every ring bead by bead; each that is new crosses out all that it can be turned into."""
    met: set[str] = set()
    found = 0
    for ring in _strung(rings, "abcdefghijklmnop"[: len(rings.colours)]):
        if ring not in met:
            found += 1
            for one in (ring, ring[::-1]) if rings.flips else (ring,):
                met.update((one + one)[turn : turn + rings.beads] for turn in range(rings.beads))
    return found


def _strung(rings: Rings, letters: str) -> list[str]:
    """Every string of beads that may be closed to a ring."""
    banned = {letters[one] + letters[other] for pair in rings.apart for one, other in (pair, pair[::-1])}
    most = dict(zip(letters, (high for _, high in rings.counts), strict=True))
    least = [(letter, low) for letter, (low, _) in zip(letters, rings.counts, strict=True) if low]
    begun = [""]
    for left in range(rings.beads - 1, -1, -1):
        longer = (
            one + letter
            for one in begun
            for letter in letters
            if one[-1:] + letter not in banned and one.count(letter) < most[letter]
        )
        begun = [one for one in longer if sum(max(0, low - one.count(letter)) for letter, low in least) <= left]
    return [one for one in begun if one[-1] + one[0] not in banned]


def ask(rings: Rings) -> Draft:
    """The beads, the rules, which rings are the same."""
    *others, last = rings.colours
    rules = [*_count_rules(rings), *(_apart_rule(rings, one, other) for one, other in rings.apart)]
    board = (
        f"{rings.maker} strings {rings.beads} beads on a closed ring, so that each bead touches two others. "
        f"A bead is {', '.join(others)} or {last}; beads of one colour look alike. "
        f"{'Unless a rule says otherwise, a' if rules else 'A'} colour may occur any number of times or not at all."
    )
    listed = ["Rules:", *(f"- {rule}" for rule in rules)] if rules else []
    turns = "rotating it, turning it over, or both" if rings.flips else "rotating it; turning it over is not allowed"
    same = f"Two rings are the same if one becomes the other by {turns}. How many different rings are possible?"
    return Draft(prompt="\n".join([board, *listed, same, ANSWER_LINE]))


def _count_rules(rings: Rings) -> Iterator[str]:
    for colour, (low, high) in zip(rings.colours, rings.counts, strict=True):
        if low == high:
            yield f"Exactly {low} {'bead is' if low == 1 else 'beads are'} {colour}."
        elif low:
            yield f"At least {low} {'bead is' if low == 1 else 'beads are'} {colour}."
        elif high < rings.beads:
            yield f"At most {high} {'bead is' if high == 1 else 'beads are'} {colour}."


def _apart_rule(rings: Rings, one: int, other: int) -> str:
    whom = "each other" if one == other else f"{rings.colours[other]} beads"
    return f"{rings.colours[one].capitalize()} beads never touch {whom}."


def right(item: Item) -> Dialogues:
    """The number in several dressings."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """Hasty divisions, a rule overlooked, flips confused, neighbours."""
    rings: Rings = item.instance
    strings = _turned(rings, rings.beads)
    wrong = [strings, strings // rings.beads, strings // (2 * rings.beads), -(-strings // (2 * rings.beads))]
    wrong += [solve(replace(rings, flips=not rings.flips)), solve(replace(rings, apart=()))]
    wrong += [solve(replace(rings, apart=tuple(kept for kept in rings.apart if kept != pair))) for pair in rings.apart]
    wrong += [len(rings.colours) ** rings.beads // rings.beads, item.answer * 2, item.answer // 2]
    wrong += [item.answer + off for off in (1, -1, 2, -2, 10, -10)]
    different = dict.fromkeys(value for value in wrong if value != item.answer)
    return alone(*(f"ANSWER: {value}" for value in different))


def shortcuts(item: Item) -> Dialogues:
    """What the numbers of beads and colours suggest."""
    rings: Rings = item.instance
    beads, kinds = rings.beads, len(rings.colours)
    near = (kinds**beads // beads, kinds**beads, kinds**beads // (2 * beads), factorial(beads - 1), beads * kinds)
    return alone(*(f"ANSWER: {value}" for value in (*near, comb(beads + kinds - 1, beads), 2 * beads, 60)))


def effort(rings: Rings) -> float:
    """Kinds of turns and flips that keep a ring, times what to heed for each."""
    divisors = (block for block in range(1, rings.beads + 1) if rings.beads % block == 0)
    kinds_of_moves = sum(_turned(rings, block) > 0 for block in divisors) + 2 * rings.flips
    counted = sum(span != (0, rings.beads) for span in rings.counts)
    return rings.beads * kinds_of_moves * (1 + counted) * (len(rings.colours) ** 2 if rings.apart else 1)


def fingerprint(rings: Rings) -> Rings:
    """The colours in alphabetical order."""
    order = sorted(range(len(rings.colours)), key=lambda kind: rings.colours[kind])
    place = {kind: number for number, kind in enumerate(order)}
    moved = (sorted((place[one], place[other])) for one, other in rings.apart)
    return replace(
        rings,
        colours=tuple(rings.colours[kind] for kind in order),
        counts=tuple(rings.counts[kind] for kind in order),
        apart=tuple(sorted((one, other) for one, other in moved)),
    )


FAMILY = Family(
    name="math/charm-bracelets",
    rungs={
        "L1": Params((3, 4, 5), (3, 14), (30, 10_000)),
        "L2": Params((7, 8, 9, 10, 11), (3, 4), (15, 1500), fixed=(1, 4), apart=(0, 1), plain=True),
        "L3": Params((8, 9, 10, 12), (3, 3), (25, 400), fixed=(1, 1), bounded=1, apart=(1, 2)),
        "L4": Params((8, 9, 10, 12), (4, 4), (40, 400), fixed=(2, 2), apart=(2, 3), flips=True),
        "L5": Params((10, 12), (4, 4), (60, 500), fixed=(2, 2), bounded=1, apart=(2, 3), flips=True),
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
    fingerprint=fingerprint,
    cost=3,
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens=dict.fromkeys(("L1", "L2", "L3", "L4", "L5"), 300),
)
