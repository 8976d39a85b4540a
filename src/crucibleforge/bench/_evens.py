"""The numbers from 1 to 10, the even ones marked, and their sum: the sums are trivial, the form is the test.

The mark is drawn. Blank lines, a fence, bullets, bold, and words before and behind are let pass; a line with
a word on it is no line of the list, and the last list counts.
"""

from __future__ import annotations

import re

from crucibleforge.bench._question import MAX_TEXT, explained, posed
from crucibleforge.extract.answer import clean
from crucibleforge.extract.fence import opened, unified
from crucibleforge.extract.number import number
from crucibleforge.families._draw import Draw
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._gauge import PLAIN
from crucibleforge.graders._said import by_share, nothing_said, text_of
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Case, Element, Finding, Grading

COUNT = 10
_MARKS = "*#+@^!"
_NUMBER = re.compile(r"\s{0,16}(?:[-*\u2022]\s{1,8})?([0-9]{1,4})[.,;]?\s{0,8}((?:[^\w\s]{1,4}|\(?even\)?)?)\s{0,16}")
_SUM = re.compile(
    r"\W{0,8}(?:the\s)?(?:sum|total)(?:\sof\s(?:the\s|all\s){0,2}(?:even|marked)(?:\s(?:numbers|ones))?|\sof\sevens)?"
    r"\s{0,4}(?:is\b|[:=])?\s{0,4}(.{1,60})",
    re.IGNORECASE,
)
_ODD_FORMS = PLAIN | {0xFF0A: "*", 0x2217: "*", 0x200B: None, 0xFEFF: None, 0xA0: " "}
_SHOWN = 40


def pose(draw: Draw) -> Case:
    """The list with a mark of this run."""
    mark = draw.pick(_MARKS)
    prompt = (
        f"Write the whole numbers from 1 to {COUNT} in rising order, each on a line of its own. Behind every even "
        f"number, on the same line, write one space and the sign {mark} ; behind an odd number write nothing. After "
        f"the last number add one line that says `Sum: ` and then the sum of the even numbers. Write nothing else."
    )
    total = sum(range(2, COUNT + 1, 2))
    return posed("evens", prompt, 192, {"mark": mark, "sum": total}, Grading("evens", {}))


def right(case: Case) -> str:
    """A reply that passes."""
    lines = [f"{value} {case.expected['mark']}" if value % 2 == 0 else str(value) for value in range(1, COUNT + 1)]
    return "\n".join([*lines, f"Sum: {case.expected['sum']}"])


def _find(case: Case, replies: Replies) -> Finding:
    if nothing := nothing_said(replies[-1]):
        return nothing
    text = text_of(replies[-1])
    if len(text) > MAX_TEXT:
        return Finding("fail", 0.0, f"longer than {MAX_TEXT:,} characters")
    found, after = _last_list(_lines(text))
    mark, total = case.expected["mark"], case.expected["sum"]
    praise = f"1 to {COUNT} in order, the even ones marked {mark}, sum {total}"
    if not found:
        return Finding("fail", 0.0, f"no list of numbers in reply, expected 1 to {COUNT}, one on each line")
    # A sum without its label is one number line more.
    is_bare = len(found) == COUNT + 1 and not found[-1][1] and not _SUM.fullmatch(after)
    said = str(found[-1][0]) if is_bare else after
    listed = found[:COUNT] if is_bare else found
    faults = [("numbers", _order_fault(listed)), ("marks", _mark_fault(listed, mark)), ("sum", _sum_fault(said, total))]
    elements = [Element(name, passed=not fault, why=fault) for name, fault in faults]
    return explained(by_share(elements), praise)


def _lines(text: str) -> list[str]:
    """The lines with anything on them, without fences, bold and escapes."""
    lines = (line for line in unified(text).translate(_ODD_FORMS).split("\n") if line.strip() and not opened(line))
    return [line.replace("\\", "").replace("`", "").replace("**", "").replace("__", "") for line in lines]


def _last_list(lines: list[str]) -> tuple[list[tuple[int, str]], str]:
    """The last number lines that follow each other, each a number and its mark, and the line behind them."""
    found: list[tuple[int, str]] = []
    best: tuple[list[tuple[int, str]], str] = ([], "")
    for line in [*lines, ""]:
        if one := _NUMBER.fullmatch(line):
            found.append((int(one[1]), one[2]))
        else:
            if len(found) > 1:
                best = found, line
            found = []
    return best


def _order_fault(found: list[tuple[int, str]]) -> str:
    got = [value for value, _ in found]
    if got == list(range(1, COUNT + 1)):
        return ""
    return f"the lines say {shortened(', '.join(map(str, got[:_SHOWN])))}, expected 1 to {COUNT}"


def _mark_fault(found: list[tuple[int, str]], mark: str) -> str:
    for value, got in found:
        wanted = mark if value % 2 == 0 else ""
        if got != wanted:
            return f"behind {value} stands {got or 'nothing'}, expected {wanted or 'nothing'}"
    return ""


def _sum_fault(line: str, total: int) -> str:
    stated = _SUM.fullmatch(line)
    said = clean(stated[1] if stated else line)
    if number(said) == total:
        return ""
    return f"behind the list stands {shortened(line.strip()) or 'nothing'}, expected a line with the sum {total}"


GRADER = ByReading("evens", 1, _find)
