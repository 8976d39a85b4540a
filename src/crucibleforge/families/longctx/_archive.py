"""The language of the haystacks: names that look alike, what stands around a statement, and how a text is read back.

A record is one line: perhaps a sentence about its writing, the statement, perhaps a remark. Statements that matter and
those that do not are made of the same names in the same dress, so that searching for a word finds too much.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from crucibleforge.families._draw import Draw

Thing = TypeVar("Thing")

_GIVEN = (("Ba", "Do", "Es", "Fi", "Ho", "Il", "Ka", "Lu", "Mi", "Ne"), ("dra", "len", "mir", "rin", "sha"))
_FAMILY = (
    ("Ard", "Bel", "Bro", "Cas", "Del", "Dru", "Fen", "Gar", "Hal", "Jor", "Kel", "Lom", "Mar", "Nor", "Osk", "Pel"),
    ("ak", "eby", "ell", "ing", "ova", "ost", "ren", "une"),
)
_SHIPS = (("Al", "Cor", "Dun", "Es", "Fal", "Hes", "Lor", "Mor", "Ter", "Vel"), ("bine", "dara", "mira", "vane", "wyn"))
_LEADS = (
    "{clerk} wrote this on {day} {month}.",
    "Of {day} {month}, in the hand of {clerk}.",
    "Set down by {clerk} in {month}.",
    "{day} {month}, before noon.",
    "{day} {month}, by candle light.",
    "From the desk of {clerk}, {day} {month}.",
    "A page of {month}, copied by {clerk}.",
    "{clerk} read this out on {day} {month}.",
)
_TAILS = (
    "{clerk} signed it.",
    "{clerk} and one more clerk saw it.",
    "So it stands in both copies.",
    "The ink is brown.",
    "It rained that day.",
    "The page has a torn corner.",
    "The hand is small and even.",
    "{clerk} filed the page.",
    "There is a drop of wax on the line.",
    "The line is written twice as large as the others.",
    "A thumb has left its mark here.",
    "The same page holds a sketch of a bird.",
)
_MONTHS = ("Marl", "Thaw", "Reed", "Lark", "Hay", "Rust", "Mist", "Frost")
_WIDEST = 1 << 40


def _joined(parts: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(one + other for one in parts[0] for other in parts[1])


GIVEN = _joined(_GIVEN)
FAMILY = _joined(_FAMILY)
SHIPS = _joined(_SHIPS)


class Record(NamedTuple):
    """One line: the kind of its statement, what it states, and a number that picks the words."""

    what: str
    facts: tuple[int, ...]
    form: int


def record(draw: Draw, what: str, *facts: int) -> Record:
    """A record in words of its own."""
    return Record(what, facts, draw.below(_WIDEST))


def worded(forms: Sequence[str], form: int, words: Mapping[str, str]) -> str:
    """One of the sentences with the words filled in, and what may stand before and behind it."""
    choice, which = divmod(form, len(forms))
    sentence = forms[which].format_map(words)
    shown, choice = choice % 4, choice // 4
    choice, lead = divmod(choice, len(_LEADS))
    choice, tail = divmod(choice, len(_TAILS))
    choice, clerk = divmod(choice, len(GIVEN))
    choice, month = divmod(choice, len(_MONTHS))
    around = {"clerk": GIVEN[clerk], "month": _MONTHS[month], "day": str(choice % 28 + 1)}
    parts = (
        _LEADS[lead].format_map(around) if shown in {1, 3} else "",
        sentence[0].upper() + sentence[1:],
        _TAILS[tail].format_map(around) if shown in {2, 3} else "",
    )
    return " ".join(part for part in parts if part)


def spread(draw: Draw, needles: Sequence[Thing], others: Sequence[Thing]) -> list[Thing]:
    """The needles in random order, each in an equal part of the whole of its own; the others shuffled around them."""
    total, parts = len(needles) + len(others), len(needles)
    slots = [draw.between(part * total // parts, (part + 1) * total // parts - 1) for part in range(parts)]
    placed = dict(zip(slots, draw.shuffled(needles), strict=True))
    rest = iter(draw.shuffled(others))
    return [placed[place] if place in placed else next(rest) for place in range(total)]


def found(forms: Sequence[str], fields: Mapping[str, str], text: str) -> Iterator[dict[str, str]]:
    """What a text states in one of the forms, wherever it stands; `fields` has the pattern of each gap of a form."""
    for form in forms:
        for match in _pattern(form, tuple(sorted(fields.items()))).finditer(text):
            yield match.groupdict()


@cache
def _pattern(form: str, fields: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    """A form as a pattern that begins at a sentence's first word."""
    pattern = re.escape(form)
    for name, wanted in fields:
        pattern = pattern.replace(rf"\{{{name}\}}", f"(?P<{name}>{wanted})")
    first = pattern[0]
    start = f"(?:{first}|{first.upper()}){pattern[1:]}" if first.isalpha() else pattern
    return re.compile(rf"(?m)(?:^|(?<=[.:] )){start}")
