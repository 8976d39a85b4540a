"""The remainder of a tower of powers plus a factorial or binomial term, where base and divisor share factors.

Euler's theorem does not hold then: the residues have a tail before their cycle, and the reduced exponent may fall
into the tail, or the whole tower may end there. On the upper rungs a remainder is the top of the next tower, and must
be used there as the number that it is.

`solve` goes by prime powers (Euler's theorem where it holds, Chinese remainder theorem); `verify` knows the exact
exponent and walks along the residues until they repeat.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import comb, factorial, gcd

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.types import Grading

Span = tuple[int, int]
"""Both ends included."""


@dataclass(frozen=True)
class Step:
    """The remainder of `base^(tower) + times * part! + chosen[0] * C(chosen[1], chosen[2])` by `modulus`.

    The tower is read from the top down. The first step's is complete; on top of any other stands the remainder of the
    step before. `part` 0 makes the second term a plain number, `chosen[0]` 0 leaves the third one out.
    """

    base: int
    tower: tuple[int, ...]
    modulus: int
    times: int
    part: int
    chosen: tuple[int, int, int]


@dataclass(frozen=True)
class Ladder:
    """Steps that build on each other; the last remainder is asked for."""

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Params:
    """Ranges of one step. `tower` has one for each level, `modulus` is multiplied by 2 to the power of `deep`.

    `coprime`: base and modulus share no factor, otherwise they do. `tempting`: one of the habits that need no shared
    factor goes wrong.
    """

    base: Span
    tower: tuple[Span, ...]
    modulus: Span
    times: Span
    part: Span = (0, 0)
    chosen: bool = False
    deep: int = 0
    coprime: bool = False
    tempting: bool = False


Shape = tuple[tuple[Params, ...], ...]
"""The kinds of ladder of a rung, each with the parameters of its steps."""

Power = Callable[[int, tuple[int, ...], int], int]
"""The remainder of base^(tower) by a modulus, right or mistaken."""

_NAMES = "xyz"


def generate(shape: Shape, draw: Draw) -> Ladder:
    """Draw step by step; no remainder is 0 or 1, and the last is no number of the prompt."""
    return draw.until(lambda: _ladder(draw.pick(shape), draw))


def _ladder(kind: tuple[Params, ...], draw: Draw) -> Ladder | None:
    steps: list[Step] = []
    below: tuple[int, ...] = ()
    for params in kind:
        step = draw.until(lambda: _step(params, below, draw), tries=10_000)  # noqa: B023 - called at once
        below = (_remainder(step, below, _exact),)
        if below[0] < 2:
            return None
        steps.append(step)
    ladder = Ladder(tuple(steps))
    return None if str(below[0]) in re.findall(r"\d+", ask(ladder).prompt) else ladder


def _step(params: Params, below: tuple[int, ...], draw: Draw) -> Step | None:
    base = draw.between(*params.base)
    modulus = draw.between(*params.modulus) << params.deep
    if (gcd(base, modulus) == 1) != params.coprime or base % modulus == 0:
        return None
    tower = tuple(draw.between(*span) for span in params.tower)
    # A power that leaves 0, 1 or its base would hand the answer to whoever forgets the power or the exponent.
    if _exact(base, (*tower, *below), modulus) in {0, 1, base % modulus}:
        return None
    if params.tempting and not _tempts(base, (*tower, *below), modulus):
        return None
    times, part = draw.between(*params.times), draw.between(*params.part)
    chosen = (draw.between(2, 30), draw.between(24, 60), draw.between(3, 4)) if params.chosen else (0, 0, 0)
    return Step(base, tower, modulus, times, part, chosen)


def _tempts(base: int, tower: tuple[int, ...], modulus: int) -> bool:
    right = _exact(base, tower, modulus)
    return right != _euler(base, tower, modulus) or right != _vanished(base, tower, modulus)


def solve(ladder: Ladder) -> int:
    """Step by step, each from its remainders by prime powers."""
    value = 0
    for number, step in enumerate(ladder.steps):
        tower = (*step.tower, value) if number else step.tower
        total, product = 0, 1
        for prime, height in _prime_powers(step.modulus):
            part = prime**height
            wanted = _residue((step.base, *tower), prime, height) + _added(step, part)
            total += product * ((wanted - total) * pow(product, -1, part) % part)
            product *= part
        value = total
    return value


def _added(step: Step, modulus: int) -> int:
    product = step.times % modulus
    for factor in range(2, step.part + 1):
        product = product * factor % modulus
    times, many, few = step.chosen
    return product + times * _choices(many, few)


def _choices(many: int, few: int) -> int:
    """Pascal's triangle, one row after the other."""
    row = [1]
    for _ in range(many):
        row = [1, *(one + other for one, other in pairwise(row)), 1]
    return row[few]


def _residue(tower: tuple[int, ...], prime: int, height: int) -> int:
    """A tower by a power of a prime: Euler's theorem, unless the prime divides the base."""
    part: int = prime**height
    base, above = tower[0], tower[1:]
    if base % prime:
        return pow(base, _reduced(above, part // prime * (prime - 1)), part)
    # base^height holds the prime at least `height` times, so that a longer exponent changes nothing.
    return pow(base, _capped(above, height), part)


def _reduced(tower: tuple[int, ...], modulus: int) -> int:
    """A tower by any modulus."""
    total, product = 0, 1
    for prime, height in _prime_powers(modulus) if tower else ():
        part = prime**height
        total += product * ((_residue(tower, prime, height) - total) * pow(product, -1, part) % part)
        product *= part
    return total if tower else 1


def _capped(tower: tuple[int, ...], most: int) -> int:
    """A tower of numbers from 2 on, or `most` if it is larger."""
    return min(tower[0] ** _capped(tower[1:], most), most) if tower else 1


def _prime_powers(number: int) -> list[tuple[int, int]]:
    found, prime = [], 2
    while number > 1:
        height = 0
        while number % prime == 0:
            number //= prime
            height += 1
        if height:
            found.append((prime, height))
        prime += 1
    return found


def verify(ladder: Ladder) -> int:
    """Walk along the residues of the powers to the first repetition; everything else in exact integers."""
    below: tuple[int, ...] = ()
    for step in ladder.steps:
        below = (_remainder(step, below, _walked),)
    return below[0]


def _walked(base: int, tower: tuple[int, ...], modulus: int) -> int:
    exponent = _height(tower)
    seen: dict[int, int] = {}
    residues: list[int] = []
    residue: int = 1 % modulus
    while residue not in seen:
        seen[residue] = len(residues)
        residues.append(residue)
        residue = residue * base % modulus
    tail = seen[residue]
    return residues[exponent if exponent < tail else tail + (exponent - tail) % (len(residues) - tail)]


def _remainder(step: Step, below: tuple[int, ...], power: Power) -> int:
    times, many, few = step.chosen
    added = step.times * factorial(step.part) + times * comb(many, few)
    return (power(step.base, (*step.tower, *below), step.modulus) + added) % step.modulus


def _height(tower: tuple[int, ...]) -> int:
    value = 1
    for level in reversed(tower):
        value = level**value
    return value


def _exact(base: int, tower: tuple[int, ...], modulus: int) -> int:
    return pow(base, _height(tower), modulus)


def _euler(base: int, tower: tuple[int, ...], modulus: int) -> int:
    """Euler's theorem used where it does not hold."""
    return pow(base, _height(tower) % _totient(modulus), modulus)


def _vanished(base: int, tower: tuple[int, ...], modulus: int) -> int:
    """Every shared prime taken to have died out, as if the exponent were whole cycles larger than it is."""
    return pow(base, _height(tower) + _totient(modulus) * modulus.bit_length(), modulus)


def _left(base: int, tower: tuple[int, ...], modulus: int) -> int:
    """The tower read from the bottom up."""
    for level in tower:
        base = pow(base, level, modulus)
    return base


def _longer(base: int, tower: tuple[int, ...], modulus: int) -> int:
    return pow(base, _height(tower) + 1, modulus)


def _shorter(base: int, tower: tuple[int, ...], modulus: int) -> int:
    return pow(base, _height(tower) - 1, modulus)


def _multiplied(base: int, tower: tuple[int, ...], modulus: int) -> int:
    """Base times exponent."""
    return base * _height(tower) % modulus


def _totient(number: int) -> int:
    for prime, _ in _prime_powers(number):
        number = number // prime * (prime - 1)
    return number


def ask(ladder: Ladder) -> Draft:
    """One line a step, and what the signs mean where there are any."""
    named = len(ladder.steps) > 1
    lines = []
    for number, step in enumerate(ladder.steps):
        tower = [*map(str, step.tower), *(_NAMES[number - 1 : number] if number else "")]
        what = f"the remainder when {_sum(step, tower)} is divided by {step.modulus}"
        lines.append(f"Let {_NAMES[number]} be {what}." if named else f"Find {what}.")
    if named:
        lines.append(
            f"Find {_NAMES[len(lines) - 1]}. A remainder is at least 0 and smaller than the divisor; "
            "the next line uses it as that plain number."
        )
    lines += _signs(ladder)
    return Draft(prompt="\n".join([*lines, ANSWER_LINE]))


def _sum(step: Step, tower: list[str]) -> str:
    power = tower[-1]
    for level in reversed(tower[:-1]):
        power = f"{level}^{power}" if power == tower[-1] else f"{level}^({power})"
    power = f"({power})" if len(tower) > 1 else power
    second = f"{step.times} * {step.part}!" if step.part else f"{step.times}"
    times, many, few = step.chosen
    third = f" + {times} * C({many}, {few})" if times else ""
    return f"{step.base}^{power} + {second}{third}"


def _signs(ladder: Ladder) -> list[str]:
    signs = ["a^b is a to the power of b"]
    if any(step.part for step in ladder.steps):
        signs.append("n! is the product of the whole numbers from 1 to n")
    if any(step.chosen[0] for step in ladder.steps):
        signs.append("C(n, k) is the number of ways to choose k things out of n")
    return [f"Here {', '.join(signs)}."]


def right(item: Item) -> Dialogues:
    """The remainder in several dressings."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """Theorems used where they do not hold, towers misread, terms forgotten, neighbours."""
    steps = item.instance.steps
    mistaken = [_mistaken(steps, power) for power in (_euler, _vanished, _left, _longer, _shorter, _multiplied)]
    last = steps[-1]
    shorter = (replace(last, times=0), replace(last, chosen=(0, 0, 0)))
    mistaken += [_mistaken((*steps[:-1], changed), _exact) for changed in shorter]
    neighbours = [item.answer + off for off in (1, -1, 2, 10, -10)]
    neighbours += [last.modulus - item.answer, last.modulus + item.answer, item.answer * 10]
    different = dict.fromkeys(value for value in (*mistaken, *neighbours) if value != item.answer)
    return alone(*(f"ANSWER: {value}" for value in different))


def _mistaken(steps: tuple[Step, ...], power: Power) -> int:
    below: tuple[int, ...] = ()
    for step in steps:
        below = (_remainder(step, below, power),)
    return below[0]


def shortcuts(item: Item) -> Dialogues:
    """Numbers that lie near at hand."""
    last: Step = item.instance.steps[-1]
    second = last.times * factorial(last.part) % last.modulus
    near = (last.base % last.modulus, second, (last.base + second) % last.modulus, last.modulus - 1, last.modulus // 2)
    return alone(*(f"ANSWER: {value}" for value in (*near, gcd(last.base, last.modulus), 2)))


def effort(ladder: Ladder) -> float:
    """Digits of the prime powers, once for each level of a tower, and the factors of the other terms."""
    return sum(
        (len(step.tower) + (number > 0)) * sum(len(bin(p**k)) - 2 for p, k in _prime_powers(step.modulus))
        + step.part
        + step.chosen[2]
        for number, step in enumerate(ladder.steps)
    )


_FIRST = Params(base=(6, 99), tower=((2, 30), (3, 60)), modulus=(120, 999), times=(2, 60), part=(4, 8), tempting=True)
_TALL = replace(_FIRST, tower=((2, 9), (2, 9), (2, 4)))
_EIGHT = replace(_FIRST, tower=((2, 2), (3, 3)), modulus=(3, 9), deep=10)
_NINE = replace(_EIGHT, tower=((3, 3), (2, 2)))
_NEXT = replace(_FIRST, tower=((2, 30),), chosen=True, tempting=False)

FAMILY = Family(
    name="math/mod-ladder",
    rungs={
        "L1": ((Params((11, 60), ((2, 2),), (21, 99), (100, 9999), coprime=True),),),
        "L2": ((Params((2, 60), ((20, 99),), (31, 120), (2, 60), (3, 5), coprime=True),),),
        "L3": ((_FIRST,),),
        "L4": ((_FIRST, _NEXT), (_FIRST, _NEXT), (_EIGHT, _NEXT), (_NINE, _NEXT)),
        "L5": ((_TALL, _NEXT, _NEXT),),
    },
    small=((Params((2, 9), ((2, 3), (2, 3)), (8, 40), (2, 9), (2, 4)), Params((2, 9), ((2, 3),), (8, 40), (2, 9))),),
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 512, "L2": 1024, "L3": 1536, "L4": 2048, "L5": 3072},
    prompt_tokens={"L1": 80, "L2": 100, "L3": 110, "L4": 220, "L5": 270},
)
