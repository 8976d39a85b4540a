"""Natural text to measure with: prose, code and records, put together from pieces so that no two are alike.

What is read changes the speed: experts of a mixture are chosen by it, and guessing ahead goes better in code. A token
that repeats, or random ones, would measure something that nobody does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from crucibleforge.families._draw import Draw

Text: TypeAlias = Literal["prose", "code", "extraction"]

TEXTS: tuple[Text, ...] = ("prose", "code", "extraction")

_WHO = (
    "the ferryman",
    "a retired surveyor",
    "the baker's niece",
    "an old cartographer",
    "the lock keeper",
    "a travelling tuner",
    "the night nurse",
    "our neighbour",
    "the station clerk",
    "a glazier",
)
_DID = ("mended", "carried", "forgot", "measured", "painted", "hid", "described", "borrowed", "counted", "returned")
_WHAT = (
    "a brass lantern",
    "the winter maps",
    "two crates of pears",
    "a letter without a stamp",
    "the broken oar",
    "a coat with one button",
    "the parish ledger",
    "a jar of blue glass",
    "the spare key",
    "a wooden clock",
)
_WHERE = (
    "by the weir",
    "under the old bridge",
    "behind the chapel",
    "in the upper orchard",
    "near the quarry",
    "at the end of the pier",
    "above the bakery",
    "beside the mill race",
    "on the salt road",
)
_WHEN = (
    "before the rain came",
    "on the third evening",
    "while the town slept",
    "long after harvest",
    "as the fog lifted",
    "between two markets",
    "in the week of the flood",
    "at first light",
)
_THEN = (
    "and nobody asked why",
    "which surprised the children",
    "so the dog followed",
    "though the wind had turned",
    "and it was spoken of for years",
    "but the door stayed shut",
    "as if it had been agreed",
)

_NOUNS = ("shelf", "parcel", "route", "ticket", "crate", "signal", "ledger", "valve", "berth", "sample")
_VERBS = ("sorted", "merged", "counted", "trimmed", "checked", "grouped", "scaled", "packed")
_FIELDS = ("weight", "length", "due", "rank", "price", "level", "width", "age")

_TOWNS = ("Marlow", "Trieste", "Bergen", "Utrecht", "Cork", "Graz", "Nantes", "Turku", "Ghent", "Porto")
_GOODS = ("hinges", "oat flour", "copper wire", "lamp oil", "felt", "roof tiles", "seed potatoes", "rope", "chalk")
_STATES = ("shipped", "waiting", "returned", "paid", "damaged", "on hold")


def task(kind: Text, characters: int, draw: Draw) -> str:
    """A user's message of nearly `characters`, never more: what is to be done, then the text to do it with."""
    ask, piece = _KINDS[kind]
    return _cut(f"{ask(draw)}{_filled(piece, characters, draw)}", characters)


def passage(kind: Text, characters: int, draw: Draw) -> str:
    """Text of nearly `characters`, never more, that asks for nothing."""
    return _cut(_filled(_KINDS[kind][1], characters, draw).lstrip(), characters)


def _filled(piece: Callable[[Draw], str], characters: int, draw: Draw) -> str:
    pieces, size = [], 0
    while size < characters:
        pieces.append(piece(draw))
        size += len(pieces[-1])
    return "".join(pieces)


def _cut(text: str, characters: int) -> str:
    """Cut between two words."""
    if len(text) <= characters:
        return text
    whole = text[: characters + 1].rpartition(" ")[0]
    return whole.rstrip() or text[:characters]


def _ask_for_prose(draw: Draw) -> str:
    return f"Write a long story about {draw.pick(_WHO)} and {draw.pick(_WHAT)}."


def _sentence(draw: Draw) -> str:
    who, what = draw.pick(_WHO), draw.pick(_WHAT)
    when = draw.pick(_WHEN)
    body = f"{who} {draw.pick(_DID)} {what} {draw.pick(_WHERE)} {when}, {draw.pick(_THEN)}."
    return f" {body[0].upper()}{body[1:]}" + ("\n\n" if draw.chance(1, 7) else "")


def _ask_for_code(draw: Draw) -> str:
    return f"Write a Python module that keeps each {draw.pick(_NOUNS)} {draw.pick(_VERBS)}, with tests.\n"


def _function(draw: Draw) -> str:
    noun, verb, field = draw.pick(_NOUNS), draw.pick(_VERBS), draw.pick(_FIELDS)
    least = draw.between(2, 9999)
    return (
        f"\n\ndef {verb}_{noun}s_{least}({noun}s: list[dict], least: int = {least}) -> list[dict]:\n"
        f'    """Every {noun} whose {field} is {least} or more, {verb} by {field}."""\n'
        f"    kept = [{noun} for {noun} in {noun}s if {noun}['{field}'] >= max(least, {least // 2})]\n"
        f"    return sorted(kept, key=lambda {noun}: {noun}['{field}'])\n"
    )


def _ask_for_records(draw: Draw) -> str:
    return f"List all orders from {draw.pick(_TOWNS)} as JSON, one by one.\n"


def _record(draw: Draw) -> str:
    number, count = draw.between(10_000, 99_999), draw.between(2, 980)
    day, month = draw.between(1, 28), draw.between(1, 12)
    return (
        f"\nOrder {number} of 2025-{month:02}-{day:02} from {draw.pick(_TOWNS)}: {count} units of {draw.pick(_GOODS)}, "
        f"{draw.pick(_STATES)}, for {draw.between(5, 9000)}.{draw.between(0, 99):02} in all."
    )


_KINDS: dict[Text, tuple[Callable[[Draw], str], Callable[[Draw], str]]] = {
    "prose": (_ask_for_prose, _sentence),
    "code": (_ask_for_code, _function),
    "extraction": (_ask_for_records, _record),
}
