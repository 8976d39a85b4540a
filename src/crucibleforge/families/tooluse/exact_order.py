"""Place one order with one call whose arguments must all be worked out.

The request speaks as people do, the tool wants units, codes, minor units of a currency and instants in UTC. Harder
rungs name the product by its use, count gallons, set the clocks forward and back around the pickup, and correct the
request in the end. The arguments come from arithmetic; they are derived again by counting, by shifting digits and by
watching the clocks minute by minute.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import msgspec

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, called, said
from crucibleforge.families._kit import Dialogues, Family, Item
from crucibleforge.families.tooluse._clocks import DAY, Wall, Zone, clock, instant, stamp, sunday, watched, zone
from crucibleforge.families.tooluse._order import (
    COUNTRIES,
    HANDLING,
    MONEY,
    PLAIN,
    PRODUCTS,
    QUART_ML,
    TOWNS,
    Params,
    Request,
    amount,
    ask,
    phone,
)
from crucibleforge.types import Grading

_LETTERS = "BCDFGHJKLMNPRSTVWXZ"
_TIMES = ("collect_at", "hold_until")


def generate(params: Params, draw: Draw) -> Request:
    """Draw a request; the pickup lies near a change of the clocks, or on its day."""
    currency, decimals = draw.pick(MONEY if params.odd else PLAIN)
    most = 899 if params.priced else 89_999
    place = zone(draw.pick(TOWNS), draw, odd=params.edge)
    return Request(
        params=params,
        reference="".join(draw.sample(_LETTERS, 2)) + f"-{draw.between(10_000, 99_999)}",
        product=draw.below(len(PRODUCTS)),
        cans=draw.between(6, 38),
        size=draw.pick((5, 6, 7, 9, 10, 11)) if params.odd else draw.pick((5, 15, 25, 45, 75)),
        extra=draw.between(15, 97) if params.priced else 0,
        rush=draw.chance(1, 2),
        country=draw.below(len(COUNTRIES)),
        currency=currency,
        decimals=decimals,
        cap=draw.between(101, most) * (5 if decimals else 10),
        needs=tuple(draw.shuffled([1, 1, draw.pick((0, 1)), -1, 0, 0])),
        phone=str(draw.between(5_550_000, 5_559_999)) + str(draw.between(10, 99)),
        zone=place,
        wall=_edge(place, draw) if params.edge else _near(place, draw),
        more=draw.between(2, 9) if params.corrected else 0,
        earlier=5 * draw.between(13, 41) if params.corrected else 0,
        until=15 * draw.between(28, 70),
    )


def _near(zone: Zone, draw: Draw) -> Wall:
    year = draw.between(2027, 2049)
    off = draw.between(2, 6) * draw.pick((-1, 1))
    return Wall(year, sunday(year, draw.pick((zone.forward, zone.back))) + off, 5 * draw.between(72, 264))


def _edge(zone: Zone, draw: Draw) -> Wall:
    """A time that is skipped, one that comes twice, or one soon after the change."""
    year = draw.between(2027, 2049)
    inside = 5 * draw.below(zone.shift // 5)
    match draw.below(5):
        case 0 | 1:
            return Wall(year, sunday(year, zone.forward), zone.forward.at + inside)
        case 2 | 3:
            at = zone.back.at - zone.shift + inside
            return Wall(year, sunday(year, zone.back), at, second=draw.chance(1, 2))
        case _:
            change = draw.pick((zone.forward, zone.back))
            return Wall(year, sunday(year, change), change.at + zone.shift + 5 * draw.between(6, 60))


def solve(request: Request) -> dict[str, Any]:
    """Reckon each argument."""
    cans = request.cans + request.more
    tenths = request.size * (0 if request.params.odd else 100) * cans
    quarts = request.size * QUART_ML * cans if request.params.odd else 0
    _, code, calling, _ = COUNTRIES[request.country]
    every = cans + (request.extra > 0) if request.params.priced else 1
    at = instant(request.zone, request.wall)
    after = replace(request.wall, day=request.wall.day + 1, minute=request.until, second=False)
    reckoned = {
        "reference": request.reference,
        "product": PRODUCTS[request.product][0],
        "cans": cans,
        "rush": request.rush,
        "volume_ml": tenths + quarts + request.extra * 100,
        "country": code,
        "currency": request.currency,
        "limit_minor": request.cap * every,
        "collect_at": stamp(at - request.earlier),
        "hold_until": stamp(instant(request.zone, after)),
        "phone": f"+{calling}{request.phone}",
        "handling": [HANDLING[place][0] for place, need in enumerate(request.needs) if need == 1],
    }
    return _order({name: reckoned[name] for name in request.params.asks})


def _order(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"calls": [{"name": "place_order", "arguments": arguments}]}


def verify(request: Request) -> dict[str, Any]:
    """Count cans one by one, shift digits as text, watch the clocks."""
    params = request.params
    cans = list(range(request.cans)) + ["more"] * request.more
    millilitres = sum(sum([QUART_ML] * request.size) if params.odd else request.size * 100 for _ in cans)
    limit = sum(request.cap for _ in cans) + (request.cap if request.extra else 0)
    next_day = Wall(request.wall.year, request.wall.day + 1, request.until)
    dialled = phone(request).removeprefix("00").replace("(0)", "").replace(" ", "")
    found: dict[str, Any] = {
        "reference": request.reference,
        "product": next(name for name, *_, use in PRODUCTS if use == PRODUCTS[request.product][2]),
        "cans": len(cans),
        "rush": request.rush,
        "volume_ml": millilitres + int(f"{request.extra}00"),
        "country": next(code for place, (_, code, *_) in enumerate(COUNTRIES) if place == request.country),
        "currency": request.currency,
        "limit_minor": limit if params.priced else int(amount(request).replace(".", "")),
        "phone": f"+{dialled}",
        "handling": [code for (code, *_), need in zip(HANDLING, request.needs, strict=True) if need > 0],
    }
    if "collect_at" in params.asks:
        found["collect_at"] = watched(request.zone, request.wall, -request.earlier)
        found["hold_until"] = watched(request.zone, next_day)
    arguments = {name: found[name] for name in found if name in params.asks}
    return {"calls": [{"name": "place_order", "arguments": arguments}]}


def right(item: Item) -> Dialogues:
    """The call in other spellings of the same JSON and of the same values, with and without words."""
    arguments = _arguments(item)
    plain = _json(arguments)
    turned = _json(dict(reversed(arguments.items())))
    last = _json(dict([*list(arguments.items())[1:], *list(arguments.items())[:1]]))
    return (
        (called(("place_order", plain)),),
        (called(("place_order", plain), text="I place the order now."),),
        (called(("place_order", turned)),),
        (called(("place_order", last)),),
        (called(("place_order", _wide(plain))),),
        (called(("place_order", _wide(turned)), text="All arguments are worked out:"),),
        (called(("place_order", f" {plain}\n")),),
        (called(("place_order", plain.replace('":', '": ').replace(',"', ', "'))),),
        (called(("place_order", _json({name: _as_float(value) for name, value in arguments.items()}))),),
        (called(("place_order", _json(_respelt(arguments, item.instance.zone.base, "T")))),),
        (called(("place_order", _wide(_json(_respelt(arguments, -210, "T"))))),),
        (called(("place_order", _json(_respelt(arguments, 0, " ")))), said("The order is placed.")),
        (called(("place_order", last), text="<think>Is a quote wanted first? No.</think>\nOne call is enough."),),
        (called(("place_order", turned), text='Not `{"reference": "?"}` but the whole order.'),),
    )


def near_misses(item: Item) -> Dialogues:
    """One argument off, each by a mistake that is made; the wrong tool, two calls, a call as text, only words."""
    arguments = _arguments(item)
    plain = _json(arguments)
    wrong = [arguments | {name: value} for name, value in _slips(item, arguments)]
    torn = dict(list(arguments.items())[:-1])
    return (
        *((called(("place_order", _json(one))),) for one in (*wrong, torn)),
        (called(("place_order", plain[:-1])),),
        (called(("quote_order", plain)),),
        (called(("save_draft", plain)),),
        (called(("quote_order", plain), ("place_order", plain)),),
        (called(("place_order", plain), ("place_order", plain)),),
        (called(("place_order", plain)), called(("cancel_order", _json({"reference": arguments["reference"]})))),
        *alone(f'<tool_call>{{"name": "place_order", "arguments": {plain}}}</tool_call>', "The order is placed."),
    )


def _slips(item: Item, arguments: dict[str, Any]) -> list[tuple[str, Any]]:
    request: Request = item.instance
    asks = request.params.asks
    others = [name for name, _, _ in PRODUCTS if name != arguments["product"]]
    slips: list[tuple[str, Any]] = [("product", others[0]), ("reference", arguments["reference"][:-1]), ("note", "")]
    if "cans" in asks:
        slips += [("cans", request.cans + 1), ("cans", str(request.cans)), ("rush", not request.rush), ("rush", "true")]
    if "volume_ml" in asks:
        volume = arguments["volume_ml"]
        slips += [("volume_ml", volume / 1000), ("volume_ml", str(volume)), ("volume_ml", volume - request.size * 100)]
        slips += [("country", COUNTRIES[request.country][0]), ("country", arguments["country"].lower())]
        limit = arguments["limit_minor"]
        slips += [("limit_minor", limit * 10), ("limit_minor", limit / 10), ("limit_minor", str(limit))]
        slips += [("limit_minor", request.cap)] if request.params.priced else []
    if "handling" in asks:
        unasked = HANDLING[request.needs.index(-1)][0]
        slips += [("handling", [*arguments["handling"], unasked]), ("handling", arguments["handling"][1:])]
    if "phone" in asks:
        slips += [("phone", request.phone), ("phone", f"{arguments['phone'][:-9]}0{request.phone}")]
    if "collect_at" in asks:
        at = instant(request.zone, request.wall) - request.earlier
        late = [request.zone.shift, -request.zone.shift, request.zone.base, 2 * request.zone.base, -1]
        slips += [("collect_at", stamp(at + off)) for off in late]
        slips += [("collect_at", arguments["collect_at"].removesuffix("Z"))]
        slips += [("collect_at", stamp(at + request.earlier))] if request.earlier else []
    if "hold_until" in asks:
        at = instant(request.zone, Wall(request.wall.year, request.wall.day + 1, request.until))
        slips += [("hold_until", stamp(at + off)) for off in (request.zone.shift, -request.zone.shift, -DAY)]
    return slips


def shortcuts(item: Item) -> Dialogues:
    """The first tool, guessed arguments, all tools at once, the words of the request instead of values, a refusal."""
    request: Request = item.instance
    arguments = _arguments(item)
    plain = _json(arguments)
    when = f"{date.fromordinal(request.wall.day)}T{clock(request.wall.minute)}:00Z"
    naive = arguments | {name: when for name in _TIMES if name in arguments}
    guessed = {"reference": request.reference, "product": "varnish", "cans": 1, "rush": True}
    every = [(tool.name, plain) for tool in item.draft.tools[:3]]
    return (
        (called(("quote_order", plain)),),
        (called(("place_order", _json(guessed))),),
        (called(*every, ("cancel_order", _json({"reference": request.reference}))),),
        *(((called(("place_order", _json(naive))),),) if naive != arguments else ()),
        (said(f"I would call place_order with {plain}."),),
        (said("I am not able to place orders."),),
    )


def _arguments(item: Item) -> dict[str, Any]:
    arguments: dict[str, Any] = item.answer["calls"][0]["arguments"]
    return arguments


def _respelt(arguments: dict[str, Any], offset: int, between: str) -> dict[str, Any]:
    """Instants with another offset, lists turned round, numbers as they are."""
    times = {name: _moved(arguments[name], offset).replace("T", between) for name in _TIMES if name in arguments}
    lists = {name: value[::-1] for name, value in arguments.items() if isinstance(value, list)}
    return arguments | times | lists


def _moved(text: str, offset: int) -> str:
    minutes = date.fromisoformat(text[:10]).toordinal() * DAY + int(text[11:13]) * 60 + int(text[14:16])
    return stamp(minutes, offset)


def _as_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _wide(text: str) -> str:
    return msgspec.json.format(text, indent=2)


def effort(request: Request) -> float:
    """Arguments, and the steps that some of them take besides."""
    params = request.params
    return len(params.asks) + 2 * params.odd + 3 * params.edge + 2 * params.priced + 4 * params.corrected


_L2 = ("reference", "product", "volume_ml", "country", "limit_minor")
_L3 = (*_L2, "currency", "collect_at", "handling")

FAMILY = Family(
    name="tooluse/exact-order",
    rungs={
        "L1": Params(("reference", "product", "cans", "rush")),
        "L2": Params(_L2),
        "L3": Params(_L3, odd=True),
        "L4": Params((*_L3, "phone"), odd=True, edge=True, priced=True),
        "L5": Params((*_L3, "phone", "hold_until"), odd=True, edge=True, priced=True, corrected=True),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading(
        "tools",
        {"max_calls": 1, "compare": {"collect_at": "instant", "hold_until": "instant", "handling": "set"}},
    ),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 256, "L2": 512, "L3": 1024, "L4": 2048, "L5": 2048},
    prompt_tokens={"L1": 90, "L2": 110, "L3": 480, "L4": 540, "L5": 640},
)
