"""The reply states one number, and it is the expected one.

`expected` is an integer, a float or a fraction as text ("3/4"); 0.1 means one tenth. Numbers are compared exactly, as
fractions. Settings, none of them needed:

    {}                                        only the bare number
    {"tolerance": 0.01}                       it may be that far off
    {"units": ["crate", "$"]}                 these may stand before or behind it, in any case, words with a plural s
    {"percent": true}                         a percent sign may; `expected` is 25 for 25%
    {"unknown": true}                         that it cannot be known may be the answer; `expected` is then "unknown"
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crucibleforge.chat import Reply
from crucibleforge.extract import Unread
from crucibleforge.extract.closed import UNKNOWN, tristate
from crucibleforge.extract.number import number
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._said import all_or_nothing, answer_of, nothing_said, unparsed
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Case, Finding


def find(case: Case, replies: Replies) -> Finding:
    """Compare the number that the last reply states."""
    return nothing_said(replies[-1]) or all_or_nothing(fault(replies[-1], case.expected, case.grading.settings))


def fault(reply: Reply, expected: float | str, settings: dict[str, Any]) -> str:
    """Why the reply's number is not the expected one; empty if it is."""
    may_be_unknown = settings.get("unknown", False)

    def read(text: str) -> tuple[Fraction | None, str] | Unread:
        if may_be_unknown and tristate(text) == UNKNOWN:
            return None, text
        value = number(text, units=settings.get("units", ()), percent=settings.get("percent", False))
        return Unread("the answer is not one number") if value is None else (value, text)

    got = answer_of(reply, read)
    if isinstance(got, Unread):
        return unparsed(got)
    value, text = got
    tolerance = settings.get("tolerance", 0)
    if may_be_unknown and expected == UNKNOWN:
        is_right = value is None
    else:
        is_right = value is not None and abs(value - Fraction(str(expected))) <= Fraction(str(tolerance))
    within = f" within {tolerance}" if tolerance else ""
    return "" if is_right else f"got {shortened(text)}, expected {expected}{within}"


SETTINGS = frozenset({"tolerance", "units", "percent", "unknown"})
GRADER = ByReading("numeric", 2, find, SETTINGS)
