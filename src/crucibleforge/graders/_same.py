"""Compare JSON values strictly: the one place where graders decide that two values are the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

_EXACT = 2**53
"""Every integer below it is a float too."""


def same(got: Any, expected: Any, *, within: float | None = None) -> bool:
    """True when both are the same JSON value, of the same types all the way down. Any depth; linear time.

    Args:
        got: What a model's program or call gave, any shape.
        expected: What it is compared with; tuples count as arrays.
        within: None: 3 and 3.0 differ. A number: integers and floats are alike and may differ by so much.
            A boolean is never a number, and what is not finite equals nothing.
    """
    pairs = [(got, expected)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(other, list | tuple):
            if not isinstance(one, list | tuple) or len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(other, dict):
            if not isinstance(one, dict) or one.keys() != other.keys():
                return False
            pairs.extend((one[key], value) for key, value in other.items())
        elif not _same_scalar(one, other, within):
            return False
    return True


def _same_scalar(got: Any, expected: Any, within: float | None) -> bool:
    if within is not None and _is_number(expected):
        return _is_number(got) and _is_near(got, expected, within)
    # Only infinity among the numbers that equal themselves is not finite.
    return type(got) is type(expected) and bool(got == expected) and (type(got) is not float or math.isfinite(got))


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _is_near(got: float, expected: float, within: float) -> bool:
    is_exact = type(got) is type(expected) or max(abs(got), abs(expected)) < _EXACT
    if is_exact and (off := abs(got - expected)) != within:
        return off < within  # rounding is monotonic, so it can only have made them equal
    # An integer may be too large for a float.
    return abs(Fraction(got) - Fraction(expected)) <= Fraction(within)
