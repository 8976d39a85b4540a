"""The reply obeys every one of a list of rules about its form, each checked by itself.

Settings: `checks`, a list of `{"type": ..., ...}` with the arguments of that type, and optionally `turn`, the reply
that is looked at (from 0; without it the last). Lines are those with anything on them; words are runs of characters
other than white space, but `contains_word` and `forbids_word` look for letters bounded by none, in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crucibleforge.extract.fence import unified
from crucibleforge.extract.jsontext import NO_JSON, json_value
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._said import by_share, is_cut, nothing_said, text_of
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_json, shortened
from crucibleforge.types import Case, Element, Finding

Test = Callable[[str], str]
"""From a text to what is wrong with it; empty if nothing is."""


@dataclass(frozen=True)
class Check:
    """One rule; `turn` is the reply that it is about, -1 the last."""

    name: str
    turn: int
    test: Test


def find(case: Case, replies: Replies) -> Finding:
    """Try every check.

    Raises:
        ValueError: the case's settings are wrong, whatever the reply says.
    """
    checks = built(case.grading.settings["checks"])
    looked_at = {check.turn for check in checks}
    if looked_at == {-1} and (nothing := nothing_said(replies[-1])):
        return nothing
    texts = {turn: unified(text_of(replies[turn])).strip() for turn in looked_at if turn < len(replies)}
    faults = [(check.name, _fault(check, replies, texts.get(check.turn, ""))) for check in checks]
    return by_share([Element(name, passed=not why, why=why) for name, why in faults])


def built(specs: list[dict[str, Any]]) -> tuple[Check, ...]:
    """The checks of a case's settings; equal names are numbered.

    Raises:
        ValueError: there is none, one is unknown, or its arguments are not those of its type.
    """
    if not specs:
        raise ValueError("no checks, so that any reply would pass")
    checks: list[Check] = []
    for spec in specs:
        kind = spec.get("type", "")
        if kind not in _VOCABULARY:
            raise ValueError(f"unknown check '{kind}'; known: {', '.join(sorted(_VOCABULARY))}")
        arguments = {name: value for name, value in spec.items() if name not in {"type", "turn"}}
        try:
            test = _VOCABULARY[kind](**arguments)
        except TypeError as error:
            raise ValueError(f"check '{kind}': {error}") from error
        earlier = sum(check.name.partition(" ")[0] == kind for check in checks)
        checks.append(Check(f"{kind} {earlier + 1}" if earlier else kind, spec.get("turn", -1), test))
    return tuple(checks)


def _fault(check: Check, replies: Replies, text: str) -> str:
    if check.turn >= len(replies):
        return f"no reply {check.turn + 1}"
    reply = replies[check.turn]
    if is_cut(reply):
        return "the reply is cut off"
    if text:
        return check.test(text)
    nothing = nothing_said(reply)
    return nothing.why if nothing else "empty reply"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _equals_lines(lines: list[str]) -> Test:
    def test(text: str) -> str:
        got = _lines(text)
        for place, (one, other) in enumerate(zip(got, lines, strict=False), 1):
            if one != other:
                return f"line {place} is {as_json(one)}, expected {as_json(other)}"
        return "" if len(got) == len(lines) else f"{_counted(len(got), 'line')}, expected {len(lines)}"

    return test


def _json_equals(value: Any) -> Test:
    def test(text: str) -> str:
        got = json_value(text)
        if got is NO_JSON:
            return "no JSON in reply"
        return "" if same(got, value) else f"got {as_json(got)}, expected {as_json(value)}"

    return test


def _line_count(n: int) -> Test:
    def test(text: str) -> str:
        got = len(_lines(text))
        return "" if got == n else f"{_counted(got, 'line')}, expected {n}"

    return test


def _word_count(min: int = 0, max: int | None = None) -> Test:  # noqa: A002 - named as in the settings
    def test(text: str) -> str:
        got = len(text.split())
        if got < min:
            return f"{_counted(got, 'word')}, expected at least {min}"
        return "" if max is None or got <= max else f"{_counted(got, 'word')}, expected at most {max}"

    return test


def _starts_with(text: str) -> Test:
    def test(got: str) -> str:
        return "" if got.startswith(text) else f"starts with {as_json(got[: len(text)])}, expected {as_json(text)}"

    return test


def _ends_with(text: str) -> Test:
    def test(got: str) -> str:
        return "" if got.endswith(text) else f"ends with {as_json(got[-len(text) :])}, expected {as_json(text)}"

    return test


def _uppercase() -> Test:
    def test(text: str) -> str:
        wrong = next((word for word in text.split() if word != word.upper()), "")
        return f"{shortened(wrong)} is not in capitals" if wrong else "" if text.isupper() else "no letters in reply"

    return test


def _lowercase() -> Test:
    def test(text: str) -> str:
        wrong = next((word for word in text.split() if word != word.lower()), "")
        return (
            f"{shortened(wrong)} is not in small letters" if wrong else "" if text.islower() else "no letters in reply"
        )

    return test


def _contains_word(word: str) -> Test:
    pattern = _word(word)
    return lambda text: "" if pattern.search(text.casefold()) else f"'{word}' is missing"


def _forbids_word(word: str) -> Test:
    pattern = _word(word)
    return lambda text: f"'{word}' occurs" if pattern.search(text.casefold()) else ""


def _word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word.casefold())}(?!\w)")


def _numbered_lines(n: int) -> Test:
    """Lines that begin `1.` or `1)` and so on; other lines between them do not matter."""

    def test(text: str) -> str:
        numbers = [int(found[1]) for line in _lines(text) if (found := _NUMBERED.match(line))]
        if len(numbers) != n:
            return f"{_counted(len(numbers), 'numbered line')}, expected {n}"
        return "" if numbers == list(range(1, n + 1)) else f"lines are not numbered 1 to {n}"

    return test


_NUMBERED = re.compile(r"\s{0,16}([0-9]{1,9})[.)]\s{1,16}\S")
_VOCABULARY: dict[str, Callable[..., Test]] = {
    "equals_lines": _equals_lines,
    "json_equals": _json_equals,
    "line_count": _line_count,
    "word_count": _word_count,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "uppercase": _uppercase,
    "lowercase": _lowercase,
    "contains_word": _contains_word,
    "forbids_word": _forbids_word,
    "numbered_lines": _numbered_lines,
}

GRADER = ByReading("checks", 2, find, frozenset({"checks"}))
