"""The types of rules about a text that `checks` knows."""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from crucibleforge.extract.jsontext import NO_JSON, json_value
from crucibleforge.graders._gauge import (
    PLAIN,
    RUN,
    Gauge,
    base,
    counted,
    every_line,
    first_wrong,
    letter_of,
    letters_of,
    lines_of,
    number,
    one_word,
    text_of,
    within,
    word_list,
    words_of,
)
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_json, shortened


def gauge(kind: str, arguments: Mapping[str, Any]) -> Gauge:
    """The rule of a type.

    Raises:
        ValueError: the type is unknown, or the arguments are not those of its type.
    """
    if kind not in VOCABULARY:
        raise ValueError(f"unknown check '{kind}'; known: {', '.join(sorted(VOCABULARY))}")
    try:
        return VOCABULARY[kind](**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"check '{kind}': {error}") from error


_NUMBERED = re.compile(r"\s{0,16}([0-9]{1,9})[.)]\s{1,16}\S")


def _equals_lines(lines: list[str]) -> Gauge:
    wanted = lines

    def fault(got: list[str]) -> str:
        for place, (one, other) in enumerate(zip(got, wanted, strict=False), 1):
            if one != other:
                return f"line {place} is {as_json(one)}, expected {as_json(other)}"
        return "" if len(got) == len(wanted) else f"{counted(len(got), 'line')}, expected {len(wanted)}"

    return Gauge(lines_of, fault)


def _json_equals(value: Any) -> Gauge:
    def fault(got: Any) -> str:
        if got is NO_JSON:
            return "no JSON in reply"
        return "" if same(got, value) else f"got {as_json(got)}, expected {as_json(value)}"

    return Gauge(json_value, fault)


def _line_count(n: int) -> Gauge:
    return within(lambda text: len(lines_of(text)), "line", n, n)


def _word_count(min: int = 0, max: int | None = None) -> Gauge:  # noqa: A002 - named as in the settings
    return within(lambda text: len(words_of(text)), "word", min, max)


def _char_count(min: int = 0, max: int | None = None) -> Gauge:  # noqa: A002 - named as in the settings
    return within(lambda text: sum(map(len, lines_of(text))), "character", min, max)


def _words_per_line(min: int = 0, max: int | None = None) -> Gauge:  # noqa: A002 - named as in the settings
    inner = within(len, "word", min, max)

    def fault(got: list[int]) -> str:
        found = first_wrong(got, inner.fault)
        return f"line {found[0]}: {inner.fault(found[1])}" if found else ""

    return Gauge(_words_by_line, fault)


def _words_by_line(text: str) -> list[int]:
    return [len(words_of(line)) for line in lines_of(text)]


def _line_words(line: int, n: int) -> Gauge:
    return within(lambda text: len(_words_in(text, line)), "word", n, n, f" in line {number(line, 1)}")


def _words_in(text: str, line: int) -> list[str]:
    return words_of("\n".join(lines_of(text)[line - 1 : line]))


def _rising_lines() -> Gauge:
    def fault(got: list[int]) -> str:
        found = first_wrong(list(pairwise(got)), lambda pair: pair[0] >= pair[1])
        return f"line {found[0] + 1} has {counted(found[1][1], 'word')} after {found[1][0]}" if found else ""

    return Gauge(_words_by_line, fault)


def _line_length(max: int) -> Gauge:  # noqa: A002 - named as in the settings
    number(max, 1)
    return every_line(len, lambda got: got > max, lambda got: f"has {got} characters, expected at most {max}")


def _forbids_letter(letter: str) -> Gauge:
    return _letter_count(letter, 0, 0)


def _letter_count(letter: str, min: int = 0, max: int | None = None) -> Gauge:  # noqa: A002 - named as in the settings
    letter_of(letter)

    def measure(text: str) -> int:
        folded = text.casefold()
        return sum(folded.count(char) for char in set(folded) if base(char) == letter)

    return within(measure, f"letter {letter}", min, max)


def _acrostic(letters: str) -> Gauge:
    letters_of(letters)

    def fault(got: str) -> str:
        return "" if got == letters else f"the lines begin with {as_json(got)}, expected {as_json(letters)}"

    return Gauge(lambda text: "".join(map(_initial, lines_of(text))), fault)


def _initial(line: str) -> str:
    return next((base(char) for char in line if char.isalpha()), "?")


def _longest_word(max: int) -> Gauge:  # noqa: A002 - named as in the settings
    number(max, 1)

    def fault(got: int) -> str:
        return "" if got <= max else f"a word has {got} letters, expected at most {max}"

    return Gauge(lambda text: builtins.max(map(_size, words_of(text)), default=0), fault)


def _long_words(letters: int, n: int) -> Gauge:
    number(letters, 1)
    number(n)

    def fault(got: int) -> str:
        return "" if got == n else f"{counted(got, 'word')} of more than {letters} letters, expected {n}"

    return Gauge(lambda text: sum(_size(word) > letters for word in words_of(text)), fault)


def _size(word: str) -> int:
    return sum(char.isalpha() for char in word)


def _starts_with(text: str) -> Gauge:
    wanted = text_of(text)
    return Gauge(
        lambda got: got[: len(wanted)],
        lambda got: "" if got == wanted else f"starts with {as_json(got)}, expected {as_json(wanted)}",
    )


def _ends_with(text: str) -> Gauge:
    wanted = text_of(text)
    return Gauge(
        lambda got: got[-len(wanted) :],
        lambda got: "" if got == wanted else f"ends with {as_json(got)}, expected {as_json(wanted)}",
    )


def _line_prefix(text: str) -> Gauge:
    wanted = text_of(text)
    return every_line(
        lambda line: line[: len(wanted)],
        lambda got: got != wanted,
        lambda got: f"begins with {as_json(got)}, expected {as_json(wanted)}",
    )


def _line_suffix(text: str) -> Gauge:
    wanted = text_of(text)
    return every_line(
        lambda line: line[-len(wanted) :],
        lambda got: got != wanted,
        lambda got: f"ends with {as_json(got)}, expected {as_json(wanted)}",
    )


def _uppercase() -> Gauge:
    return Gauge(lambda text: _not_in_case(text, str.upper), lambda got: _told_case(got, "capitals"))


def _lowercase() -> Gauge:
    return Gauge(lambda text: _not_in_case(text, str.lower), lambda got: _told_case(got, "small letters"))


def _not_in_case(text: str, cased: Callable[[str], str]) -> str | None:
    """The first wrong word; None for a text without letters."""
    wrong = next((word for word in text.split() if word != cased(word)), "")
    return shortened(wrong) if wrong or any(char.isalpha() for char in text) else None


def _told_case(got: str | None, wanted: str) -> str:
    return "no letters in reply" if got is None else f"{got} is not in {wanted}" if got else ""


def _capital_words(n: int) -> Gauge:
    def measure(text: str) -> int:
        runs = RUN.findall(text.translate(PLAIN))
        return sum(_size(run) > 1 and run == run.upper() for run in runs)

    return within(measure, "word", n, n, " in capitals")


def _contains_word(word: str) -> Gauge:
    return Gauge(_times(word), lambda got: "" if got else f"'{word}' is missing")


def _forbids_word(word: str) -> Gauge:
    return Gauge(_times(word), lambda got: f"'{word}' occurs" if got else "")


def _word_times(word: str, n: int) -> Gauge:
    number(n)
    return Gauge(_times(word), lambda got: "" if got == n else f"'{word}' occurs {got} times, expected {n}")


def _times(word: str) -> Callable[[str], int]:
    wanted = one_word(word)
    return lambda text: words_of(text).count(wanted)


def _words_from(words: list[str], min: int) -> Gauge:  # noqa: A002 - named as in the settings
    wanted = word_list(words)
    if number(min, 1) > len(set(wanted)):
        raise ValueError(f"there are not {min} words")

    def fault(got: list[str]) -> str:
        return "" if len(got) >= min else f"{len(got)} of the given words, expected at least {min}"

    return Gauge(lambda text: sorted(set(wanted) & set(words_of(text))), fault)


def _word_order(words: list[str]) -> Gauge:
    wanted = word_list(words)

    def fault(got: list[str]) -> str:
        return "" if got == wanted else f"first used in the order {', '.join(got) or 'none'}"

    return Gauge(lambda text: [word for word in dict.fromkeys(words_of(text)) if word in set(wanted)], fault)


def _line_contains(line: int, word: str) -> Gauge:
    number(line, 1)
    wanted = one_word(word)
    return Gauge(
        lambda text: _words_in(text, line).count(wanted), lambda got: "" if got else f"'{word}' is not in line {line}"
    )


def _line_ends(line: int, word: str) -> Gauge:
    number(line, 1)
    wanted = one_word(word)

    def fault(got: list[str]) -> str:
        return "" if got == [wanted] else f"the last word of line {line} is {as_json(got[0] if got else None)}"

    return Gauge(lambda text: _words_in(text, line)[-1:], fault)


def _no_repeats(least: int = 1) -> Gauge:
    number(least, 1)

    def measure(text: str) -> list[str]:
        times_of = Counter(word for word in words_of(text) if _size(word) >= least)
        return [word for word, times in times_of.items() if times > 1]

    return Gauge(measure, lambda got: f"{shortened(got[0])} occurs more than once" if got else "")


def _chained_lines() -> Gauge:
    def measure(text: str) -> list[list[str]]:
        inner = [words_of(line) or [""] for line in lines_of(text)]
        return [[one[-1], other[0]] for one, other in pairwise(inner)]

    def fault(got: list[list[str]]) -> str:
        found = first_wrong(got, lambda pair: pair[0] != pair[1])
        return f"line {found[0] + 1} begins with {as_json(found[1][1])} after {as_json(found[1][0])}" if found else ""

    return Gauge(measure, fault)


def _same_ends() -> Gauge:
    def measure(text: str) -> list[str]:
        found = words_of(text)
        return [*found[:1], *found[-1:]]

    def fault(got: list[str]) -> str:
        is_same = len(got) == 2 and got[0] == got[1]  # noqa: PLR2004 - the two ends
        return "" if is_same else f"first and last word are {as_json(got)}"

    return Gauge(measure, fault)


def _char_times(char: str, n: int) -> Gauge:
    if len(text_of(char)) != 1 or char.isalnum():
        raise ValueError(f"{char!r} is no mark")
    number(n)
    return Gauge(lambda text: text.count(char), lambda got: "" if got == n else f"{got} x {char!r}, expected {n}")


def _forbids_digits() -> Gauge:
    return within(lambda text: sum(char.isdigit() for char in text), "digit", 0, 0)


def _numbered_lines(n: int) -> Gauge:
    """Lines that begin `1.` or `1)` and so on; other lines between them do not matter."""
    number(n, 1)

    def fault(got: list[int]) -> str:
        if len(got) != n:
            return f"{counted(len(got), 'numbered line')}, expected {n}"
        return "" if got == list(range(1, n + 1)) else f"lines are not numbered 1 to {n}"

    return Gauge(lambda text: [int(found[1]) for line in lines_of(text) if (found := _NUMBERED.match(line))], fault)


VOCABULARY: dict[str, Callable[..., Gauge]] = {
    "acrostic": _acrostic,
    "capital_words": _capital_words,
    "chained_lines": _chained_lines,
    "char_count": _char_count,
    "char_times": _char_times,
    "contains_word": _contains_word,
    "ends_with": _ends_with,
    "equals_lines": _equals_lines,
    "forbids_digits": _forbids_digits,
    "forbids_letter": _forbids_letter,
    "forbids_word": _forbids_word,
    "json_equals": _json_equals,
    "letter_count": _letter_count,
    "line_contains": _line_contains,
    "line_count": _line_count,
    "line_ends": _line_ends,
    "line_length": _line_length,
    "line_prefix": _line_prefix,
    "line_suffix": _line_suffix,
    "line_words": _line_words,
    "long_words": _long_words,
    "longest_word": _longest_word,
    "lowercase": _lowercase,
    "no_repeats": _no_repeats,
    "numbered_lines": _numbered_lines,
    "rising_lines": _rising_lines,
    "same_ends": _same_ends,
    "starts_with": _starts_with,
    "uppercase": _uppercase,
    "word_count": _word_count,
    "word_order": _word_order,
    "word_times": _word_times,
    "words_from": _words_from,
    "words_per_line": _words_per_line,
}
"""What the rule of each type is made from: its arguments are named as in the settings."""
