"""Follow a chain of records to the one that is meant, and change that one.

No id can be known before the record above it was read. Names are shared by several members, some of whom can only be
told apart by what is below them; records that nearly fit lead to ends that look right; ids are the same digits in
another order. The target is found by going down from the name, and again by asking of every record on the last level
whether all that is above it fits: just one may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from crucibleforge.chat import Reply
from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, called, said
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.tooluse._trail import (
    GIVEN,
    KINDS,
    LEVELS,
    REASONS,
    SURNAMES,
    TOWNS,
    Facts,
    Params,
    Row,
    date_of,
    told,
    tools,
    world,
)
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Trail:
    """A request and the records that it is about."""

    params: Params
    facts: Facts
    rows: tuple[Row, ...]


def generate(params: Params, draw: Draw) -> Trail:
    """Draw the facts, then records around them."""
    facts = Facts(
        name=f"{draw.pick(GIVEN)} {draw.pick(SURNAMES)}",
        town=draw.pick(TOWNS),
        joined=draw.between(2009, 2029),
        kind=draw.pick(KINDS),
        limit=draw.between(41, 290) * 100,
        latest=draw.chance(1, 2),
        before=draw.between(120, 160),
        reason=draw.below(len(REASONS)),
    )
    return Trail(params, facts, world(params, facts, draw))


def solve(trail: Trail) -> dict[str, Any]:
    """Go down from the name, keeping what fits."""
    found = [row for row in trail.rows if row.level == 0 and _is_meant(trail, row)]
    for level in range(1, trail.params.hops):
        found = [one for row in found for one in _chosen(trail, level, _below(trail, row))]
    (target,) = found
    return _changed(trail, target)


def _changed(trail: Trail, target: Row, reason: str = "") -> dict[str, Any]:
    level = LEVELS[target.level]
    arguments = {f"{level.noun}_id": target.id, "reason": reason or REASONS[trail.facts.reason][0]}
    return {"calls": [{"name": level.changes, "arguments": arguments}]}


def _below(trail: Trail, row: Row) -> list[Row]:
    return [one for one in trail.rows if one.parent == row.id]


def _is_meant(trail: Trail, member: Row) -> bool:
    field = "joined" if trail.params.dated else "town"
    return bool(member[field] == getattr(trail.facts, field))


def _chosen(trail: Trail, level: int, rows: list[Row]) -> list[Row]:
    """Those of a group that the request means: one, or none where the way is a dead end."""
    facts, params = trail.facts, trail.params
    match level:
        case 1:
            return [row for row in rows if row["kind"] == facts.kind and row["state"] == "open"]
        case 2:
            waiting = [row for row in rows if row["state"] == "waiting"]
            over = [row for row in waiting if row["total_cents"] > facts.limit or not params.picky]
            return sorted(over, key=lambda row: str(row["placed"]), reverse=facts.latest)[:1]
        case 3:
            heavy = sorted(rows, key=lambda row: int(row["grams"]), reverse=True)
            return heavy[1:2] if params.second else heavy[:1]
        case 4:
            early = [row for row in rows if row["set_out"] < date_of(facts.before)]
            return sorted(early, key=lambda row: str(row["set_out"]))[-1:]
        case _:
            return [row for row in rows if row["town"] == facts.town]


def verify(trail: Trail) -> dict[str, Any]:
    """Climb up from every record on the last level and ask whether each one on the way may be meant."""
    by_id = {row.id: row for row in trail.rows}
    deepest = trail.params.hops - 1
    fitting = []
    for row in trail.rows:
        way = [row]
        while way[-1].parent:
            way.append(by_id[way[-1].parent])
        if row.level == deepest and all(_may_be(trail, one, way[-1]) for one in way):
            fitting.append(row)
    if len(fitting) != 1:
        raise ValueError(f"{len(fitting)} records fit the request")
    noun = LEVELS[deepest].noun
    reason = [code for code, _ in REASONS][trail.facts.reason]
    return {"calls": [{"name": LEVELS[deepest].changes, "arguments": {f"{noun}_id": fitting[0].id, "reason": reason}}]}


def _may_be(trail: Trail, row: Row, member: Row) -> bool:
    """True when no fact excludes the record and none beside it is meant rather."""
    facts, params = trail.facts, trail.params
    beside = [one for one in trail.rows if one.parent == row.parent and one != row]
    match row.level:
        case 0:
            return bool(row["joined"] == facts.joined if params.dated else row["town"] == facts.town)
        case 1:
            return (row["kind"], row["state"]) == (facts.kind, "open")
        case 2:
            floor = facts.limit if params.picky else 0
            rivals = [one for one in beside if one["state"] == "waiting" and one["total_cents"] > floor]
            older = sum(one["placed"] < row["placed"] for one in rivals)
            is_first = older == (len(rivals) if facts.latest else 0)
            return bool(row["state"] == "waiting" and row["total_cents"] > floor and is_first)
        case 3:
            return sum(bool(one["grams"] > row["grams"]) for one in beside) == params.second
        case 4:
            end = date_of(facts.before)
            return bool(row["set_out"] < end and not any(row["set_out"] < one["set_out"] < end for one in beside))
        case _:
            return bool(row["town"] == member["town"])


_SYSTEM = (
    "You keep the records of a club store. Find out with the tools what you need and do what is asked, once, with the "
    "tool that does it. Change nothing else, and never guess an id."
)


def ask(trail: Trail) -> Draft:
    """The request, from the target up to the name."""
    params, facts = trail.params, trail.facts
    count = sum(row.level < params.hops - 1 for row in trail.rows)
    return Draft(
        prompt=_prompt(params, facts),
        system=_SYSTEM,
        tools=tools(params),
        answers=told(params, facts, trail.rows),
        max_rounds=params.hops + params.twins + 5,
        settings={"max_calls": min(count, 2 * params.hops + 4 * params.twins) + 8},
    )


def _prompt(params: Params, facts: Facts) -> str:
    who = facts.name
    if params.dated:
        who += f", the one who joined in {facts.joined}"
    elif params.homonyms:
        who += f", the one who lives in {facts.town}"
    when = "latest" if facts.latest else "earliest"
    floor = facts.limit // 100
    picked = f"of the orders that still wait and come to more than {floor} crowns the one that was placed {when}"
    phrases = (
        who,
        f"the open {facts.kind} account",
        picked if params.picky else "the only order that still waits",
        f"the {'second heaviest' if params.second else 'heaviest'} parcel",
        f"the last trip that set out before {date_of(facts.before)}",
        "the stop in the town where this member lives",
    )
    way = "\n".join(f"- {phrase}" for phrase in phrases[: params.hops])
    level = LEVELS[params.hops - 1]
    money = " A crown has 100 cents." if params.picky and params.hops > 2 else ""
    twins = " Several members may have this name; only one of them has all that is listed." if params.twins else ""
    return (
        f"A member complains about {'an' if level.noun[0] in 'ao' else 'a'} {level.noun}: {REASONS[facts.reason][1]}. "
        f"This is the way to it, each below the one before:\n{way}\n"
        f"{level.does} this {level.noun}, with the reason that fits.{money}{twins}"
    )


def right(item: Item) -> Dialogues:
    """Step by step, several reads at once, dead ends first, broken and useless reads, with and without words."""
    trail: Trail = item.instance
    steps = [_called(one) for one in _reads(trail)]
    (change,) = item.answer["calls"]
    done, plain = _called(change), _json(change["arguments"])
    turned = _json(dict(reversed(change["arguments"].items())))
    again = _reads(trail)[-1]
    return (
        (*steps, done, said("It is done.")),
        (*steps, done),
        (*steps, done, said("")),
        (*(_called(one, text="Next I look here.") for one in _reads(trail)), _called(change, text="Now the change.")),
        (*steps, called((change["name"], turned)), said("Done, with the reason that fits.")),
        (*steps, called((change["name"], msgspec.json.format(plain, indent=2))), said("Done.")),
        (
            *(called((name, msgspec.json.format(_json(args), indent=1))) for name, args in map(_parts, _reads(trail))),
            done,
        ),
        (*steps, _called(again), done, _called(again), said("I looked once more: it is done.")),
        (called((LEVELS[0].lists, "{")), *steps, done, said("Done after one slip.")),
        (called((LEVELS[0].lists, _json({"name": "Nobody"}))), *steps, done, said("Found in the end.")),
        (*steps[:-1], called(_text(again), _text(again), _text(again)), done, said("Done.")),
        (*steps, called((change["name"], _json({"reason": change["arguments"]["reason"]}))), done, said("Done.")),
        (*steps, called(("show_log", "{}")), done, said("**Done.**")),
        (*steps, _called(change, text="<think>Is it another one? No.</think>\nThis is the one."), said("Done.")),
    )


def _reads(trail: Trail) -> list[dict[str, Any]]:
    """The reads that lead to the target, those of twins included."""
    calls: list[dict[str, Any]] = [{"name": LEVELS[0].lists, "arguments": {"name": trail.facts.name}}]
    found = [row for row in trail.rows if row.level == 0 and _is_meant(trail, row)]
    for level in range(1, trail.params.hops):
        calls += [{"name": LEVELS[level].lists, "arguments": {LEVELS[level].takes: row.id}} for row in found]
        found = [one for row in found for one in _chosen(trail, level, _below(trail, row))]
    return calls


def near_misses(item: Item) -> Dialogues:
    """Another record, another reason, the change twice or undone or of another kind, only words."""
    trail: Trail = item.instance
    steps = [_called(one) for one in _reads(trail)]
    (change,) = item.answer["calls"]
    done = _called(change)
    level = LEVELS[trail.params.hops - 1]
    key = f"{level.noun}_id"
    target = change["arguments"][key]
    others = [row for row in trail.rows if row.level == trail.params.hops - 1 and row.id != target]
    member = next(row for row in trail.rows if row.level == 0)
    reasons = [code for code, _ in REASONS if code != change["arguments"]["reason"]]
    plain = _json(change["arguments"])
    above = LEVELS[trail.params.hops - 2]
    return (
        *((*steps, _changing(trail, row), said("Done.")) for row in others[:12]),
        *((*steps, _changing(trail, trail_row, reason)) for reason in reasons for trail_row in _target(trail, target)),
        (*steps, done, done, said("Done.")),
        (*steps, called(_text(change), _text(change)), said("Done.")),
        (*steps, _changing(trail, others[0]), done, said("First I had the wrong one; now it is right.")),
        (*steps, done, _changing(trail, others[0]), said("Done.")),
        (*steps, done, called(("expel_member", _json({"member_id": member.id, "reason": reasons[0]}))), said("Done.")),
        (*steps, called((above.changes, _json({f"{above.noun}_id": _above(trail, target), "reason": reasons[0]})))),
        (*steps, called((level.changes, _json({key: target[:-2] + target[:-3:-1], "reason": reasons[0]})))),
        (*steps, called((level.changes, plain[:-1])), said("Done.")),
        (*steps, said(f"The {level.noun} {target} is dealt with.")),
        (*steps, said(f'<tool_call>{{"name": "{level.changes}", "arguments": {plain}}}</tool_call>')),
        (*steps[:1] * 60, *steps, done, said("Done.")),
    )


def _target(trail: Trail, target: str) -> list[Row]:
    return [row for row in trail.rows if row.id == target]


def _above(trail: Trail, target: str) -> str:
    return _target(trail, target)[0].parent


def _changing(trail: Trail, row: Row, reason: str = "") -> Reply:
    return _called(_changed(trail, row, reason)["calls"][0])


def shortcuts(item: Item) -> Dialogues:
    """The first tool with a guess, every tool, the first record of each list, the last one, a refusal, only words."""
    trail: Trail = item.instance
    guess = {"reason": REASONS[0][0]}
    every = [(level.changes, _json({f"{level.noun}_id": trail.rows[0].id, **guess})) for level in LEVELS]
    return (
        (called(("expel_member", _json({"member_id": trail.facts.name, **guess}))),),
        (called(*every[: trail.params.hops]),),
        *((_changing(trail, _blindly(trail, place), REASONS[0][0]), said("Done.")) for place in (0, -1)),
        *alone("I may not change records.", f"The {LEVELS[trail.params.hops - 1].noun} is dealt with."),
    )


def _blindly(trail: Trail, place: int) -> Row:
    """Always the first record of a list, or the last; where a list is empty, any record of the last level."""
    parent = ""
    for _ in range(trail.params.hops):
        listed = [row for row in trail.rows if row.parent == parent]
        if not listed:
            return next(row for row in trail.rows if row.level == trail.params.hops - 1)
        row = listed[place]
        parent = row.id
    return row


def _called(call: dict[str, Any], text: str = "") -> Reply:
    return called(_text(call), text=text)


def _parts(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return call["name"], call["arguments"]


def _text(call: dict[str, Any]) -> tuple[str, str]:
    return call["name"], _json(call["arguments"])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def effort(trail: Trail) -> float:
    """Records that one has to look at."""
    read = len(_reads(trail))
    return read + len(trail.rows) / 100


FAMILY = Family(
    name="tooluse/paper-trail",
    rungs={
        "L1": Params(hops=2),
        "L2": Params(hops=3, homonyms=1),
        "L3": Params(hops=4, homonyms=2, picky=True, second=True),
        "L4": Params(hops=5, homonyms=2, twins=1, picky=True, second=True),
        "L5": Params(hops=6, homonyms=2, twins=2, dated=True, picky=True, second=True),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("tools", {"reads": [level.lists for level in LEVELS]}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    chance=1 / 24,
    max_tokens={"L1": 256, "L2": 384, "L3": 512, "L4": 512, "L5": 512},
    prompt_tokens={"L1": 180, "L2": 220, "L3": 270, "L4": 330, "L5": 340},
)
