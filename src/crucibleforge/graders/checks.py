"""The reply obeys every one of a list of rules about its form, each checked by itself.

    {"checks": [{"type": "line_count", "n": 3}, ...]}   `_vocabulary` has the types; one may occur several times
    {"checks": [{..., "turn": 0}]}                      the reply that a rule is about, from 0; without it the last
    {"fence": true}                                     one code fence around a whole reply is taken off first

Otherwise the reply is taken as it is, but for leaked reasoning, white space around it and the kind of line ends. A
reply that is missing, empty, cut off or longer than any text that is asked for is one fault, whatever it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.extract.fence import fences, opened, unified
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._gauge import Gauge
from crucibleforge.graders._said import by_share, is_cut, nothing_said, text_of
from crucibleforge.graders._vocabulary import gauge
from crucibleforge.types import Case, Element, Finding

MAX_TEXT = 100_000
"""Characters; a longer reply is no short text, and is not looked at."""

LAST = -1


@dataclass(frozen=True)
class Check:
    """One rule; `turn` is the reply that it is about, `LAST` the last."""

    name: str
    turn: int
    gauge: Gauge


def find(case: Case, replies: Replies) -> Finding:
    """Try every check.

    Raises:
        ValueError: the case's settings are wrong, whatever the reply says.
    """
    settings = case.grading.settings
    checks = built(settings["checks"])
    fence = settings.get("fence", False)
    turns = list(dict.fromkeys(check.turn for check in checks))
    if turns == [LAST] and (nothing := nothing_said(replies[LAST])):
        return nothing
    elements: list[Element] = []
    for turn in turns:
        text, fault = _text(replies, turn, fence=fence)
        if fault:
            # Without a text every rule would fail for the same reason.
            elements.append(Element("reply" if turn == LAST else f"reply {turn + 1}", passed=False, why=fault))
            continue
        for check in checks:
            if check.turn == turn:
                why = check.gauge.test(text)
                elements.append(Element(check.name, passed=not why, why=why))
    return by_share(elements)


def built(specs: list[dict[str, Any]]) -> tuple[Check, ...]:
    """The checks of a case's settings; equal names of one turn are numbered.

    Raises:
        ValueError: there is none, one is unknown, or its arguments are not those of its type.
    """
    if not specs:
        raise ValueError("no checks, so that any reply would pass")
    checks: list[Check] = []
    seen: dict[tuple[int, str], int] = {}
    for spec in specs:
        kind, turn = spec.get("type", ""), spec.get("turn", LAST)
        if type(turn) is not int or turn < LAST:
            raise ValueError(f"check '{kind}': {turn!r} is no turn")
        test = gauge(kind, {name: value for name, value in spec.items() if name not in {"type", "turn"}})
        seen[turn, kind] = seen.get((turn, kind), 0) + 1
        numbered = f"{kind} {seen[turn, kind]}" if seen[turn, kind] > 1 else kind
        checks.append(Check(numbered if turn == LAST else f"reply {turn + 1}: {numbered}", turn, test))
    return tuple(checks)


def _text(replies: Replies, turn: int, *, fence: bool) -> tuple[str, str]:
    """The text of a turn, and why there is none."""
    if turn >= len(replies):
        return "", "missing"
    reply = replies[turn]
    if is_cut(reply):
        return "", "the reply is cut off"
    if nothing := nothing_said(reply):
        return "", nothing.why
    if len(text := text_of(reply)) > MAX_TEXT:
        return "", f"longer than {MAX_TEXT:,} characters"
    text = unified(text).strip()
    return (_unfenced(text) if fence else text), ""


def _unfenced(text: str) -> str:
    """What a fence around the whole text holds; any other text as it is."""
    first, _, rest = text.partition("\n")
    if not opened(first) or not rest or len(found := fences(text)) != 1 or not found[0].closed:
        return text
    closer = rest.rpartition("\n")[2].strip()
    is_whole = set(closer) <= {first[0]} and closer and rest.count("\n") == found[0].body.count("\n")
    return found[0].body.strip() if is_whole else text


GRADER = ByReading("checks", 3, find, frozenset({"checks", "fence"}))
