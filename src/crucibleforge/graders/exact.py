"""The reply states the expected words.

Settings: `choices`, the closed list of possible answers: then just one of them must occur in the answer, as a whole
word, and the rest of the answer does not matter unless it negates. Without choices the answer must equal `expected`
up to white space. Case does not matter unless `case_sensitive` is true.
"""

from __future__ import annotations

import re
from typing import Any

from crucibleforge.chat import Reply
from crucibleforge.extract.answer import answer_line, clean, last_line
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._said import all_or_nothing, is_cut, nothing_said, text_of
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Case, Finding

_NEGATION = re.compile(r"(?<!\w)(?:not|neither|nor|never|cannot|except|\w{1,9}n['\u2019]t)(?!\w)", re.IGNORECASE)


def find(case: Case, replies: Replies) -> Finding:
    """Compare the words that the last reply states."""
    return nothing_said(replies[-1]) or all_or_nothing(fault(replies[-1], case.expected, case.grading.settings))


def fault(reply: Reply, expected: str, settings: dict[str, Any]) -> str:
    """Why the reply's answer is not the expected one; empty if it is."""
    text, cut = text_of(reply), is_cut(reply)
    sensitive: bool = settings.get("case_sensitive", False)
    choices = [_folded(choice, sensitive=sensitive) for choice in settings.get("choices", ())]
    gold = _folded(expected, sensitive=sensitive)
    stated = answer_line(text, cut=cut)
    if stated is None and not cut and _folded(last := last_line(text), sensitive=sensitive) in (choices or [gold]):
        stated = last
    if stated is None:
        return "no answer line in reply"
    answer = _folded(stated, sensitive=sensitive)
    if answer == gold or (choices and _chosen(answer, choices) == {gold}):
        return ""
    return f"got {shortened(stated)}, expected {expected}"


def _folded(text: str, *, sensitive: bool) -> str:
    """Both sides go through the same cleaning, so that an expected full stop is not held against the reply."""
    words = " ".join((clean(text) or text).split())
    return words if sensitive else words.casefold()


def _chosen(answer: str, choices: list[str]) -> set[str]:
    """The choices that occur; a longer one hides a shorter one inside it. Empty if the answer negates."""
    longest_first = sorted(choices, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    rest = pattern.sub(" ", answer)
    return set() if _NEGATION.search(rest) else set(pattern.findall(answer))


GRADER = ByReading("exact", 1, find)
