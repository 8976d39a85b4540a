"""Rules that are read off a text: the kind is given, the numbers and words are those of the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families.instruct._mutants import Text
from crucibleforge.families.instruct._prose import ARTICLE, Line
from crucibleforge.families.instruct._rules import Rule, rule
from crucibleforge.families.instruct._second import measured


@dataclass(frozen=True)
class Plan:
    """What is known before the lines are written."""

    kinds: tuple[str, ...]
    topic: str
    listed: tuple[str, ...]
    needed: tuple[str, ...]
    own: tuple[str, ...]
    letter: str
    forbidden: str


def read_off(kind: str, text: Text, plan: Plan, draw: Draw) -> Rule | None:
    """A rule with the numbers and words of this text; None where the text is not fit for it."""
    made = _READ[kind](text, plan, draw)
    return None if made is None else replace(made, kind=kind, wording=draw.below(2))


def _told(kind: str, text: Text, **arguments: Any) -> Any:
    return measured(rule(kind, **arguments), str(text))


def _line_of(text: Text, draw: Draw) -> tuple[int, Line]:
    row = draw.below(len(text.lines))
    return row + 1, text.lines[row]


def _some_line(text: Text, _: Plan, draw: Draw) -> Rule:
    line, words = _line_of(text, draw)
    return rule("", line=line, n=len(words))


def _some_end(text: Text, _: Plan, draw: Draw) -> Rule:
    line, words = _line_of(text, draw)
    return rule("", line=line, word=words[-1].word)


def _placed(text: Text, plan: Plan, _: Draw) -> Rule | None:
    word = plan.own[0]
    found = [number for number, line in enumerate(text.lines, 1) if word in [one.word for one in line]]
    return rule("", line=found[0], word=word) if len(found) == 1 else None


def _ordered(text: Text, plan: Plan, _: Draw) -> Rule:
    words = [one.word for line in text.lines for one in line]
    return rule("", words=tuple(sorted(plan.own, key=words.index)))


def _repeated(text: Text, _: Plan, draw: Draw) -> Rule | None:
    words = [one.word for line in text.lines for one in line if one.role == ARTICLE]
    often = sorted({word for word in words if words.count(word) > 1})
    if not often:
        return None
    word = draw.pick(often)
    return rule("", word=word, n=_told("word_times", text, word=word))


def _lettered(text: Text, _: Plan, draw: Draw) -> Rule | None:
    letter = draw.pick("abcdfghlmpuwy")
    count = _told("letter_count", text, letter=letter)
    return rule("", letter=letter, min=count, max=count) if 2 <= count <= 9 else None


def _unrepeated(text: Text, _: Plan, __: Draw) -> Rule | None:
    least = next((least for least in (4, 5, 6) if not _told("no_repeats", text, least=least)), None)
    return None if least is None else rule("", least=least)


def _long(text: Text, _: Plan, __: Draw) -> Rule | None:
    letters = next((many for many in (6, 7, 8) if 2 <= _told("long_words", text, letters=many) <= 6), None)
    return None if letters is None else rule("", letters=letters, n=_told("long_words", text, letters=letters))


def _width(text: Text, _: Plan, __: Draw) -> Rule:
    counts = [len(line) for line in text.lines]
    return rule("", min=min(counts), max=max(counts))


def _total(text: Text, _: Plan, __: Draw) -> Rule:
    count = _told("word_count", text)
    return rule("", min=count, max=count)


_READ: dict[str, Callable[[Text, Plan, Draw], Rule | None]] = {
    "acrostic": lambda text, _, __: rule("", letters=_told("acrostic", text)),
    "capital_words": lambda text, _, __: rule("", n=_told("capital_words", text)),
    "chained_lines": lambda *_: rule(""),
    "char_count": lambda text, _, draw: rule("", max=_told("char_count", text) + draw.below(4)),
    "char_times": lambda text, _, __: rule("", char=",", n=_told("char_times", text, char=",")),
    "contains_word": lambda _, plan, __: rule("", word=plan.own[0]),
    "forbids_digits": lambda *_: rule(""),
    "forbids_letter": lambda _, plan, __: rule("", letter=plan.letter),
    "forbids_word": lambda _, plan, __: rule("", word=plan.forbidden),
    "letter_count": _lettered,
    "line_contains": _placed,
    "line_count": lambda text, _, __: rule("", n=len(text.lines)),
    "line_ends": _some_end,
    "line_length": lambda text, _, draw: rule("", max=max(_told("line_length", text)) + draw.below(3)),
    "line_prefix": lambda text, _, __: rule("", text=text.shape.prefix),
    "line_suffix": lambda text, _, __: rule("", text=text.shape.suffix),
    "line_words": _some_line,
    "long_words": _long,
    "longest_word": lambda text, _, __: rule("", max=_told("longest_word", text)),
    "lowercase": lambda *_: rule(""),
    "no_repeats": _unrepeated,
    "rising_lines": lambda *_: rule(""),
    "same_ends": lambda *_: rule(""),
    "uppercase": lambda *_: rule(""),
    "word_count": _total,
    "word_order": _ordered,
    "word_times": _repeated,
    "words_from": lambda _, plan, __: rule("", words=plan.listed, min=len(plan.needed)),
    "words_per_line": _width,
}
