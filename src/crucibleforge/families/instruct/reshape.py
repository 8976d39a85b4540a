"""A small log to typed JSON: rename, convert, round half to even, correct, filter, order by two keys, group.

Weights stand in grams or kilograms and are asked for in kilograms with one decimal, and many lie just between two
values. Missing cells become null and have a place of their own in the order. On the upper rungs a later line about the
same id takes the place of an earlier one, or takes it back, before anything else is done.

`solve` goes by `decimal` and stable sorts; `verify` works on whole grams and finds each record's rank by counting.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.instruct._log import CANCELLED, HEAD, Log, Row, request
from crucibleforge.types import Grading

Record = dict[str, Any]


@dataclass(frozen=True)
class Params:
    """Rows, and which steps there are; `missing` cells, `ties` that lie between two rounded values."""

    rows: int
    filters: bool = False
    orders: tuple[str, ...] = ("",)
    missing: int = 0
    ties: int = 0
    rounds: bool = False
    corrections: int = 0
    groups: bool = False


_PLACES = ("Ardley", "Bexcot", "Corvane", "Dunmere", "Elsworth", "Farrow", "Gildale", "Hexby", "Ingram", "Jarrow")
_NAMES = (
    ("code", "key", "ref", "tag"),
    ("site", "depot", "town", "stop"),
    ("count", "units", "items", "quantity"),
    ("mass", "load", "kilos", "weight_kg"),
)
_LETTERS = "BCDFGHKLMNPRTVWXZ"


def generate(params: Params, draw: Draw) -> Log:
    """Draw until each step changes the answer and something is left over."""
    return draw.until(lambda: _log(params, draw))


def _log(params: Params, draw: Draw) -> Log | None:
    ids = _ids(params.rows, draw)
    places = draw.sample(_PLACES, 3 if params.groups else min(4, params.rows))
    weights = [_grams(params, draw, is_tie=number < params.ties) for number in range(params.rows)]
    rows = [
        Row(one, draw.pick(places), str(draw.between(1, 40)), _shown(grams, params, draw))
        for one, grams in zip(ids, draw.shuffled(weights), strict=True)
    ]
    for number in draw.sample(range(params.rows), params.missing):
        one = rows[number]
        is_weight = params.rounds and draw.chance(1, 2)
        rows[number] = Row(one.id, one.place, one.pieces if is_weight else "", "" if is_weight else one.weight)
    for number in range(params.corrections):
        rows = _corrected(rows, number, params, draw)
    log = Log(
        rows=tuple(rows),
        names=tuple(draw.pick(names) for names in _NAMES),  # type: ignore[arg-type] # there are four
        least=draw.between(8, 20) if params.filters else 0,
        order=draw.pick(params.orders),
        rounds=params.rounds,
        corrects=params.corrections > 0,
        groups=params.groups,
    )
    return log if _is_fit(log) else None


def _ids(count: int, draw: Draw) -> list[str]:
    """Different ids, of which several share their digits."""
    made: dict[str, None] = {}
    while len(made) < count:
        made[draw.pick(_LETTERS) + draw.pick(_LETTERS) + str(draw.between(10, 99))] = None
    return list(made)


def _grams(params: Params, draw: Draw, *, is_tie: bool) -> int:
    if not params.rounds:
        return draw.between(2, 900) * 1000
    tenths = draw.between(4, 90)
    return tenths * 100 + (50 if is_tie else draw.pick((0, 10, 20, 30, 40, 60, 70, 80, 90)))


def _shown(grams: int, params: Params, draw: Draw) -> str:
    """In kilograms, or in grams on the rungs that round."""
    if not params.rounds:
        return f"{grams // 1000} kg"
    if draw.chance(1, 2):
        return f"{grams} g"
    return f"{grams // 1000}.{grams % 1000 // 10:02} kg"


def _corrected(rows: list[Row], number: int, params: Params, draw: Draw) -> list[Row]:
    """One more line about an id that is there; every third takes it back."""
    at = draw.below(len(rows) - 1)
    old = rows[at]
    if number % 3 == 2:
        new = Row(old.id, "", "", "", CANCELLED)
    else:
        weight = _shown(_grams(params, draw, is_tie=draw.chance(1, 2)), params, draw)
        new = Row(old.id, draw.pick([one.place for one in rows if one.place]), str(draw.between(1, 40)), weight)
    place = draw.between(at + 1, len(rows))
    return [*rows[:place], new, *rows[place:]]


def _is_fit(log: Log) -> bool:
    """Some records go and most stay; rounding and order matter; orders have ties to break."""
    answer = solve(log)
    if log.groups:
        return len(answer) >= 2 and any(len(one["list"]) > 1 for one in answer)
    seen = len({row.id for row in log.rows})
    if log.least and not (2 <= len(answer) <= seen - 1):
        return False
    if log.order and json.dumps(answer) == json.dumps(_records(log, order="")):
        return False
    return not log.rounds or json.dumps(answer) != json.dumps(_records(log, rounding=ROUND_HALF_UP))


def solve(log: Log) -> list[Record]:
    """Step by step as the prompt says."""
    return _records(log)


def _records(
    log: Log, *, rounding: str = ROUND_HALF_EVEN, order: str | None = None, least: int | None = None
) -> list[Record]:
    """The answer; the arguments are mistakes to be made."""
    rows = _last_rows(log) if log.corrects else list(log.rows)
    bound = log.least if least is None else least
    kept = [row for row in rows if not row.pieces or int(row.pieces) >= bound]
    order = log.order if order is None else order
    if order:
        kept.sort(key=lambda row: row.id)
    if order == "weight":
        kept.sort(key=lambda row: -(_kilograms(row.weight, rounding) or Decimal(0)))
        kept.sort(key=lambda row: not row.weight)
    elif order == "place":
        kept.sort(key=lambda row: -int(row.pieces or 0))
        kept.sort(key=lambda row: not row.pieces)
        kept.sort(key=lambda row: row.place)
    records = [(row, _record(row, log, rounding)) for row in kept]
    if not log.groups:
        return [record for _, record in records]
    place = log.names[1]
    grouped: list[Record] = []
    for name in sorted({row.place for row, _ in records}):
        inside = [record for row, record in records if row.place == name]
        total = sum((_kilograms(row.weight, rounding) or Decimal(0) for row, _ in records if row.place == name))
        members = [{key: value for key, value in one.items() if key != place} for one in inside]
        grouped.append({place: name, "total": float(total), "list": members})
    return grouped


def _last_rows(log: Log) -> list[Row]:
    """The last line about each id, in the place of the first; what was taken back is gone."""
    by_id: dict[str, Row] = {}
    for row in log.rows:
        by_id[row.id] = row
    return [row for row in by_id.values() if row.note != CANCELLED]


def _record(row: Row, log: Log, rounding: str) -> Record:
    weight = _kilograms(row.weight, rounding)
    asked = float(weight) if log.rounds and weight is not None else None if weight is None else int(weight)
    values = (row.id, row.place, int(row.pieces) if row.pieces else None, asked)
    return dict(zip(log.names, values, strict=True))


def _kilograms(text: str, rounding: str) -> Decimal | None:
    """One decimal."""
    if not text:
        return None
    amount, unit = text.split()
    exact = Decimal(amount) if unit == "kg" else Decimal(amount) / 1000
    return exact.quantize(Decimal("0.1"), rounding)


def verify(log: Log) -> list[Record]:
    """Whole numbers: tenths of kilograms from grams, the place of each record by counting those before it."""
    newest = {row.id: number for number, row in enumerate(log.rows)}
    oldest = {row.id: number for number, row in reversed(list(enumerate(log.rows)))}
    standing = [
        log.rows[newest[one]] for one in sorted(oldest, key=oldest.__getitem__) if log.rows[newest[one]].note == ""
    ]
    chosen = [row for row in standing if row.pieces == "" or log.least <= int(row.pieces)]
    ranked: list[Row | None] = [None] * len(chosen)
    for at, row in enumerate(chosen):
        before = sum(_precedes(other, row, log.order, is_above=number < at) for number, other in enumerate(chosen))
        ranked[before] = row
    ordered = [row for row in ranked if row is not None]
    if not log.groups:
        return [_typed(row, log) for row in ordered]
    answer: list[Record] = []
    for row in sorted(ordered, key=_place):
        if not answer or answer[-1][log.names[1]] != row.place:
            answer.append({log.names[1]: row.place, "total": 0, "list": []})
        member = _typed(row, log)
        del member[log.names[1]]
        answer[-1]["list"].append(member)
        answer[-1]["total"] += _tenths(row.weight) or 0
    return [{**one, "total": one["total"] / 10} for one in answer]


def _place(row: Row) -> str:
    return row.place


def _precedes(one: Row, other: Row, order: str, *, is_above: bool) -> bool:
    """True when one record comes before another; `is_above` says so of their lines."""
    if not order:
        return is_above
    if order == "place" and one.place != other.place:
        return one.place < other.place
    mine, theirs = (_tenths(row.weight) if order == "weight" else _pieces(row) for row in (one, other))
    if mine == theirs:
        return one.id < other.id
    return theirs is None or (mine is not None and mine > theirs)


def _pieces(row: Row) -> int | None:
    return int(row.pieces) if row.pieces else None


def _tenths(text: str) -> int | None:
    """Tenths of a kilogram: the nearest, and of two equally near the even one."""
    if not text:
        return None
    digits = "".join(char for char in text if char.isdigit())
    grams = int(digits) * (1 if text.endswith(" g") else 10 if "." in text else 1000)
    whole, rest = divmod(grams, 100)
    return whole + (rest > 50 or (rest == 50 and whole % 2 == 1))


def _typed(row: Row, log: Log) -> Record:
    tenths = _tenths(row.weight)
    weight: float | None = tenths
    if tenths is not None:
        weight = tenths / 10 if log.rounds else tenths // 10
    count = int(row.pieces) if row.pieces != "" else None
    return {log.names[0]: row.id, log.names[1]: row.place, log.names[2]: count, log.names[3]: weight}


def ask(log: Log) -> Draft:
    """A number with a decimal may be written either way, an integer may not."""
    one, place, count, weight = log.names
    number = "number" if log.rounds else "integer"
    member: Record = {one: "string", place: "string", count: "integer", weight: number}
    if log.groups:
        del member[place]
    schema: Record = {place: "string", "total": "number", "list": [member]} if log.groups else member
    return Draft(prompt=request(log), settings={"schema": [schema]})


def right(item: Item) -> Dialogues:
    """The JSON in several layouts, keys in other orders, bare, fenced, and after some words."""
    value = item.answer
    turned = _turned(value)
    flat, wide = json.dumps(value), json.dumps(value, indent=2)
    lines = "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in value) + "\n]"
    return alone(
        flat,
        wide,
        lines,
        json.dumps(value, separators=(",", ":")),
        json.dumps(value, indent=4).replace("\n", "\r\n"),
        json.dumps(turned, indent="\t"),
        f"```json\n{wide}\n```",
        f"```\n{flat}\n```",
        f"Here is the result:\n\n```json\n{lines}\n```\n\nAll steps were done in order.",
        f"<think>First the later lines, then the filter: [1, 2]</think>\n{flat}",
        f"I worked through the steps one by one.\n\n{wide}",
        f"json\n{lines}",
        f"{flat}<|im_end|>",
        f"~~~json\n{json.dumps(turned)}\n~~~",
    )


def _turned(value: Any) -> Any:
    """Members in the opposite order, which means nothing in JSON."""
    if isinstance(value, dict):
        return {name: _turned(inner) for name, inner in reversed(value.items())}
    return [_turned(one) for one in value] if isinstance(value, list) else value


def near_misses(item: Item) -> Dialogues:
    """Steps left out or done the usual way instead of the stated one, types loosened, records lost, broken JSON."""
    log: Log = item.instance
    answer = item.answer
    wrong = [
        _records(log, rounding=ROUND_HALF_UP),
        _records(log, rounding=ROUND_FLOOR),
        _records(log, order=""),
        _records(log, order="place"),
        _records(log, least=0),
        _records(log, least=log.least + 1),
        answer[::-1],
        answer[:-1],
        answer[1:],
        [*answer, answer[-1]],
        [answer[-1], *answer[:-1]],
        [{**answer[0], "note": None}, *answer[1:]],
        _loosened(answer),
        _renamed(answer),
        {"result": answer},
        [{name: inner for name, inner in one.items() if inner is not None and name != log.names[1]} for one in answer],
    ]
    different = {json.dumps(one): None for one in wrong if json.dumps(one, sort_keys=True) != _canonical(answer)}
    flat = json.dumps(answer)
    broken = (flat.replace("}]", "},]"), flat.replace('"', "'"), flat[:-1], f"{flat}\n{flat}")
    return alone(*different, *broken)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _loosened(value: Any) -> Any:
    """Numbers as text."""
    if isinstance(value, dict):
        return {name: _loosened(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_loosened(one) for one in value]
    return str(value) if isinstance(value, int | float) else value


def _renamed(value: Any) -> Any:
    """Names with a capital."""
    return [{name.capitalize(): inner for name, inner in one.items()} for one in value]


def shortcuts(item: Item) -> Dialogues:
    """No record, the first one, every line as it is printed, every step left out."""
    log: Log = item.instance
    head = HEAD.split(" | ")
    rows = [row for row in log.rows if not row.note]
    raw = [dict(zip(head, (row.id, row.place, row.pieces, row.weight), strict=True)) for row in rows]
    plain = [_record(row, log, ROUND_HALF_UP) for row in rows]
    texts = [json.dumps([]), json.dumps(plain[:1]), json.dumps(raw)]
    return alone(*texts, json.dumps(raw[::-1]), json.dumps([[*one.values()] for one in plain]))


def effort(log: Log) -> float:
    """Lines by steps."""
    steps = 1 + bool(log.least) + 2 * bool(log.order) + 2 * log.rounds + 2 * log.corrects + 3 * log.groups
    return len(log.rows) * steps


FAMILY = Family(
    name="instruct/reshape",
    rungs={
        "L1": Params(3),
        "L2": Params(7, filters=True, orders=("weight",), missing=1),
        "L3": Params(11, filters=True, orders=("weight", "place"), missing=2, ties=6, rounds=True),
        "L4": Params(15, filters=True, orders=("weight", "place"), missing=3, ties=9, rounds=True, corrections=6),
        "L5": Params(
            22,
            filters=True,
            orders=("weight", "place"),
            missing=4,
            ties=14,
            rounds=True,
            corrections=9,
            groups=True,
        ),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("exact", {"kind": "json"}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens={"L1": 250, "L2": 360, "L3": 520, "L4": 700, "L5": 980},
)
