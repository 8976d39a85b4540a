"""How many tickets carry exactly so many stamps?

Machines stamp arithmetic progressions whose periods share factors, so multiplying the periods overcounts; on the
hard level some pairs of machines never meet. The answer comes from inclusion and exclusion over progressions merged
by the Chinese remainder theorem; it is derived again by stamping every ticket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from math import gcd, lcm

from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Draw, Family, answer_dressings, said
from crucibleforge.types import Grading

Track = tuple[int, int]
"""First ticket and period of a machine; the first ticket is at most the period."""


@dataclass(frozen=True)
class Params:
    """`tickets` and `periods` are inclusive ranges, `stamps` is asked for; `offset`: machines start anywhere."""

    machines: int
    tickets: tuple[int, int]
    periods: tuple[int, int]
    stamps: int
    offset: bool = False


@dataclass(frozen=True)
class Instance:
    """`at_least` is the answer to the question misread."""

    last: int
    tracks: tuple[Track, ...]
    stamps: int
    at_least: int


def make(params: Params, draw: Draw) -> Draft:
    """Draw machines whose answer is neither small nor one of the prompt's numbers."""
    return draw.until(lambda: _fitting(params, draw))


def _fitting(params: Params, draw: Draw) -> Draft | None:
    last = draw.between(*params.tickets)
    periods = draw.sample(range(params.periods[0], params.periods[1] + 1), params.machines)
    tracks = tuple((draw.between(1, period) if params.offset else period, period) for period in periods)
    shared = [gcd(*pair) > 1 for pair in combinations(periods, 2)]
    nested = [max(pair) % min(pair) == 0 for pair in combinations(periods, 2)]
    exactly, at_least = _counts(tracks, last, params.stamps)
    prompt = _prompt(last, tracks, params.stamps)
    if (
        not any(shared)
        or any(nested)
        or exactly < 4
        or exactly == at_least
        or str(exactly) in re.findall(r"\d+", prompt)
    ):
        return None
    return Draft(prompt=prompt, expected=exactly, instance=Instance(last, tracks, params.stamps, at_least))


def _prompt(last: int, tracks: tuple[Track, ...], stamps: int) -> str:
    machines = "\n".join(
        f"- Machine {name} stamps ticket {first} and then every {_ordinal(period)} ticket after it: "
        f"{first}, {first + period}, {first + 2 * period} and so on."
        for name, (first, period) in zip("ABC", tracks, strict=False)
    )
    wanted = "exactly one stamp" if stamps == 1 else f"exactly {('two', 'three')[stamps - 2]} stamps"
    return (
        f"A roll holds tickets numbered from 1 to {last}. Every ticket runs through all of these machines:\n"
        f"{machines}\n"
        f"A machine puts at most one stamp on a ticket. How many tickets end up with {wanted}?\n{ANSWER_LINE}"
    )


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _counts(tracks: tuple[Track, ...], last: int, stamps: int) -> tuple[int, int]:
    """Tickets with exactly and with at least `stamps` stamps, by inclusion and exclusion."""
    met = [sum(_length(group, last) for group in combinations(tracks, size)) for size in range(len(tracks) + 1)]
    exact = [_exactly(met, count) for count in range(len(tracks) + 1)]
    return exact[stamps], sum(exact[stamps:])


def _exactly(met: list[int], count: int) -> int:
    total, sign, choose = 0, 1, 1
    for size in range(count, len(met)):
        total += sign * choose * met[size]
        sign, choose = -sign, choose * (size + 1) // (size + 1 - count)
    return total


def _length(group: tuple[Track, ...], last: int) -> int:
    """How many tickets from 1 to `last` every machine of the group stamps."""
    first, period = 1, 1
    for start, step in group:
        common = gcd(period, step)
        if (start - first) % common:
            return 0
        turns = (start - first) // common * pow(period // common, -1, step // common) % (step // common)
        first, period = first + turns * period, lcm(period, step)
    return (last - first) // period + 1 if first <= last else 0


def rederive(draft: Draft) -> int:
    """Stamp every ticket of the roll, one by one."""
    instance: Instance = draft.instance
    stamped = [0] * (instance.last + 1)
    for first, period in instance.tracks:
        for ticket in range(first, instance.last + 1, period):
            stamped[ticket] += 1
    return stamped[1:].count(instance.stamps)


def right(draft: Draft) -> Dialogues:
    """The number in several dressings."""
    return tuple((reply,) for reply in answer_dressings(draft.expected))


def wrong(draft: Draft) -> Dialogues:
    """Neighbours, the question misread as "at least", and no answer."""
    near = (draft.expected + 1, draft.expected - 1, draft.instance.at_least)
    return (
        *((said(f"ANSWER: {value}"),) for value in near),
        (said(f"It is {draft.expected} or {draft.expected + 1}.\nANSWER: unknown"),),
        (said("The machines share some tickets, so I cannot tell."),),
    )


FAMILY = Family(
    name="math/stamped-tickets",
    levels={
        "easy": Params(machines=2, tickets=(60, 99), periods=(4, 12), stamps=1),
        "medium": Params(machines=3, tickets=(300, 600), periods=(4, 15), stamps=2),
        "hard": Params(machines=3, tickets=(2000, 5000), periods=(8, 30), stamps=1, offset=True),
    },
    make=make,
    grading=Grading("numeric", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 300, "medium": 400, "hard": 500},
    prompt_tokens={"easy": 200, "medium": 220, "hard": 240},
)
