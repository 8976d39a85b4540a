"""Two small families that keep every law, one that is read and one that is run, to plant faults in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crucibleforge.families._contract import examine
from crucibleforge.families._dress import alone, answers, programs
from crucibleforge.families._kit import Draft, Family
from crucibleforge.families._law import Extent
from crucibleforge.types import RUNGS, Grading

BRIEF = Extent(generated=4, verified=3, different=4, guessed=3, fuzzed=2)
ALL = dict.fromkeys(RUNGS, 60)
ONE = dict.fromkeys(RUNGS, 1)


@dataclass(frozen=True)
class Sum:
    summands: tuple[int, ...]


def add(sum_):
    return sum(sum_.summands)


def count_up(sum_):
    total = 0
    for summand in sum_.summands:
        total -= -summand
    return total


ADDING = Family(
    name="math/adding",
    rungs={rung: 10**number for number, rung in enumerate(RUNGS, 8)},
    generate=lambda most, draw: Sum((draw.between(most // 2, most), draw.between(most // 2, most))),
    solve=add,
    verify=count_up,
    ask=lambda sum_: Draft(prompt=f"Add {sum_.summands[0]} and {sum_.summands[1]}."),
    grading=Grading("numeric", {}),
    right=lambda item: answers(item.answer),
    near_misses=lambda item: alone(*(f"ANSWER: {item.answer + off}" for off in (-20, -10, -2, -1, 1, 2, 10, 20))),
    shortcuts=lambda item: alone(f"ANSWER: {item.instance.summands[0]}"),
    effort=lambda sum_: max(sum_.summands).bit_length(),
    max_tokens=ALL,
    prompt_tokens=ALL,
    slots=ONE,
)

DOUBLE = "def double(values):\n    return [2 * value for value in values]\n"


def doubled(values):
    return {"args": [values], "returns": [2 * value for value in values]}


DOUBLING = replace(
    ADDING,
    name="coding/doubling",
    generate=lambda most, draw: Sum(tuple(draw.between(1, most) for _ in range(6))),
    solve=lambda sum_: [doubled(list(sum_.summands))],
    verify=lambda sum_: [{"args": [list(sum_.summands)], "returns": [value + value for value in sum_.summands]}],
    ask=lambda sum_: Draft(prompt=f"Write `double(values)`: each number twice as large. Not about {sum_.summands[0]}."),
    grading=Grading("program", {"entry": "double", "reference": DOUBLE}),
    right=lambda _: programs(DOUBLE),
    near_misses=lambda _: alone(*(f"```python\n{DOUBLE.replace('2', str(n))}```" for n in range(3, 11))),
    shortcuts=lambda _: alone("```python\ndef double(values):\n    return values\n```"),
    hidden=lambda _, draw: [doubled([draw.between(1, 10**9)])],
)


def never(program):
    raise AssertionError(f"a program ran: {program}")


def found(run=never, family=ADDING, **fault):
    """The broken laws of a sound family with a fault planted, without the places."""
    return sorted({line.partition(": ")[2] for line in examine(replace(family, **fault), run, BRIEF).problems})
