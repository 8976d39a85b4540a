"""Changed witnesses: some that break just one rule, which shows that no rule is idle, and some that break none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families.instruct._prose import (
    ADJECTIVE,
    BANK,
    NOUN,
    OPENER,
    Demand,
    Line,
    Shape,
    Token,
    composed,
    swapped,
    written,
)
from crucibleforge.families.instruct._rules import Rule, spec
from crucibleforge.graders._gauge import Gauge
from crucibleforge.graders.checks import built

Lines = list[Line]
Edit = Callable[[Lines, dict[str, Any], Draw], Lines]
TRIES = 80


@dataclass(frozen=True)
class Text:
    """Lines and how they are written down."""

    lines: Lines
    shape: Shape

    def __str__(self) -> str:
        """As a reply has it."""
        return written(self.lines, self.shape)


def gauges(rules: Sequence[Rule]) -> list[Gauge]:
    """What the grader makes of the rules."""
    return [check.gauge for check in built([spec(one) for one in rules])]


def breaking_one(text: Text, rules: Sequence[Rule], number: int, draw: Draw) -> str | None:
    """A text near this one that breaks the rule of a number, and no other; None if none was found."""
    made = gauges(rules)
    kind, arguments = rules[number].kind, dict(rules[number].arguments)
    for _ in range(TRIES):
        changed = _changed(text, kind, arguments, draw)
        broken = changed is not None and made[number].test(changed)
        if changed and broken and not any(one.test(changed) for at, one in enumerate(made) if at != number):
            return changed
    return None


def varied(text: Text, rules: Sequence[Rule], count: int, draw: Draw) -> tuple[str, ...]:
    """Up to `count` different texts near this one that break no rule."""
    made = gauges(rules)
    found: dict[str, None] = {}
    lines = text.lines
    for _ in range(TRIES):
        changed = _swap(lines, {}, draw)
        told = written(changed, text.shape)
        if told != str(text) and not any(one.test(told) for one in made):
            lines = changed
            found[told] = None
        if len(found) == count:
            break
    return tuple(found)


def _changed(text: Text, kind: str, arguments: dict[str, Any], draw: Draw) -> str | None:
    if kind in _ON_TEXT:
        rows = str(text).split("\n")
        row = draw.below(len(rows))
        rows[row] = _ON_TEXT[kind](rows[row], arguments, draw)
        return "\n".join(rows)
    edit = draw.pick(_EDITS[kind])
    lines = text.lines
    for _ in range(1 if kind in _ONCE else draw.between(1, 3)):
        lines = edit(lines, arguments, draw)
    return written(lines, text.shape) if lines else None


def _place(lines: Lines, draw: Draw, wanted: Callable[[Token], bool]) -> tuple[int, int] | None:
    places = [(row, column) for row, line in enumerate(lines) for column, one in enumerate(line) if wanted(one)]
    return draw.pick(places) if places else None


def _put(lines: Lines, at: tuple[int, int] | None, word: str) -> Lines:
    if at is None:
        return lines
    return [swapped(line, at[1], word) if row == at[0] else line for row, line in enumerate(lines)]


def _swap(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    """Another word of the same role."""
    at = _place(lines, draw, lambda _: True)
    return _put(lines, at, draw.pick(BANK[lines[at[0]][at[1]].role])) if at else lines


def _lengthen(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    """A long word for one in the middle."""
    return _put(lines, _place(lines, draw, lambda one: one.role == ADJECTIVE), draw.pick(_LONG))


def _swap_given(lines: Lines, arguments: dict[str, Any], draw: Draw) -> Lines:
    """Another noun for a word that the rule names."""
    given = {arguments.get("word"), *arguments.get("words", ())}
    at = _place(lines, draw, lambda one: one.word in given)
    return _put(lines, at, draw.pick(BANK[lines[at[0]][at[1]].role])) if at else lines


def _exchange_given(lines: Lines, arguments: dict[str, Any], draw: Draw) -> Lines:
    """A word that the rule names changes places with another noun."""
    given = {arguments.get("word"), *arguments.get("words", ())}
    one = _place(lines, draw, lambda token: token.word in given)
    other = _place(lines, draw, lambda token: token.role == NOUN)
    if one is None or other is None:
        return lines
    first, second = lines[one[0]][one[1]].word, lines[other[0]][other[1]].word
    return _put(_put(lines, one, second), other, first)


def _put_given(lines: Lines, arguments: dict[str, Any], draw: Draw) -> Lines:
    return _put(lines, _place(lines, draw, lambda one: one.role != OPENER), arguments["word"])


def _put_again(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    """A word that stands elsewhere, for another of its role."""
    at = _place(lines, draw, lambda one: len(one.word) > 3)
    if at is None:
        return lines
    source = lines[at[0]][at[1]]
    return _put(lines, _place(lines, draw, lambda one: one.role == source.role), source.word)


def _add(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    at = _place(lines, draw, lambda one: one.role in {NOUN, ADJECTIVE})
    if at is None or not at[1]:
        return lines
    line, extra = lines[at[0]], Token(ADJECTIVE, draw.pick(BANK[ADJECTIVE]))
    return [*lines[: at[0]], (*line[: at[1]], extra, *line[at[1] :]), *lines[at[0] + 1 :]]


def _remove(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    at = _place(lines, draw, lambda one: one.role == ADJECTIVE and not one.comma and not one.loud)
    if at is None:
        return lines
    line = lines[at[0]]
    return [*lines[: at[0]], (*line[: at[1]], *line[at[1] + 1 :]), *lines[at[0] + 1 :]]


def _move(lines: Lines, arguments: dict[str, Any], draw: Draw) -> Lines:
    return _add(_remove(lines, arguments, draw), arguments, draw)


def _reorder(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    return draw.shuffled(lines)


def _append(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    more = composed(Demand((len(lines[-1]) + 1,)), draw) or []
    return [*lines, *more]


def _drop(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    if len(lines) < 2:
        return lines
    gone = draw.below(len(lines))
    return lines[:gone] + lines[gone + 1 :]


def _merge(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    if len(lines) < 2:
        return lines
    at = draw.below(len(lines) - 1)
    return [*lines[:at], (*lines[at], *lines[at + 1]), *lines[at + 2 :]]


def _split(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    row = draw.below(len(lines))
    line = lines[row]
    if len(line) < 2:
        return lines
    at = draw.between(1, len(line) - 1)
    return [*lines[:row], line[:at], line[at:], *lines[row + 1 :]]


def _chain_on(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    """A further line that begins with the last word."""
    more = composed(Demand((len(lines[-1]) + 1,), chained=True), draw)
    return [*lines, (lines[-1][-1], *more[0][1:])] if more else lines


def _comma(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    at = _place(lines, draw, lambda _: True)
    return _toggled(lines, at, "comma")


def _loud(lines: Lines, _: dict[str, Any], draw: Draw) -> Lines:
    at = _place(lines, draw, lambda one: one.role != OPENER)
    return _toggled(lines, at, "loud")


def _toggled(lines: Lines, at: tuple[int, int] | None, name: str) -> Lines:
    if at is None or (name == "comma" and at[1] == len(lines[at[0]]) - 1):
        return lines
    line = lines[at[0]]
    token = line[at[1]]
    new = replace(token, comma=not token.comma) if name == "comma" else replace(token, loud=not token.loud)
    return [*lines[: at[0]], (*line[: at[1]], new, *line[at[1] + 1 :]), *lines[at[0] + 1 :]]


def _recased(row: str, _: dict[str, Any], draw: Draw) -> str:
    words = row.split(" ")
    at = draw.below(len(words))
    words[at] = words[at].capitalize() if words[at].islower() else words[at].lower()
    return " ".join(words)


_ONCE = frozenset({"line_count", "acrostic", "capital_words", "contains_word", "forbids_letter", "forbids_word"})
_LONG = ("thoughtful", "considerable", "comfortable", "magnificent", "fundamental", "straightforward", "old-fashioned")
_LENGTHS: tuple[Edit, ...] = (_add, _remove, _move)
_EDITS: dict[str, tuple[Edit, ...]] = {
    "acrostic": (_swap,),
    "capital_words": (_loud,),
    "chained_lines": (_swap,),
    "char_count": (_swap, _add, _lengthen),
    "char_times": (_comma,),
    "contains_word": (_swap_given,),
    "forbids_letter": (_swap,),
    "forbids_word": (_put_given,),
    "letter_count": (_swap,),
    "line_contains": (_swap_given, _exchange_given),
    "line_count": (_append, _drop, _merge, _merge, _split, _chain_on),
    "line_ends": (_swap_given, _exchange_given),
    "line_length": (_swap, _add, _lengthen),
    "line_words": _LENGTHS,
    "long_words": (_swap, _lengthen),
    "longest_word": (_lengthen,),
    "no_repeats": (_put_again,),
    "rising_lines": (*_LENGTHS, _reorder),
    "same_ends": (_swap,),
    "word_count": (_add, _remove),
    "word_order": (_exchange_given, _swap_given),
    "word_times": (_swap_given, _put_given),
    "words_from": (_swap_given,),
    "words_per_line": _LENGTHS,
}
_ON_TEXT: dict[str, Callable[[str, dict[str, Any], Draw], str]] = {
    "ends_with": lambda row, given, _: row.removesuffix(given["text"]),
    "forbids_digits": lambda row, _, draw: row.replace(draw.pick((" the ", " this ", " that ", " our ")), " 7 "),
    "line_prefix": lambda row, given, _: row.removeprefix(given["text"]),
    "line_suffix": lambda row, given, _: row.removesuffix(given["text"]),
    "lowercase": _recased,
    "uppercase": _recased,
}
