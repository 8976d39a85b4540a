"""Keep the book of a small harbour: who lies at which berth, who waits, who was turned away.

A stateful simulation whose events touch each other: a departure lets the next ship in, a waiting ship may give up,
and on the hard level the clock sends ships away. The answers come from a book of lists; they are derived again from
the life of each ship, where berths and waiting line are only ever computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from crucibleforge.families._kit import Dialogues, Draft, Draw, Family, code_dressings, said
from crucibleforge.types import Grading

SHIPS = ("Avel", "Brisk", "Corvel", "Dunlin", "Ember", "Fulmar", "Gannet", "Heron")


@dataclass(frozen=True)
class Params:
    """`waits`: there is a waiting line; `sends_away`: the longest guest must go now and then."""

    waits: bool = False
    sends_away: bool = False


@dataclass(frozen=True)
class Rule:
    """`line` is how many ships may wait; after every `every`-th event one must go (0: never)."""

    berths: int
    line: int
    every: int
    waits: bool


Event = list[str]


def make(params: Params, draw: Draw) -> Draft:
    """Draw a harbour and the days that tell its rules from their look-alikes."""
    rule = Rule(
        berths=draw.between(2, 3),
        line=draw.between(2, 3) if params.waits else 0,
        every=draw.between(4, 5) if params.sends_away else 0,
        waits=params.waits,
    )
    names = draw.shuffled(SHIPS)
    example = draw.until(lambda: _telling(rule, _random_day(draw, names[: rule.berths + 2], 8)))
    days = [*_edge_days(rule, names), *(_random_day(draw, names, size) for size in (12, 16, 24))]
    return Draft(
        prompt=_prompt(rule, example),
        expected=_calls(rule, days),
        instance=(rule, example),
        settings={"entry": "harbour", "reference": _source(rule)},
    )


def hidden(draft: Draft, draw: Draw) -> list[dict[str, Any]]:
    """Fresh days of other ships, on which departures matter."""
    rule: Rule = draft.instance[0]
    names = draw.shuffled(SHIPS)

    def day(size: int) -> list[Event]:
        return draw.until(lambda: _telling(rule, _random_day(draw, names, size)))

    return _calls(rule, [day(draw.between(low, low + 3)) for low in (10, 14, 18, 22)])


def _calls(rule: Rule, days: list[list[Event]]) -> list[dict[str, Any]]:
    return [{"args": [day], "returns": _kept(rule, day)} for day in days]


def _random_day(draw: Draw, names: list[str], size: int) -> list[Event]:
    return [[draw.pick(("arrive", "arrive", "arrive", "leave", "leave")), draw.pick(names)] for _ in range(size)]


def _telling(rule: Rule, day: list[Event]) -> list[Event] | None:
    """The day, if its departures matter and somebody waits at its end."""
    kept = _kept(rule, day)
    stayed = _kept(rule, [event for event in day if event[0] == "arrive"])
    return day if kept != stayed and (not rule.waits or kept[1]) else None


def _edge_days(rule: Rule, names: list[str]) -> list[list[Event]]:
    """No event; strangers and repeats; a full house; gaps filled from the lowest; one who gives up waiting."""
    full = [["arrive", name] for name in names[: rule.berths + rule.line + 2]]
    first, second = names[0], names[1]
    waiting = names[rule.berths]
    return [
        [],
        [["leave", first], ["arrive", first], ["arrive", first], ["arrive", second], ["leave", names[2]]],
        full,
        [*full[: rule.berths], ["leave", second], ["leave", first], ["arrive", names[-1]]],
        [*full[: rule.berths + 2], ["leave", waiting], ["leave", first]],
    ]


def _kept(rule: Rule, day: list[Event]) -> list[Any]:
    berths = [""] * rule.berths
    since: list[str] = []
    line: list[str] = []
    turned = 0
    for number, (kind, name) in enumerate(day, start=1):
        if kind == "leave":
            _leave(berths, since, line, name)
        elif name not in berths and name not in line:
            if "" in berths:
                berths[berths.index("")] = name
                since.append(name)
            elif len(line) < rule.line:
                line.append(name)
            else:
                turned += 1
        if rule.every and number % rule.every == 0 and since:
            _leave(berths, since, line, since[0])
    return [berths, line, turned] if rule.waits else berths


def _leave(berths: list[str], since: list[str], line: list[str], name: str) -> None:
    if name in line:
        line.remove(name)
    elif name in berths:
        since.remove(name)
        berth = berths.index(name)
        berths[berth] = line.pop(0) if line else ""
        if berths[berth]:
            since.append(berths[berth])


def _prompt(rule: Rule, example: list[Event]) -> str:
    parts = [
        (
            f"A harbour has {rule.berths} berths, numbered from 1, all free at first. Write a Python function "
            "`harbour(events)`. Each event is a list of two strings, the kind and the name of a ship."
        ),
        f'- `["arrive", name]`: the ship takes the free berth with the lowest number. {_when_full(rule)}',
        '- `["leave", name]`: the ship leaves the harbour' + _after_leaving(rule),
        "An arrival of a ship that is in the harbour already, and a departure of a ship that is not, change nothing.",
    ]
    if rule.every:
        parts.append(
            f"After events number {rule.every}, {2 * rule.every}, {3 * rule.every} and so on (counted from 1; events "
            "that change nothing count too), the ship that has been at its berth the longest leaves, as if by a leave "
            "event of its own, which is not counted. Time in the waiting line is not time at a berth. With no ship at "
            "a berth, nothing happens."
        )
    berths = f'a list of {rule.berths} strings, the ship at each berth from berth 1 on, or "" for a free berth'
    if rule.waits:
        parts.append(
            f"Return a list of three items: {berths}; the list of the waiting ships, first to last; the number of "
            "arrivals that were turned away."
        )
    else:
        parts.append(f"Return {berths}.")
    parts += [
        f"Example: `harbour({example})` returns `{_kept(rule, example)}`.",
        "Reply with the function in one Python code block.",
    ]
    return "\n".join(parts)


def _when_full(rule: Rule) -> str:
    if not rule.waits:
        return "When no berth is free, it is turned away and is not in the harbour."
    return (
        "When no berth is free, it goes to the end of the waiting line and is in the harbour as well. When "
        f"{rule.line} ships are waiting already, it is turned away and is not in the harbour."
    )


def _after_leaving(rule: Rule) -> str:
    if not rule.waits:
        return " and its berth is free again."
    return ", from its berth or from the waiting line. The first ship of the waiting line at once takes a freed berth."


@dataclass(frozen=True)
class _Stay:
    """A ship in the harbour since event `came`; `berth` 0 means waiting; `moored` counts moorings of the whole day."""

    came: int
    berth: int = 0
    moored: int = 0


def rederive(draft: Draft) -> list[dict[str, Any]]:
    """Follow each ship's stay; who lies where and who is next follow from the numbers."""
    rule: Rule = draft.instance[0]
    return [{"args": call["args"], "returns": _by_stays(rule, call["args"][0])} for call in draft.expected]


def _by_stays(rule: Rule, day: list[Event]) -> list[Any]:
    stays: dict[str, _Stay] = {}
    turned = moorings = 0
    for number, (kind, name) in enumerate(day, start=1):
        if kind == "arrive" and name not in stays:
            # One more than may stay: whoever waits in vain after mooring is turned away.
            stays[name] = _Stay(number)
        elif kind == "leave":
            stays.pop(name, None)
        stays, moorings = _moor(rule, stays, moorings)
        if sum(stay.berth == 0 for stay in stays.values()) > rule.line:
            del stays[name]
            turned += 1
        guests = {ship: stay for ship, stay in stays.items() if stay.berth}
        if rule.every and number % rule.every == 0 and guests:
            del stays[min(guests, key=lambda ship: guests[ship].moored)]
            stays, moorings = _moor(rule, stays, moorings)
    at = {stay.berth: ship for ship, stay in stays.items() if stay.berth}
    berths = [at.get(berth, "") for berth in range(1, rule.berths + 1)]
    waiting = sorted((ship for ship, stay in stays.items() if not stay.berth), key=lambda ship: stays[ship].came)
    return [berths, waiting, turned] if rule.waits else berths


def _moor(rule: Rule, stays: dict[str, _Stay], moorings: int) -> tuple[dict[str, _Stay], int]:
    """Give the free berth, if any, to the ship that came first of those waiting; an event frees one at most."""
    free = [b for b in range(1, rule.berths + 1) if all(stay.berth != b for stay in stays.values())]
    waiting = [ship for ship, stay in stays.items() if not stay.berth]
    if not free or not waiting:
        return stays, moorings
    ship = min(waiting, key=lambda name: stays[name].came)
    return stays | {ship: replace(stays[ship], berth=free[0], moored=moorings + 1)}, moorings + 1


_SOURCE = """\
def harbour(events):
    berths = [""] * BERTHS
    since = []
    line = []
    turned = 0

    def leave(name):
        if name in line:
            line.remove(name)
        elif name in since:
            since.remove(name)
            berth = berths.index(name)
            berths[berth] = ""
            if line:
                moor(line.pop(0), berth)

    def moor(name, berth):
        berths[berth] = name
        since.append(name)

    for number, (kind, name) in enumerate(events, start=1):
        if kind == "leave":
            leave(name)
        elif name not in since and name not in line:
            free = [i for i in range(BERTHS) if not berths[i]]
            if free:
                moor(name, free[0])
            elif len(line) < LINE:
                line.append(name)
            else:
                turned += 1
        if EVERY and number % EVERY == 0 and since:
            leave(since[0])
    return RESULT
"""


def _source(rule: Rule) -> str:
    result = "[berths, line, turned]" if rule.waits else "berths"
    source = _SOURCE.replace("BERTHS", str(rule.berths)).replace("LINE", str(rule.line)).replace("RESULT", result)
    if rule.every:
        return source.replace("EVERY", str(rule.every))
    return source.replace("        if EVERY and number % EVERY == 0 and since:\n            leave(since[0])\n", "")


def right(draft: Draft) -> Dialogues:
    """The reference program in several dressings."""
    return tuple((reply,) for reply in code_dressings(_source(draft.instance[0])))


def wrong(draft: Draft) -> Dialogues:
    """Highest berth first, repeats let in, departures of strangers crash, print for return, the example by heart."""
    rule, example = draft.instance
    source = _source(rule)
    programs = [
        source.replace("free[0]", "free[-1]"),
        source.replace("elif name not in since and name not in line:", "else:"),
        source.replace("elif name in since:", "else:"),
        f"{source}\n\nsolved = harbour\n\n\ndef harbour(events):\n    print(solved(events))\n",
        f"def harbour(events):\n    return {_kept(rule, example)}\n",
    ]
    if rule.waits:
        programs += [
            source.replace("            if line:\n                moor(line.pop(0), berth)\n", ""),
            source.replace(f"len(line) < {rule.line}", f"len(line) <= {rule.line}"),
        ]
    if rule.every:
        programs.append(source.replace("leave(since[0])", "leave(since[-1])"))
    return tuple((said(f"```python\n{program}```"),) for program in programs)


FAMILY = Family(
    name="coding/berth-desk",
    levels={"easy": Params(), "medium": Params(waits=True), "hard": Params(waits=True, sends_away=True)},
    make=make,
    grading=Grading("program", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 400, "medium": 500, "hard": 700},
    prompt_tokens={"easy": 400, "medium": 560, "hard": 700},
    hidden=hidden,
)
