"""Book one crate with one call whose arguments must be worked out.

Codes come from a table of look-alikes, masses change their unit, dates are counted or found in a calendar, a rule
decides a flag, and on the harder levels other tools are close by. The arguments come from `datetime` and integers;
they are derived again from the prompt's own words by counting days.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import msgspec

from crucibleforge.chat import Reply, Tool
from crucibleforge.families._kit import Dialogues, Draft, Draw, Family, called, said
from crucibleforge.types import Grading

DEPOTS = ("Arden", "Corlan", "Esker", "Farrow", "Lorne", "Meldon", "Orlan", "Selby", "Tarrow", "Wexley")
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class Params:
    """Which arguments must be worked out: the mass; the date and the time as well; all by rule."""

    asks: Literal["mass", "date", "rule"]


@dataclass(frozen=True)
class Order:
    """The facts of one booking; `codes` are those of the listed depots."""

    depots: tuple[str, ...]
    codes: tuple[str, ...]
    depot: int
    moved_to: int
    grams: int
    pallet: int
    today: date
    days: int
    minutes: int
    weekday: int
    limit: int

    @property
    def net(self) -> int:
        """Grams of the crate without its pallet."""
        return self.grams - self.pallet


def make(params: Params, draw: Draw) -> Draft:
    """Draw an order and write down the one call that carries it out."""
    order = _order(draw)
    return Draft(
        prompt=_prompt(params, order),
        expected={
            "calls": [{"name": "book_crate", "arguments": _arguments(params, order)}],
            "ordered": False,
            "answer": None,
        },
        instance=(params, order),
        tools=_tools(params),
    )


def _order(draw: Draw) -> Order:
    depots = tuple(draw.sample(DEPOTS, 5))
    letter, digits = draw.pick("DKT"), draw.sample(range(10, 100), 4)
    # The last code is the first one with its digits turned round.
    turned = draw.until(lambda: n if (n := draw.between(12, 98)) % 11 and n % 10 and _turned(n) not in digits else None)
    codes = [f"{letter}{n}" for n in [*[n for n in digits if n != turned][:3], turned, _turned(turned)]]
    depot, moved_to = draw.sample(range(5), 2)
    return Order(
        depots=depots,
        codes=tuple(draw.shuffled(codes)),
        depot=depot,
        moved_to=moved_to,
        grams=draw.between(51, 149) * 100,
        pallet=draw.between(11, 38) * 25,
        today=date(draw.between(2030, 2035), draw.between(1, 12), draw.between(18, 28)),
        days=draw.between(12, 25),
        minutes=60 * draw.between(1, 3) + 5 * draw.between(1, 11),
        weekday=draw.below(5),
        limit=draw.between(6, 11),
    )


def _turned(number: int) -> int:
    return number % 10 * 10 + number // 10


_MASS = """\
{depots}
Book one crate of {kilograms} to the depot {goal}.
"""
_DATE = """\
Today is {today}. {depots}
Book one crate of {kilograms} to the depot {goal}. It is to be picked up {order.days} days from today. The driver \
needs a loading window of {window}.
"""
_RULE = """\
Today is {today}. {depots} {goal} is closed; what is meant for {goal} goes to the depot {instead} instead.
Book one crate that is meant for {goal}. On the scale, crate and pallet together show {kilograms}; the pallet weighs \
{order.pallet} g and stays here. It is to be picked up on the last {weekday} of next month. The driver needs a \
loading window of {window}. A crate that has {order.limit} kg or more without its pallet must be insured, a lighter \
one must not.
"""


def _prompt(params: Params, order: Order) -> str:
    listed = [f"{name} {code}" for name, code in zip(order.depots, order.codes, strict=True)]
    task = {"mass": _MASS, "date": _DATE, "rule": _RULE}[params.asks].format(
        order=order,
        today=order.today.isoformat(),
        depots=f"Depots and their codes: {', '.join(listed)}.",
        goal=order.depots[order.depot],
        instead=order.depots[order.moved_to],
        kilograms=f"{order.grams // 1000}.{order.grams % 1000 // 100} kg",
        weekday=WEEKDAYS[order.weekday],
        window=f"{order.minutes // 60} h {order.minutes % 60} min",
    )
    return f"{task}All that you need is here. Use exactly one tool call."


def _tools(params: Params) -> tuple[Tool, ...]:
    fields: dict[str, Any] = {
        "depot_code": {"type": "string", "description": "Code of the depot that receives the crate"},
        "mass_g": {"type": "integer", "description": "Mass of the crate without any pallet, in grams"},
    }
    if params.asks != "mass":
        fields |= {
            "pickup_date": {"type": "string", "description": "Day of the pickup as YYYY-MM-DD"},
            "window_min": {"type": "integer", "description": "Length of the loading window in minutes"},
        }
    if params.asks == "rule":
        fields["insured"] = {"type": "boolean", "description": "Whether the crate is insured"}
    booking = Tool("book_crate", "Book a crate. The booking is final.", _schema(fields))
    cancel = Tool(
        "cancel_booking",
        "Cancel a booking that exists.",
        _schema({"booking_id": {"type": "string", "description": "Id of the booking"}}),
    )
    if params.asks == "mass":
        return (booking, cancel)
    quote = Tool("quote_crate", "Give the price of a crate without booking it.", _schema(fields))
    if params.asks == "date":
        return (quote, booking, cancel)
    draft = Tool("draft_booking", "Save a booking as a draft; nothing is picked up.", _schema(fields))
    return (draft, quote, booking, cancel)


def _schema(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _arguments(params: Params, order: Order) -> dict[str, Any]:
    match params.asks:
        case "mass":
            return {"depot_code": order.codes[order.depot], "mass_g": order.grams}
        case "date":
            return {
                "depot_code": order.codes[order.depot],
                "mass_g": order.grams,
                "pickup_date": (order.today + timedelta(days=order.days)).isoformat(),
                "window_min": order.minutes,
            }
        case "rule":
            return {
                "depot_code": order.codes[order.moved_to],
                "mass_g": order.net,
                "pickup_date": _last(order.today, order.weekday).isoformat(),
                "window_min": order.minutes,
                "insured": order.net >= order.limit * 1000,
            }


def _last(today: date, weekday: int) -> date:
    """The last such weekday of the month after that of `today`."""
    months = today.year * 12 + today.month + 1
    end = date(months // 12, months % 12 + 1, 1) - timedelta(days=1)
    return end - timedelta(days=(end.weekday() - weekday) % 7)


def rederive(draft: Draft) -> dict[str, Any]:
    """Read the prompt's words and count days on the fingers."""
    prompt = draft.prompt
    goal = re.findall(r"(?:to the depot|is meant for) ([A-Z]\w+)", prompt)[-1]
    moved = re.search(rf"what is meant for {goal} goes to the depot (\w+)", prompt)
    code = dict(re.findall(r"([A-Z]\w+) ([A-Z]\d\d)\b", prompt))[moved[1] if moved else goal]
    mass = int("".join(re.findall(r"(\d+)\.(\d) kg", prompt)[0])) * 100
    pallet = re.search(r"the pallet weighs (\d+) g", prompt)
    mass -= int(pallet[1]) if pallet else 0
    arguments: dict[str, Any] = {"depot_code": code, "mass_g": mass}
    window = re.search(r"(\d+) h (\d+) min", prompt)
    if window:
        arguments["pickup_date"] = _pickup(prompt)
        arguments["window_min"] = sum([60] * int(window[1])) + int(window[2])
    limit = re.search(r"that has (\d+) kg or more", prompt)
    if limit:
        arguments["insured"] = mass // 1000 >= int(limit[1])
    return {"calls": [{"name": "book_crate", "arguments": arguments}], "ordered": False, "answer": None}


def _pickup(prompt: str) -> str:
    year, month, day = (int(part) for part in re.findall(r"Today is (\d+)-(\d+)-(\d+)", prompt)[0])
    wait = re.search(r"(\d+) days from today", prompt)
    if wait:
        for _ in range(int(wait[1])):
            year, month, day = _next_day(year, month, day)
    else:
        named = WEEKDAYS.index(re.findall(r"on the last (\w+) of next month", prompt)[0])
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        day = max(day for day in range(1, _month_days(year, month) + 1) if _weekday(year, month, day) == named)
    return f"{year}-{month:02}-{day:02}"


def _month_days(year: int, month: int) -> int:
    # Every fourth year is a leap year until 2100.
    return _MONTH_DAYS[month - 1] + (month == 2 and year % 4 == 0)


def _next_day(year: int, month: int, day: int) -> tuple[int, int, int]:
    if day < _month_days(year, month):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)


def _weekday(year: int, month: int, day: int) -> int:
    """0 for Monday; 1 January 2024 was one."""
    days = sum(_month_days(past, m) for past in range(2024, year) for m in range(1, 13))
    return (days + sum(_month_days(year, m) for m in range(1, month)) + day - 1) % 7


def right(draft: Draft) -> Dialogues:
    """The call with its JSON written in several ways, with and without words beside it."""
    arguments = draft.expected["calls"][0]["arguments"]
    plain = msgspec.json.encode(arguments).decode()
    turned = msgspec.json.encode(dict(reversed(arguments.items()))).decode()
    wide = msgspec.json.format(plain, indent=2)
    return (
        (_booked(plain),),
        (_booked(plain, "I will book the crate now."),),
        (_booked(turned),),
        (_booked(wide),),
        (_booked(f" {turned}\n", "Mass in grams, then the call:"),),
    )


def wrong(draft: Draft) -> Dialogues:
    """One argument off, a number as text, a key too few or too many, the wrong tool, two calls, only words."""
    params, order = draft.instance
    arguments: dict[str, Any] = draft.expected["calls"][0]["arguments"]
    other = order.codes[order.depot if params.asks == "rule" else order.moved_to]
    changed: list[dict[str, Any]] = [
        {"depot_code": other},
        {"mass_g": arguments["mass_g"] + 1},
        {"mass_g": str(arguments["mass_g"])},
        {"mass_g": arguments["mass_g"] / 1000},
        {"note": "urgent"},
    ]
    if params.asks == "rule":
        changed += [{"mass_g": order.grams}, {"insured": not arguments["insured"]}, {"insured": "true"}]
    if params.asks != "mass":
        changed += [{"window_min": order.minutes - 60}, {"pickup_date": order.today.isoformat()}]
    plain = msgspec.json.encode(arguments).decode()
    return (
        *((_booked(msgspec.json.encode(arguments | change).decode()),) for change in changed),
        (_booked(msgspec.json.encode({"depot_code": arguments["depot_code"]}).decode()),),
        (_booked(plain[:-1]),),
        (called(("quote_crate", plain)),),
        (called(("book_crate", plain), ("book_crate", plain)),),
        (said(f"I would call book_crate with {plain}."),),
        (said("The crate is booked."),),
    )


def _booked(arguments: str, text: str = "") -> Reply:
    return called(("book_crate", arguments), text=text)


FAMILY = Family(
    name="tooluse/crate-booking",
    levels={"easy": Params("mass"), "medium": Params("date"), "hard": Params("rule")},
    make=make,
    grading=Grading("tools", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 160, "medium": 160, "hard": 160},
    prompt_tokens={"easy": 120, "medium": 180, "hard": 300},
)
