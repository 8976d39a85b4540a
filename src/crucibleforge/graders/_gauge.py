"""What a rule about a text is made of: how a text is read, how arguments are checked, how a fault is told.

A line is one with anything on it. A word is a run of letters, digits, apostrophes and hyphens that holds a letter or a
digit; it is compared without case and without apostrophes and hyphens at its ends. All is linear in the text, and
total.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any


@dataclass(frozen=True)
class Gauge:
    """One rule: from a text to a JSON value, and from that to what is wrong with it; empty if nothing is."""

    measure: Callable[[str], Any]
    fault: Callable[[Any], str]

    def test(self, text: str) -> str:
        """What is wrong with a text; empty if nothing is."""
        return self.fault(self.measure(text))


def lines_of(text: str) -> list[str]:
    """The lines with anything on them, without white space at their ends."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def words_of(text: str) -> list[str]:
    """The words as they are compared."""
    return list(_read(text))


@lru_cache(maxsize=16)  # Most rules of a case ask for the words of the same text.
def _read(text: str) -> tuple[str, ...]:
    found = RUN.findall(text.translate(PLAIN).casefold())
    return tuple(word for run in found if (word := run.strip("'-")))


RUN = re.compile(r"(?:[^\W_]|[\u0300-\u036f'\-])+")
PLAIN = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})


def number(value: Any, least: int = 0) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r} is no whole number from {least} on")
    return value


def one_word(value: Any) -> str:
    if not isinstance(value, str) or len(words_of(value)) != 1 or words_of(value)[0] != value.casefold():
        raise ValueError(f"{value!r} is not one word")
    return value.casefold()


def word_list(values: Any) -> list[str]:
    if not isinstance(values, list | tuple) or not values:
        raise ValueError("a list is due")
    return [one_word(value) for value in values]


def letters_of(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[a-z]+", value):
        raise ValueError(f"{value!r} is not made of small letters")
    return value


def letter_of(value: Any) -> str:
    if len(letters_of(value)) != 1:
        raise ValueError(f"{value!r} is not one letter")
    return str(value)


def text_of(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is no text")
    return value


def base(char: str) -> str:
    """A letter without its accent; one at a time, as composing a long text takes more than linear time."""
    return unicodedata.normalize("NFKD", char)[:1].casefold()


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def within(measure: Callable[[str], int], noun: str, least: int, most: int | None, place: str = "") -> Gauge:
    number(least)
    if most is not None and number(most) < least:
        raise ValueError(f"min {least} is over max {most}")

    def fault(got: int) -> str:
        if got >= least and (most is None or got <= most):
            return ""
        wanted = least if least == most else f"at least {least}" if got < least else f"at most {most}"
        return f"{counted(got, noun)}{place}, expected {wanted}"

    return Gauge(measure, fault)


def first_wrong(values: Sequence[Any], wrong: Callable[[Any], Any]) -> tuple[int, Any] | None:
    """The first wrong one with its place from 1."""
    return next(((place, one) for place, one in enumerate(values, 1) if wrong(one)), None)


def every_line(measure: Callable[[str], Any], wrong: Callable[[Any], bool], told: Callable[[Any], str]) -> Gauge:
    """Every line must be right; `told` says what a wrong one is."""

    def fault(got: list[Any]) -> str:
        found = first_wrong(got, wrong)
        return f"line {found[0]} {told(found[1])}" if found else ""

    return Gauge(lambda text: [measure(line) for line in lines_of(text)], fault)
