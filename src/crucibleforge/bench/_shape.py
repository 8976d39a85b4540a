"""A short text to be put into JSON: the keys, types and values are given, and nothing else may be in it.

What the text does not say is null, what it denies is false, and an integer is no string: that is what a tool call
lives by. Strictly read, as a program would read it.
"""

from __future__ import annotations

import json

import msgspec

from crucibleforge.bench._question import explained, posed
from crucibleforge.bench._wrapping import narrowed
from crucibleforge.families._draw import Draw
from crucibleforge.graders import ByReading, Replies, exact
from crucibleforge.graders._said import text_of
from crucibleforge.types import Case, Finding, Grading

_FIRST = ("Alma", "Bruno", "Celia", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Leon")
_LAST = (
    "Abramov", "Bellweg", "Castrino", "Dahlberg", "Eskander", "Fontane", "Grimaldi", "Holmqvist", "Ivarsen", "Jansky",
    "Kovalik", "Lindqvist", "Marchetti", "Norling", "Okonjo", "Petrakis",
)  # fmt: skip
_GOODS = ("tiles", "lamps", "planks", "bolts", "seedlings", "jars", "cushions", "candles", "filters", "brackets")
_CITIES = ("Arvika", "Bergamo", "Coimbra", "Delft", "Esbjerg", "Fribourg", "Gdynia", "Hasselt", "Izola", "Jihlava")
_LABELS = ("fragile", "urgent", "heavy", "returns", "export", "samples", "gift", "insured", "outdoor", "wholesale")
_MISSING = (("phone", "a phone number"), ("email", "an e-mail address"), ("discount_code", "a discount code"))


def pose(draw: Draw) -> Case:
    """An order that a customer placed, and the object that a program wants of it."""
    customer = f"{draw.pick(_FIRST)} {draw.pick(_LAST)}"
    quantity, goods, city = draw.between(12, 480), draw.pick(_GOODS), draw.pick(_CITIES)
    # Quarters, so that no reading of the price differs by rounding.
    price = draw.between(2, 30) + draw.pick((0.25, 0.5, 0.75))
    labels, (missing, named) = draw.sample(_LABELS, 2), draw.pick(_MISSING)
    is_express = draw.chance(1, 2)
    wish = "wants express delivery" if is_express else "explicitly does not want express delivery"
    text = (
        f"{customer} orders {quantity} {goods} at {price:.2f} euros apiece, to be sent to {city}. The customer {wish}, "
        f"gave no {named.removeprefix('an ').removeprefix('a ')}, and asks us to put two labels on the parcel: "
        f"{labels[0]} and {labels[1]}."
    )
    prompt = "\n".join(
        [
            "Put this order into one JSON object.",
            "",
            text,
            "",
            "It must have exactly these six keys and no others:",
            "- customer: string, the full name",
            f"- quantity: integer, how many {goods}",
            "- unit_price: number, in euros",
            "- express: boolean",
            f"- {missing}: string, or null if the text gives none",
            "- labels: array of strings, in the order of the text",
            "",
            "Reply with the JSON only.",
        ]
    )
    expected = {
        "customer": customer,
        "quantity": quantity,
        "unit_price": price,
        "express": is_express,
        missing: None,
        "labels": labels,
    }
    settings = {"kind": "json", "schema": {"unit_price": "number"}}
    return posed("shape", prompt, 256, expected, Grading("exact", settings))


def right(case: Case) -> str:
    """A reply that passes."""
    return json.dumps(case.expected)


def _find(case: Case, replies: Replies) -> Finding:
    last = replies[-1]
    bare = msgspec.structs.replace(last, text=narrowed(text_of(last)))
    finding = exact.find(case, (bare if bare.text else last,))
    return explained(finding, f"{len(case.expected)} of {len(case.expected)} keys with the right type and value")


GRADER = ByReading("shape", 1, _find)
