"""An order in words: what it asks for, how people say it, and the tools that take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.chat import Tool
from crucibleforge.families._kit import Draft
from crucibleforge.families.tooluse._clocks import Wall, Zone, clock, day, span, told

PRODUCTS = (
    ("varnish", "clear top coat that dries hard", "dries to a hard clear surface"),
    ("primer", "first coat that makes paint hold", "makes paint hold on bare wood"),
    ("sealer", "closes the pores of wood before it is painted", "closes the pores before anything is painted"),
    ("stain", "colours wood and leaves its grain visible", "colours the wood and still shows its grain"),
    ("thinner", "is mixed into paint so that it flows more easily", "is mixed in so that the paint flows better"),
    ("remover", "takes old paint off", "gets the old paint off"),
)
HANDLING = (
    ("keep_dry", "must not get wet", "rain would spoil it", "rain does it no harm"),
    ("keep_upright", "must not be laid down", "it leaks when it lies on its side", "it may lie on its side"),
    ("no_stacking", "nothing may stand on it", "its lid bears no weight", "other things may stand on it"),
    ("keep_cool", "at most 8 degrees", "it goes off above 8 degrees", "it can stand in the heat"),
    ("frost_free", "never below 0 degrees", "it must not freeze", "it may freeze"),
    ("keep_dark", "no daylight", "daylight spoils it", "it may stand in the sun"),
)
COUNTRIES = (
    *(("Estonia", "EE", "372", False), ("Latvia", "LV", "371", False), ("Lithuania", "LT", "370", False)),
    *(("Slovenia", "SI", "386", True), ("Slovakia", "SK", "421", True), ("Austria", "AT", "43", True)),
    *(("Switzerland", "CH", "41", True), ("Sweden", "SE", "46", True), ("Denmark", "DK", "45", False)),
    *(("Ireland", "IE", "353", True), ("Iceland", "IS", "354", False), ("Portugal", "PT", "351", False)),
    *(("Croatia", "HR", "385", True), ("Germany", "DE", "49", True), ("Spain", "ES", "34", False)),
    *(("Finland", "FI", "358", True), ("Norway", "NO", "47", False), ("Greece", "GR", "30", False)),
)
"""Name, ISO 3166 code, calling code, and whether a 0 is dialled before the number inside the country."""
PLAIN = (("EUR", 2), ("CHF", 2), ("SEK", 2), ("DKK", 2))
MONEY = (("JPY", 0), ("KRW", 0), ("ISK", 0), ("KWD", 3), ("BHD", 3), ("OMR", 3), ("TND", 3), ("EUR", 2), ("CHF", 2))
"""Currencies and the decimals of their minor unit (ISO 4217)."""
TOWNS = (
    *("Arvost", "Belmere", "Cordun", "Dravik", "Esmond", "Fjelby", "Galden", "Hestra", "Ilmark", "Jorvale", "Kestrin"),
    *("Lundry", "Morvik", "Nadrel", "Ostrel", "Pellin", "Quarven", "Rosmar", "Sundvik", "Tarvoss", "Ulvar"),
)
QUART_ML = 946


@dataclass(frozen=True)
class Params:
    """What must be worked out: `asks` names the fields; `edge` puts the pickup on a day when clocks change.

    `odd` allows gallons, currencies without the usual two decimals, clocks that are half hours off; `priced` gives
    the limit for each can; `corrected` ends the request with corrections.
    """

    asks: tuple[str, ...]
    odd: bool = False
    edge: bool = False
    priced: bool = False
    corrected: bool = False


@dataclass(frozen=True)
class Request:
    """The facts. `size` of a can in quarts or tenths of a litre, `extra` one can more of so many tenths of a litre.

    `cap` is the limit in the currency's minor unit, in all or for each can. `needs` has 1 for a need, -1 for what is
    said to be none, 0 for silence, in the order of `HANDLING`. `more` cans and `earlier` minutes are the corrections;
    `until` is what the clocks show on the day after the pickup.
    """

    params: Params
    reference: str
    product: int
    cans: int
    size: int
    extra: int
    rush: bool
    country: int
    currency: str
    decimals: int
    cap: int
    needs: tuple[int, ...]
    phone: str
    zone: Zone
    wall: Wall
    more: int
    earlier: int
    until: int


def amount(request: Request) -> str:
    """The limit as it is written."""
    digits = str(request.cap).rjust(request.decimals + 1, "0")
    return f"{digits[: -request.decimals]}.{digits[-request.decimals :]}" if request.decimals else digits


def phone(request: Request) -> str:
    """The phone number as people write it."""
    _, _, calling, trunk = COUNTRIES[request.country]
    return f"00{calling} {'(0)' if trunk else ''}{request.phone[:3]} {request.phone[3:6]} {request.phone[6:]}"


_HOUSE = (
    "You place orders for a workshop. House rules: a gallon is counted as 3.784 litres, a quart is a quarter of it. "
    "A local time that the clocks skip is read as if they had not yet been changed. Of a local time that they show "
    "twice the first is meant, unless the request says otherwise. The (0) of a phone number is dialled only inside "
    "its country."
)


def ask(request: Request) -> Draft:
    """The request, sentence by sentence."""
    asks = request.params.asks
    sentences = [
        f"Place the order {request.reference}.",
        _goods(request),
        f"It goes to {COUNTRIES[request.country][0]}." if "country" in asks else "",
        _limit(request) if "limit_minor" in asks else "",
        _times(request) if "collect_at" in asks else "",
        _care(request) if "handling" in asks else "",
        f"The driver's phone: {phone(request)}." if "phone" in asks else "",
        f"It is {'' if request.rush else 'not '}urgent." if "rush" in asks else "",
        _corrections(request) if request.params.corrected else "",
        "All that you need is here: make one single tool call, the one that places the order.",
    ]
    return Draft(
        prompt=" ".join(sentence for sentence in sentences if sentence),
        system=_HOUSE if request.params.odd else "",
        tools=_tools(asks),
    )


def _goods(request: Request) -> str:
    name, _, use = PRODUCTS[request.product]
    what = f"what {use}" if request.params.odd else name
    if "volume_ml" not in request.params.asks:
        return f"We need {request.cans} cans of {name}."
    if not request.params.odd:
        return f"We need {request.cans} cans of {request.size / 10:g} litres of {name}."
    more = f" and one can of {request.extra / 10:g} litres" if request.extra else ""
    gallons, quarts = divmod(request.size, 4)
    size = f"{gallons} gallon{'s' * (gallons > 1)}" + f" {quarts} quart{'s' * (quarts > 1)}" * (quarts > 0)
    return f"We need {what}: {request.cans} cans of {size}{more}."


def _limit(request: Request) -> str:
    each = " for each can, whatever its size" if request.params.priced else " in all"
    return f"Spend at most {request.currency} {amount(request)}{each}."


def _times(request: Request) -> str:
    place, wall = request.zone, request.wall
    again = ", the second time that they show it" if wall.second else ""
    collect = f"Collect it on {day(wall.day)} at {clock(wall.minute)} by the clocks in {place.town}{again}."
    hold = f" Hold it until {clock(request.until)} by the same clocks on the day after that." * (
        "hold_until" in request.params.asks
    )
    return f"{told(place)} {collect}{hold}"


def _care(request: Request) -> str:
    said_of = [words[2 if need == 1 else 3] for words, need in zip(HANDLING, request.needs, strict=True) if need]
    return f"About handling: {'; '.join(said_of)}."


def _corrections(request: Request) -> str:
    size = "gallon cans" if request.extra else "cans"
    return (
        f"Two corrections. Make it {request.more} more of the {size}. And collect it {span(request.earlier)} earlier, "
        "as time really passes; the end of the holding stays."
    )


_FIELDS: dict[str, dict[str, Any]] = {
    "reference": {"type": "string", "description": "Reference of the order"},
    "product": {"type": "string", "enum": [name for name, _, _ in PRODUCTS]},
    "cans": {"type": "integer", "description": "Number of cans"},
    "rush": {"type": "boolean", "description": "Whether it is urgent"},
    "volume_ml": {"type": "integer", "description": "Volume of all cans together in millilitres"},
    "country": {"type": "string", "description": "Country that it goes to, ISO 3166-1 alpha-2"},
    "currency": {"type": "string", "description": "Currency of the limit, ISO 4217"},
    "limit_minor": {
        "type": "integer",
        "description": "Most that the whole order may cost, in the minor unit that ISO 4217 gives the currency",
    },
    "collect_at": {"type": "string", "description": "Pickup as an instant, RFC 3339, preferably in UTC"},
    "hold_until": {"type": "string", "description": "End of holding as an instant, RFC 3339, preferably in UTC"},
    "phone": {"type": "string", "description": "Phone number of the driver, E.164"},
    "handling": {
        "type": "array",
        "items": {"type": "string", "enum": [code for code, *_ in HANDLING]},
        "description": "All that the goods need and nothing else. "
        + "; ".join(f"{code}: {meaning}" for code, meaning, *_ in HANDLING),
    },
}


def _tools(asks: tuple[str, ...]) -> tuple[Tool, ...]:
    fields = {name: _FIELDS[name] for name in asks}
    if "volume_ml" in asks:
        meanings = "; ".join(f"{name}: {meaning}" for name, meaning, _ in PRODUCTS)
        fields["product"] = fields["product"] | {"description": meanings}
    whole = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    one = {"reference": _FIELDS["reference"]}
    by_reference = {"type": "object", "properties": one, "required": ["reference"], "additionalProperties": False}
    return (
        Tool("quote_order", "Ask what an order would cost; nothing is ordered.", whole),
        Tool("place_order", "Place an order. It is binding.", whole),
        Tool("save_draft", "Keep an order as a draft for somebody else to place.", whole),
        Tool("cancel_order", "Cancel an order that was placed.", by_reference),
    )
