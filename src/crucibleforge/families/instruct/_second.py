"""A second reading of the rules, by another way than the grader's: character by character, and by taking apart.

It judges witnesses and mutants. It knows only what the phrase bank can write: letters without accents.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from crucibleforge.families.instruct._rules import Rule

_INNER = set(string.ascii_letters + string.digits + "'-")


def measured(of: Rule, text: str) -> Any:
    """What the rule is about, as it is in a text."""
    return _MEASURES[of.kind](text, dict(of.arguments))


def holds(of: Rule, text: str) -> bool:
    """True when a text obeys the rule."""
    return _HOLDS[of.kind](measured(of, text), dict(of.arguments))


def broken(rules: tuple[Rule, ...], text: str) -> list[int]:
    """Which of the rules a text breaks."""
    return [number for number, one in enumerate(rules) if not holds(one, text)]


def _rows(text: str) -> list[str]:
    rows, row = [], ""
    for char in f"{text}\n":
        if char == "\n":
            rows += [row.rstrip()] * bool(row.strip())
            row = ""
        else:
            row += char
    return rows


def _split(text: str, *, cased: bool = False) -> list[str]:
    found, word = [], ""
    for char in f"{text} ":
        if char in _INNER:
            word += char
            continue
        while word and word[0] in "'-":
            word = word[1:]
        while word and word[-1] in "'-":
            word = word[:-1]
        if word:
            found.append(word if cased else word.lower())
        word = ""
    return found


def _counts(text: str, _: dict[str, Any]) -> list[int]:
    return [len(_split(row)) for row in _rows(text)]


def _row(text: str, line: int) -> str:
    rows = _rows(text)
    return rows[line - 1] if line <= len(rows) else ""


def _alphabetic(word: str) -> int:
    return len(word) - sum(word.count(char) for char in "'-0123456789")


def _initials(text: str, _: dict[str, Any]) -> str:
    initials = ""
    for row in _rows(text):
        letters = [char for char in row.lower() if char in string.ascii_lowercase]
        initials += letters[0] if letters else "?"
    return initials


def _pairs(text: str, _: dict[str, Any]) -> list[list[str]]:
    rows = [_split(row) or [""] for row in _rows(text)]
    return [[rows[number - 1][-1], rows[number][0]] for number in range(1, len(rows))]


def _listed(text: str, given: dict[str, Any]) -> list[str]:
    return [word for word in sorted(given["words"]) if word in _split(text)]


def _order(text: str, given: dict[str, Any]) -> list[str]:
    split = _split(text)
    return sorted((word for word in given["words"] if word in split), key=split.index)


def _again(text: str, given: dict[str, Any]) -> list[str]:
    split = [word for word in _split(text) if _alphabetic(word) >= given["least"]]
    firsts = [word for number, word in enumerate(split) if word not in split[:number]]
    return [word for word in firsts if split.count(word) > 1]


def _cases(text: str, wrong: str) -> str | None:
    if not any(char in string.ascii_letters for char in text):
        return None
    return next((piece for piece in text.split() if any(char in wrong for char in piece)), "")


def _letters(text: str, letter: str) -> int:
    return len(text.lower().split(letter)) - 1


def _between(got: int, given: dict[str, Any]) -> bool:
    return bool(given.get("min", 0) <= got <= given.get("max", got))


_Given = dict[str, Any]
_MEASURES: dict[str, Callable[[str, _Given], Any]] = {
    "acrostic": _initials,
    "capital_words": lambda text, _: sum(
        _alphabetic(word) > 1 and not any(char in string.ascii_lowercase for char in word)
        for word in _split(text, cased=True)
    ),
    "chained_lines": _pairs,
    "char_count": lambda text, _: len("".join(_rows(text))),
    "char_times": lambda text, given: len(text.split(given["char"])) - 1,
    "contains_word": lambda text, given: sum(word == given["word"] for word in _split(text)),
    "ends_with": lambda text, given: "".join(list(text)[max(0, len(text) - len(given["text"])) :]),
    "forbids_digits": lambda text, _: sum(text.count(digit) for digit in string.digits),
    "forbids_letter": lambda text, given: _letters(text, given["letter"]),
    "forbids_word": lambda text, given: sum(word == given["word"] for word in _split(text)),
    "letter_count": lambda text, given: _letters(text, given["letter"]),
    "line_contains": lambda text, given: sum(word == given["word"] for word in _split(_row(text, given["line"]))),
    "line_count": lambda text, _: sum(1 for _ in _rows(text)),
    "line_ends": lambda text, given: list(reversed(_split(_row(text, given["line"]))))[:1],
    "line_length": lambda text, _: [sum(1 for _ in row) for row in _rows(text)],
    "line_prefix": lambda text, given: ["".join(list(row)[: len(given["text"])]) for row in _rows(text)],
    "line_suffix": lambda text, given: [
        "".join(list(row)[max(0, len(row) - len(given["text"])) :]) for row in _rows(text)
    ],
    "line_words": lambda text, given: len(_split(_row(text, given["line"]))),
    "long_words": lambda text, given: len([word for word in _split(text) if _alphabetic(word) > given["letters"]]),
    "longest_word": lambda text, _: max([0, *(_alphabetic(word) for word in _split(text))]),
    "lowercase": lambda text, _: _cases(text, string.ascii_uppercase),
    "no_repeats": _again,
    "rising_lines": _counts,
    "same_ends": lambda text, _: [_split(text)[0], _split(text)[-1]] if _split(text) else [],
    "uppercase": lambda text, _: _cases(text, string.ascii_lowercase),
    "word_count": lambda text, _: sum(len(_split(row)) for row in _rows(text)),
    "word_order": _order,
    "word_times": lambda text, given: sum(word == given["word"] for word in _split(text)),
    "words_from": _listed,
    "words_per_line": _counts,
}
_HOLDS: dict[str, Callable[[Any, _Given], bool]] = {
    "acrostic": lambda got, given: got == given["letters"],
    "capital_words": lambda got, given: got == given["n"],
    "chained_lines": lambda got, _: all(one == other for one, other in got),
    "char_count": _between,
    "char_times": lambda got, given: got == given["n"],
    "contains_word": lambda got, _: got > 0,
    "ends_with": lambda got, given: got == given["text"],
    "forbids_digits": lambda got, _: got == 0,
    "forbids_letter": lambda got, _: got == 0,
    "forbids_word": lambda got, _: got == 0,
    "letter_count": _between,
    "line_contains": lambda got, _: got > 0,
    "line_count": lambda got, given: got == given["n"],
    "line_ends": lambda got, given: got == [given["word"]],
    "line_length": lambda got, given: all(length <= given["max"] for length in got),
    "line_prefix": lambda got, given: set(got) <= {given["text"]},
    "line_suffix": lambda got, given: set(got) <= {given["text"]},
    "line_words": lambda got, given: got == given["n"],
    "long_words": lambda got, given: got == given["n"],
    "longest_word": lambda got, given: got <= given["max"],
    "lowercase": lambda got, _: got == "",
    "no_repeats": lambda got, _: not got,
    "rising_lines": lambda got, _: got == sorted(set(got)),
    "same_ends": lambda got, _: len(got) == 2 and len(set(got)) == 1,
    "uppercase": lambda got, _: got == "",
    "word_count": _between,
    "word_order": lambda got, given: got == list(given["words"]),
    "word_times": lambda got, given: got == given["n"],
    "words_from": lambda got, given: len(got) >= given["min"],
    "words_per_line": lambda got, given: all(_between(count, given) for count in got),
}
