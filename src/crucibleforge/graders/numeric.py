"""The reply states one number, and it is the expected one.

`expected` is an integer, a float or a fraction as text ("3/4"). Settings: `tolerance`, how far off the number may
be (0). Numbers are compared exactly; 0.1 means one tenth.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crucibleforge.chat import Reply
from crucibleforge.extract.answer import answer_line, last_line
from crucibleforge.extract.number import number
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._said import all_or_nothing, is_cut, nothing_said, text_of
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Case, Finding


def find(case: Case, replies: Replies) -> Finding:
    """Compare the number that the last reply states."""
    return nothing_said(replies[-1]) or all_or_nothing(fault(replies[-1], case.expected, case.grading.settings))


def fault(reply: Reply, expected: float | str, settings: dict[str, Any]) -> str:
    """Why the reply's number is not the expected one; empty if it is."""
    text, cut = text_of(reply), is_cut(reply)
    stated = answer_line(text, cut=cut)
    if stated is None and not cut and number(last := last_line(text)) is not None:
        stated = last
    if stated is None:
        return "no answer line in reply"
    got = number(stated)
    if got is None:
        return f"answer is not one number: {shortened(stated)}"
    tolerance = settings.get("tolerance", 0)
    if abs(got - Fraction(str(expected))) <= Fraction(str(tolerance)):
        return ""
    return f"got {shortened(stated)}, expected {expected}" + (f" within {tolerance}" if tolerance else "")


GRADER = ByReading("numeric", 1, find)
