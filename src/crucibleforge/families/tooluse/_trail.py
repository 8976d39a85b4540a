"""The records of an invented club store: members, accounts, orders, parcels, trips, stops, each below another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import msgspec

from crucibleforge.chat import Tool, ToolAnswer
from crucibleforge.families._draw import Draw

GIVEN = (
    *("Adda", "Berit", "Corin", "Dovan", "Elske", "Farin", "Gerlin", "Hanke", "Ilvar", "Jorin", "Kaspa", "Lioba"),
    *("Merle", "Nilo", "Orla", "Pelle", "Quirin", "Runa", "Selke", "Tjark", "Ulrin", "Velda", "Wenke", "Yorick"),
)
SURNAMES = (
    *("Aldring", "Bessow", "Carnau", "Dreyling", "Embold", "Falkner", "Gressel", "Holting", "Imwold", "Jannow"),
    *("Kestler", "Lindrup", "Marwede", "Nordal", "Ostrin", "Prewitz", "Quastel", "Rehling", "Sanders", "Tolvin"),
)
TOWNS = (
    *("Ahrby", "Brunsel", "Colden", "Dornum", "Elmrade", "Fossby", "Grelle", "Hornsel", "Immen", "Jarby", "Kolmar"),
    *("Lehrte", "Morsum", "Nebel", "Osten", "Plaue", "Rantum", "Stoven", "Tating", "Uelby", "Vorden", "Wrist"),
)
KINDS = ("workshop", "garden", "kitchen", "sailing", "printing", "beekeeping")
REASONS = (
    ("duplicate", "there is a second one just like it"),
    ("unknown", "the member knows nothing of it"),
    ("wrong_name", "it bears somebody else's name"),
    ("unpaid", "nobody has paid for it"),
)


@dataclass(frozen=True)
class Level:
    """One kind of record: its letter and names, the tool that lists those below a parent, the tool that changes one."""

    letter: str
    noun: str
    lists: str
    takes: str
    changes: str
    does: str


LEVELS = (
    Level("M", "member", "find_members", "name", "expel_member", "Expel"),
    Level("A", "account", "list_accounts", "member_id", "suspend_account", "Suspend"),
    Level("O", "order", "list_orders", "account_id", "cancel_order", "Cancel"),
    Level("P", "parcel", "list_parcels", "order_id", "recall_parcel", "Recall"),
    Level("T", "trip", "list_trips", "parcel_id", "dispute_trip", "Dispute"),
    Level("S", "stop", "list_stops", "trip_id", "reopen_stop", "Reopen"),
)


Fields = tuple[tuple[str, str | int], ...]


@dataclass(frozen=True)
class Params:
    """`hops` levels lead to the target. `homonyms` of the member are told apart by the request, `twins` only later.

    `dated` requests tell homonyms apart by their year and not by their town; `picky` ones choose among several orders
    that wait; `second` ones want the second heaviest parcel.
    """

    hops: int
    homonyms: int = 0
    twins: int = 0
    dated: bool = False
    picky: bool = False
    second: bool = False


@dataclass(frozen=True)
class Facts:
    """What the request says, and a little more. `before` is a day of 2031, `limit` cents, `reason` a place."""

    name: str
    town: str
    joined: int
    kind: str
    limit: int
    latest: bool
    before: int
    reason: int


@dataclass(frozen=True)
class Row:
    """A record below another; `fields` are shown beside its id."""

    id: str
    parent: str
    level: int
    fields: Fields

    def __getitem__(self, name: str) -> Any:
        return next(value for field, value in self.fields if field == name)


@dataclass(frozen=True)
class _Growing:
    """Records in the making; `home` is the town of the member that they belong to."""

    params: Params
    facts: Facts
    draw: Draw
    ids: dict[str, Iterator[str]]
    rows: list[Row]
    home: str = ""

    def add(self, level: int, parent: str, fields: Fields) -> Row:
        row = Row(next(self.ids[LEVELS[level].letter]), parent, level, fields)
        self.rows.append(row)
        return row

    def line(self, parent: Row) -> None:
        """All that is below a record: a group on each level, below its first record the next one."""
        if parent.level + 1 < self.params.hops:
            found = _GROUPS[parent.level](self)
            rows = [self.add(parent.level + 1, parent.id, fields) for fields in found]
            self.line(rows[0])


def world(params: Params, facts: Facts, draw: Draw) -> tuple[Row, ...]:
    """All records, in the order in which they are listed.

    The homonyms lead to ends that look right. Twins have no open account of the right kind; the member has a closed
    one, which leads on to a wrong end.
    """
    digits = draw.sample(range(1, 10), 5)
    orders = list(permutations(digits))
    ids = {
        level.letter: iter([f"{level.letter}-{''.join(map(str, order))}" for order in draw.shuffled(orders)])
        for level in LEVELS[: params.hops]
    }
    growing = _Growing(params, facts, draw, ids, [], facts.town)
    member = growing.add(0, "", _member(facts.name, facts.town, facts.joined))
    growing.line(member)
    if params.homonyms:
        closed = growing.add(1, member.id, _account(facts.kind, "closed"))
        growing.line(closed)
    towns = iter(draw.sample([town for town in TOWNS if town != facts.town], params.homonyms + params.twins))
    years = iter(draw.sample([year for year in range(2009, 2030) if year != facts.joined], 6))
    for _ in range(params.homonyms):
        other = replace(growing, home=next(towns))
        other.line(other.add(0, "", _member(facts.name, other.home, next(years))))
    for _ in range(params.twins):
        town, year = (next(towns), facts.joined) if params.dated else (facts.town, next(years))
        twin = growing.add(0, "", _member(facts.name, town, year))
        closed = growing.add(1, twin.id, _account(facts.kind, "closed"))
        growing.add(1, twin.id, _account(draw.pick([kind for kind in KINDS if kind != facts.kind]), "open"))
        replace(growing, home=town).line(closed)
    return tuple(draw.shuffled(growing.rows))


def _member(name: str, town: str, joined: int) -> Fields:
    return (("name", name), ("town", town), ("joined", joined))


def _account(kind: str, state: str) -> Fields:
    return (("kind", kind), ("state", state))


def _accounts(of: _Growing) -> list[Fields]:
    others = of.draw.sample([kind for kind in KINDS if kind != of.facts.kind], 5 if of.params.hops == 2 else 2)
    return [_account(kind, "open") for kind in (of.facts.kind, *others)]


def _orders(of: _Growing) -> list[Fields]:
    days = sorted(of.draw.sample(range(40, 110), 5), reverse=of.facts.latest)
    totals = [of.facts.limit + of.draw.between(1, 9000) for _ in days]
    if not of.params.picky:
        first, *others = zip(days, totals, strict=True)
        return [_order(*first, "waiting"), *(_order(*one, "sent") for one in others)]
    # The first two days have what comes near: a waiting order that costs too little, a costly one that is sent.
    totals[0] = of.facts.limit - of.draw.between(0, 40)
    states = ("waiting", "sent", "waiting", "waiting", "waiting")
    found = [_order(*one) for one in zip(days, totals, states, strict=True)]
    return [found[2], *found[:2], *found[3:]]


def _order(day: int, total: int, state: str) -> Fields:
    return (("placed", date_of(day)), ("total_cents", total), ("state", state))


def _parcels(of: _Growing) -> list[Fields]:
    grams = sorted(_apart(of.draw, 4), reverse=True)
    first = grams.pop(1 if of.params.second else 0)
    return [(("grams", weight), ("packed_by", of.draw.pick(GIVEN))) for weight in (first, *grams)]


def _apart(draw: Draw, count: int) -> list[int]:
    """Different weights in grams; a sample of a long range would shuffle all of it."""
    found: list[int] = []
    while len(found) < count:
        weight = draw.between(800, 9_900)
        found += [weight] if weight not in found else []
    return found


def _trips(of: _Growing) -> list[Fields]:
    before = of.facts.before
    last, *earlier = sorted(of.draw.sample(range(before - 20, before), 3), reverse=True)
    days = (last, before, *earlier, before + of.draw.between(1, 9))
    return [(("set_out", date_of(day)), ("van", of.draw.between(11, 98))) for day in days]


def _stops(of: _Growing) -> list[Fields]:
    towns = [of.home, *of.draw.sample([town for town in TOWNS if town != of.home], 3)]
    return [(("town", town), ("minutes_late", of.draw.between(3, 95))) for town in towns]


_GROUPS: tuple[Callable[[_Growing], list[Fields]], ...] = (_accounts, _orders, _parcels, _trips, _stops)
"""What is below a record of each level; the first one of a group is the one that fits the request."""


def tools(params: Params) -> tuple[Tool, ...]:
    """A read for each level, a change for each level, the changes first."""
    levels = LEVELS[: params.hops]
    reason = {"type": "string", "enum": [code for code, _ in REASONS]}
    return (
        *(
            _tool(
                level.changes,
                f"{level.does} one {level.noun}. This takes effect at once.",
                {f"{level.noun}_id": _text(f"Id of the {level.noun}, like {level.letter}-00000"), "reason": reason},
            )
            for level in levels
        ),
        *(
            _tool(level.lists, _lists(number), {level.takes: _text(_meant(level))})
            for number, level in enumerate(levels)
        ),
    )


def _lists(number: int) -> str:
    if number == 0:
        return "Find all members of a name."
    above = LEVELS[number - 1].noun
    return f"List the {LEVELS[number].noun}s of {'an' if above[0] in 'ao' else 'a'} {above}, in no order."


def _meant(level: Level) -> str:
    return "Given name and surname" if level.takes == "name" else f"The {level.takes.removesuffix('_id')}'s id"


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}


def _tool(name: str, description: str, fields: dict[str, Any]) -> Tool:
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Tool(name, description, schema)


def told(params: Params, facts: Facts, rows: tuple[Row, ...]) -> tuple[ToolAnswer, ...]:
    """What the tools say: every read of a record that exists, and changes of records on the deepest level."""
    reason = REASONS[facts.reason][0]
    deepest = LEVELS[params.hops - 1]
    reads = [(LEVELS[0], facts.name, "")]
    reads += [(LEVELS[row.level + 1], row.id, row.id) for row in rows if row.level + 1 < params.hops]
    return (
        *(
            ToolAnswer(level.lists, {level.takes: asked}, _listed(level, [row for row in rows if row.parent == parent]))
            for level, asked, parent in reads
        ),
        *(
            ToolAnswer(deepest.changes, {f"{deepest.noun}_id": row.id, "reason": reason}, '{"done": true}')
            for row in rows
            if row.level == params.hops - 1
        ),
    )


def _listed(level: Level, rows: list[Row]) -> str:
    return msgspec.json.encode(
        {f"{level.noun}s": [{f"{level.noun}_id": row.id, **dict(row.fields)} for row in rows]}
    ).decode()


def date_of(day: int) -> str:
    """Day `day` of 2031 as a date; it lies in the first half of the year."""
    for month, length in enumerate((31, 28, 31, 30, 31, 30), 1):
        if day <= length:
            return f"2031-{month:02}-{day:02}"
        day -= length
    raise ValueError("no day of the first half of the year")
