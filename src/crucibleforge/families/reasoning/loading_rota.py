"""Loads, two bays, one crane: when can all be finished at the earliest, and when must one of the loads start then?

On the hard rungs neither the longest chain nor the work of a bay tells the answer, and taking loads as they become
possible misses it, be it by the list, the longest or the shortest first. The asked start is proved the only one twice.

`solve` places loads in the order of their starts and backs out when it gets too late; `verify` goes through every
sequence in every bay and at the crane and takes longest paths, without cutting anything short. Between whole minutes
there is nothing to find: of a schedule with fractions both the one rounded down and the one rounded up are schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations, product
from typing import NamedTuple

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.reasoning._rota import (
    NAMES,
    Load,
    Rota,
    bay_work,
    facts,
    longest_chain,
    looser,
    numbers_of,
    rules,
)
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Params:
    """Of a rung: how many loads there are, may go into either bay, wait for another, are not ready, need the crane.

    The rest says which rules there are; `asked`: the start of a load is asked too, and no shortcut tells the finish.
    """

    loads: int
    free: int
    after: int
    ready: int = 0
    crane: int = 0
    wash: bool = False
    due: bool = False
    asked: bool = False


_MINUTES = (4, 30)


def generate(params: Params, draw: Draw) -> Rota:
    """Draw rotas until the answer is the only one and no simple reckoning finds it."""
    return draw.until(lambda: _telling(params, _drawn(params, draw), draw), tries=5000)


def _drawn(params: Params, draw: Draw) -> Rota:
    count = params.loads
    free, late, craned = (draw.sample(range(count), some) for some in (params.free, params.ready, params.crane))
    reds = draw.sample(range(count), count // 2) if params.wash else []
    loads = []
    for number, name in enumerate(draw.sample(NAMES, count)):
        bay, minutes = draw.below(2), [draw.between(*_MINUTES), draw.between(*_MINUTES)]
        if number not in free:
            minutes[bay] = 0
        ready = draw.between(5, 40) if number in late else 0
        loads.append(Load(name, (minutes[0], minutes[1]), ready, 0, number in craned, number in reds))
    places = draw.sample([(one, other) for other in range(count) for one in range(other)], params.after)
    names = draw.shuffled(range(count))
    after = tuple(sorted((names[one], names[other]) for one, other in places))
    return Rota(tuple(loads), after, draw.between(3, 12) if params.wash else 0)


def _telling(params: Params, rota: Rota, draw: Draw) -> Rota | None:
    placed = _best(rota)
    if params.due and placed is not None:
        rota, without = _hurried(rota, placed, draw), _end(placed)
        placed = _best(rota)
        if placed is not None and _end(placed) == without:
            return None
    finish, numbers = _end(placed or ()), numbers_of(rota)
    if placed is None or finish in numbers or finish in _too_simple(rota, deep=params.asked):
        return None
    if not params.asked:
        return rota
    ranges = enumerate(_ranges(rota, finish))
    fixed = [number for number, (low, high) in ranges if low == high and low not in numbers]
    return replace(rota, asked=draw.pick(fixed)) if fixed else None


def _hurried(rota: Rota, placed: tuple[Placed, ...], draw: Draw) -> Rota:
    """The rota with a load that must be finished sooner than it would be."""
    one = draw.pick(placed)
    load = rota.loads[one.load]
    soonest = load.ready + max(load.minutes)
    hurried = replace(load, due=draw.between(min(soonest, one.end), one.end) - 1)
    return replace(rota, loads=(*rota.loads[: one.load], hurried, *rota.loads[one.load + 1 :]))


def _too_simple(rota: Rota, *, deep: bool) -> list[int]:
    """Finishes by simple reckoning; `deep`: by more than adding up."""
    least = [load.quickest for load in rota.loads]
    simple = [sum(least), -(-sum(least) // 2), max(least)]
    return [*simple, longest_chain(rota), *bay_work(rota), *_greedy(rota)] if deep else simple


def _greedy(rota: Rota) -> list[int]:
    """Finishes when of the loads that can start first one is taken: the first listed, the longest, the shortest."""
    longest = [max(load.minutes) for load in rota.loads]
    found = []
    for rank in (list(range(len(longest))), [-minutes for minutes in longest], longest):
        placed: list[Placed] = []
        while len(placed) < len(longest):
            nexts = _nexts(rota, placed)
            placed.append(min(nexts, key=lambda one: (one.start, rank[one.load], one.end)))
        found.append(_end(placed))
    return found


class Placed(NamedTuple):
    """A load in a bay, in minutes from opening."""

    load: int
    bay: int
    start: int
    end: int


def solve(rota: Rota) -> list[int]:
    """The earliest finish and, if asked, the one start.

    Raises:
        ValueError: no rota keeps the rules, or the start is open.
    """
    placed = _best(rota)
    if placed is None:
        raise ValueError("no rota keeps the rules")
    finish = _end(placed)
    if rota.asked < 0:
        return [finish]
    low, high = _ranges(rota, finish)[rota.asked]
    if low != high:
        raise ValueError(f"it may start at {low} or at {high}")
    return [finish, low]


def _nexts(rota: Rota, placed: Sequence[Placed]) -> Iterator[Placed]:
    """All ways to place one more load as early as those before it allow."""
    ends = {one.load: one.end for one in placed}
    last = {one.bay: one for one in placed}
    crane = max([one.end for one in placed if rota.loads[one.load].crane], default=0)
    free = [max(load.ready, crane * load.crane) for load in rota.loads]
    blocked = list(ends)
    for first, then in rota.after:
        if first in ends:
            free[then] = max(free[then], ends[first])
        else:
            blocked.append(then)
    for number, load in enumerate(rota.loads):
        if number not in blocked:
            for bay, minutes in enumerate(load.minutes):
                if minutes:
                    start = free[number]
                    if bay in last:
                        is_washed = rota.loads[last[bay].load].red != load.red
                        start = max(start, last[bay].end + rota.wash * is_washed)
                    yield Placed(number, bay, start, start + minutes)


def _all_placed(rota: Rota, limit: int, placed: tuple[Placed, ...] = ()) -> Iterator[tuple[Placed, ...]]:
    """Every sequence that ends by the limit, in the order of starts."""
    if len(placed) == len(rota.loads):
        yield placed
        return
    for longer in _longer(rota, limit, placed):
        yield from _all_placed(rota, limit, longer)


def _longer(rota: Rota, limit: int, placed: tuple[Placed, ...]) -> Iterator[tuple[Placed, ...]]:
    # The soonest first, so that the first rota found is near the best one.
    for one in sorted(_nexts(rota, placed), key=lambda one: (one.start, one.end)):
        due = rota.loads[one.load].due or limit
        if one.end <= min(due, limit) and (not placed or one.start >= placed[-1].start):
            longer = (*placed, one)
            if _has_room(rota, limit, longer):
                yield longer


def _has_room(rota: Rota, limit: int, placed: tuple[Placed, ...]) -> bool:
    """False if the loads that are left, which start no sooner than the last one, are more than a bay can take."""
    ends = [placed[-1].start] * 2
    for one in placed:
        ends[one.bay] = max(ends[one.bay], one.end)
    done = [one.load for one in placed]
    left = [load for number, load in enumerate(rota.loads) if number not in done]
    bound = [sum(load.minutes[bay] for load in left if not load.minutes[1 - bay]) for bay in range(2)]
    return (
        all(end + minutes <= limit for end, minutes in zip(ends, bound, strict=True) if minutes)
        and sum(ends) + sum(load.quickest for load in left) <= 2 * limit
    )


def _best(rota: Rota) -> tuple[Placed, ...] | None:
    """A rota with the earliest finish, None if none keeps the rules."""
    limit = sum(load.ready + max(load.minutes) + rota.wash for load in rota.loads)
    best: tuple[Placed, ...] | None = None
    begun: list[tuple[Placed, ...]] = [()]
    while begun:
        placed = begun.pop()
        if _end(placed) > limit:
            continue
        if len(placed) == len(rota.loads):
            best, limit = placed, _end(placed) - 1
        else:
            begun += reversed(list(_longer(rota, limit, placed)))
    return best


def _end(placed: Sequence[Placed]) -> int:
    return max((one.end for one in placed), default=0)


def _ranges(rota: Rota, finish: int) -> list[tuple[int, int]]:
    """The earliest and the latest start of every load over all rotas that end by the finish."""
    ranges = [(finish, 0)] * len(rota.loads)
    for placed in _all_placed(rota, finish):
        for number, (one, latest) in enumerate(zip(placed, _latest(rota, placed, finish), strict=True)):
            low, high = ranges[placed[number].load]
            ranges[one.load] = (min(low, one.start), max(high, latest))
    return ranges


def _latest(rota: Rota, placed: tuple[Placed, ...], finish: int) -> list[int]:
    """How late each may start when the sequence stays."""
    latest: list[int] = []
    for place in range(len(placed) - 1, -1, -1):
        one = placed[place]
        load = rota.loads[one.load]
        by = min(finish, load.due or finish)
        for other, start in zip(placed[place + 1 :], reversed(latest), strict=True):
            follower = rota.loads[other.load]
            if (one.load, other.load) in rota.after or (load.crane and follower.crane):
                by = min(by, start)
            if one.bay == other.bay:
                by = min(by, start - rota.wash * (load.red != follower.red))
        latest.append(by - (one.end - one.start))
    return latest[::-1]


def verify(rota: Rota) -> list[int]:
    """Go through all sequences and keep the span of starts at the earliest finish.

    Raises:
        ValueError: the start is open.
    """
    found: dict[int, set[int]] = {}
    for bays in product(range(2), repeat=len(rota.loads)):
        minutes = [load.minutes[bay] for load, bay in zip(rota.loads, bays, strict=True)]
        if all(minutes):
            for arcs in _sequences(rota, bays, minutes):
                early = _pushed(rota, arcs, minutes)
                if early is not None:
                    end = max(start + length for start, length in zip(early, minutes, strict=True))
                    if end <= min(found, default=end):
                        found.setdefault(end, set()).update(_span(rota, arcs, minutes, end, early))
    best = min(found)
    if rota.asked < 0:
        return [best]
    if len(found[best]) != 1:
        raise ValueError(f"it may start at any of {sorted(found[best])}")
    return [best, *found[best]]


Arc = tuple[int, int, int]
"""A load, one that starts later, and by how many minutes at least."""


def _sequences(rota: Rota, bays: tuple[int, ...], minutes: list[int]) -> Iterator[list[Arc]]:
    members = [[load for load, at in enumerate(bays) if at == bay] for bay in range(2)]
    craned = [number for number, load in enumerate(rota.loads) if load.crane]
    waits = [(first, then, minutes[first]) for first, then in rota.after]
    for *rows, hung in product(*map(permutations, (*members, craned))):
        arcs = [*waits, *((one, other, minutes[one]) for one, other in pairwise(hung))]
        for row in rows:
            for one, other in pairwise(row):
                is_washed = rota.loads[one].red is not rota.loads[other].red
                arcs.append((one, other, minutes[one] + (rota.wash if is_washed else 0)))
        yield arcs


def _pushed(rota: Rota, arcs: list[Arc], minutes: list[int]) -> list[int] | None:
    """Starts as early as the arcs allow; None if the arcs run in a circle or a load is late (Bellman and Ford)."""
    starts = [load.ready for load in rota.loads]
    for _ in range(len(starts) + 1):
        moved = False
        for one, other, length in arcs:
            if starts[other] < starts[one] + length:
                starts[other], moved = starts[one] + length, True
        if not moved:
            kept = (
                not load.due or start + length <= load.due
                for load, start, length in zip(rota.loads, starts, minutes, strict=True)
            )
            return starts if all(kept) else None
    return None


def _span(rota: Rota, arcs: list[Arc], minutes: list[int], end: int, early: list[int]) -> range:
    """The starts of the asked load that this sequence allows."""
    if rota.asked < 0:
        return range(0)
    late = [min(end, load.due or end) - length for load, length in zip(rota.loads, minutes, strict=True)]
    for _ in rota.loads:
        for one, other, length in arcs:
            late[one] = min(late[one], late[other] - length)
    return range(early[rota.asked], late[rota.asked] + 1)


def ask(rota: Rota) -> Draft:
    """The bays, the loads, the rules, the question."""
    scene = (
        "A depot has two bays, North and South. A bay handles one load at a time, each without a break, and the next "
        "may start at the minute at which the one before is finished. Nothing starts before minute 0: a load of 9 "
        "minutes that starts at minute 0 is finished at minute 9. All starts are whole minutes. The loads:"
    )
    loads = [f"- {load.name}: {'; '.join(facts(rota, load))}" for load in rota.loads]
    question = "What is the earliest minute at which all loads can be finished?"
    form = "The value is one number."
    if rota.asked >= 0:
        name = rota.loads[rota.asked].name
        question += f" And if all are finished by then, at which minute does {name} start (only one is possible)?"
        form = "The value is the two numbers in this order, separated by a comma."
    return Draft(prompt="\n".join([scene, *loads, *rules(rota), f"{question} {form}", ANSWER_LINE]))


def right(item: Item) -> Dialogues:
    """The numbers in several dressings."""
    value = ", ".join(map(str, item.answer))
    minutes = ", ".join(f"{number} minutes" for number in item.answer)
    return (
        *answers(value),
        *alone(f"ANSWER: {minutes}", f"ANSWER: [{value}]", f"ANSWER: {value.replace(', ', ' and ')}"),
    )


def near_misses(item: Item) -> Dialogues:
    """A rule overlooked, a hasty reckoning, a number too large or small, missing, too much, or in the wrong place."""
    rota: Rota = item.instance
    finish, *start = item.answer
    simple = [*_too_simple(rota, deep=True), *(_end(placed) for placed in map(_best, looser(rota)) if placed)]
    simple += [finish + off for off in (-10, -2, -1, 1, 2, 5, 10)]
    wrong = [[value, *start] for value in simple] + [[finish, *(at + off for at in start)] for off in (-1, 1)]
    wrong += [[*start, finish], [*item.answer, 0], start, [finish, *(0 for _ in start)]]
    return alone(*dict.fromkeys(f"ANSWER: {', '.join(map(str, one))}" for one in wrong if one and one != item.answer))


def shortcuts(item: Item) -> Dialogues:
    """Sums and, on the hard rungs, longest chains and hasty rotas; the start is right in all of them."""
    rota: Rota = item.instance
    finish, *start = item.answer
    finishes = (_too_simple(rota, deep=bool(start)) * 3)[:9]
    return alone(*(f"ANSWER: {', '.join(map(str, [one, *start]))}" for one in finishes), f"ANSWER: {finish}, 0")


def effort(rota: Rota) -> float:
    """Partial rotas to look at until it is proved that nothing finishes earlier."""
    limit, tried = _end(_best(rota) or ()) - 1, 0
    level: list[tuple[Placed, ...]] = [()]
    while level:
        level = [longer for placed in level for longer in _longer(rota, limit, placed)]
        tried += len(level)
    return tried


FAMILY = Family(
    name="reasoning/loading-rota",
    rungs={
        "L1": Params(loads=3, free=0, after=1),
        "L2": Params(loads=4, free=1, after=1, crane=2),
        "L3": Params(loads=5, free=2, after=2, ready=1, crane=2, asked=True),
        "L4": Params(loads=6, free=2, after=2, ready=1, crane=3, wash=True, asked=True),
        "L5": Params(loads=6, free=3, after=2, ready=2, crane=3, wash=True, due=True, asked=True),
    },
    small=Params(loads=4, free=2, after=1, ready=1, crane=2, wash=True, due=True),
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("exact", {"kind": "tuple", "units": ["minute", "min"]}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens={"L1": 300, "L2": 400, "L3": 500, "L4": 700, "L5": 750},
    cost=3,
)
