"""A function that is run: the median of a list, on inputs that this run alone has.

The wording settles what implementations differ in, so that only a wrong one fails: the mean of the middle two, None
for an empty list, a list that is left as it was. Whether it was is found out where the code runs, by a few lines of
ours behind it; the values are compared outside.
"""

from __future__ import annotations

from typing import Any

import msgspec

from crucibleforge.bench._question import explained, posed
from crucibleforge.families._draw import Draw
from crucibleforge.graders import ByRunning, Replies
from crucibleforge.graders import program as by_program
from crucibleforge.graders._shown import as_python
from crucibleforge.programs import Program, Ran, Returned
from crucibleforge.types import Case, Finding, Grading

ENTRY = "median_of_list"
_PROBE = "_crucibleforge_probe"
_BEHIND = f"""

def {_PROBE}(numbers):
    before = list(numbers)
    value = {ENTRY}(numbers)
    return [value, numbers == before]
"""
_PROMPT = f"""Write a Python function {ENTRY}(numbers) that returns the median of a list of numbers.

- The numbers are integers or floats, in any order, and may be negative or equal.
- Of an even count the median is the mean of the middle two.
- For an empty list it returns None.
- It must not change the list that it is given.

Use nothing but the standard library. Reply with the code in one block."""
_RIGHT = f"""def {ENTRY}(numbers):
    if not numbers:
        return None
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
"""
_PAIR = 2
_SCALE = 4  # quarters are exact in binary, so no right program differs from ours by rounding


def pose(draw: Draw) -> Case:
    """Lists of every kind that the wording names."""
    lists: list[list[float]] = [[], [_integer(draw)], [_quarter(draw)]]
    lists += [_unsorted(draw, size) for size in (2, 3, 4, 5, 8, 2 * draw.between(6, 10), 2 * draw.between(6, 10) + 1)]
    lists += [[_quarter(draw) for _ in range(size)] for size in (4, 7)]
    lists.append(_with_equals(draw))
    lists.append([-abs(number) - 1 for number in _unsorted(draw, 6)])
    calls = [{"args": [numbers], "returns": median(numbers)} for numbers in draw.shuffled(lists)]
    # With a tolerance 3 and 3.0 are alike: which of them it is the wording leaves open.
    return posed("median", _PROMPT, 768, calls, Grading("program", {"entry": ENTRY, "tolerance": 1e-9}))


def median(numbers: list[float]) -> float | None:
    """The mean of the middle two, which for an odd count are one."""
    ordered = sorted(numbers)
    size = len(ordered)
    return (ordered[(size - 1) // 2] + ordered[size // 2]) / 2 if ordered else None


def right(_: Case) -> str:
    """A program that passes."""
    return f"```python\n{_RIGHT}```"


def _integer(draw: Draw) -> int:
    return draw.between(-99, 99)


def _quarter(draw: Draw) -> float:
    return draw.between(-400, 400) / _SCALE


def _unsorted(draw: Draw, size: int) -> list[float]:
    """Different integers in no order, not even backwards, whose middle is not in the middle."""

    def wanted() -> list[float] | None:
        numbers: list[float] = list(draw.sample(range(-99, 100), size))
        return numbers if size <= _PAIR or _middle(numbers) != median(numbers) else None

    return draw.until(wanted)


def _with_equals(draw: Draw) -> list[float]:
    """Six numbers whose median is one of three equal ones, and another once these count only once."""
    low, high = sorted(draw.sample(range(-99, 100), _PAIR))
    return draw.shuffled([low, high, high, high, high + draw.between(1, 9), low - 1])


def _middle(numbers: list[float]) -> float:
    """What is in the middle of a list that was never sorted."""
    size = len(numbers)
    return (numbers[(size - 1) // 2] + numbers[size // 2]) / 2


def _program(case: Case, replies: Replies) -> Program | Finding:
    made = by_program.program(case, replies)
    if isinstance(made, Finding):
        return made
    return msgspec.structs.replace(made, source=made.source + _BEHIND, entry=_PROBE)


def _conclude(case: Case, ran: Ran) -> Finding:
    values, kept = [], []
    for result in ran.results:
        value, is_kept = _parts(result.value) if isinstance(result, Returned) else (None, True)
        values.append(Returned(value) if isinstance(result, Returned) else result)
        kept.append(is_kept)
    finding = by_program.conclude(case, msgspec.structs.replace(ran, results=tuple(values)))
    calls = case.expected
    if finding.outcome == "pass" and not all(kept):
        numbers = calls[kept.index(False)]["args"][0]
        return Finding("fail", 0.0, f"{ENTRY}({as_python(numbers)}) changed its list", finding.elements)
    right = sum(element.passed for element in finding.elements)
    if finding.elements and finding.outcome == "fail":
        return msgspec.structs.replace(finding, why=f"{right} of {len(calls)} inputs right; {finding.why}")
    return explained(finding, f"{len(calls)} of {len(calls)} hidden inputs right")


def _parts(value: Any) -> tuple[Any, bool]:
    """What the function gave, and whether the list was left as it was."""
    is_pair = isinstance(value, list) and len(value) == _PAIR and isinstance(value[1], bool)
    return (value[0], value[1]) if is_pair else (value, True)


GRADER = ByRunning("median", 1, _program, _conclude)
