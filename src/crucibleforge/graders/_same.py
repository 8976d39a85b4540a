"""Compare JSON values strictly: the one place where graders decide that two values are the same."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any


def same(got: Any, expected: Any, *, within: float | None = None) -> bool:
    """True when both are the same JSON value, of the same types all the way down.

    Args:
        got: What a model's program or call gave, any shape.
        expected: What it is compared with; tuples count as arrays.
        within: None: 3 and 3.0 differ. A number: integers and floats are alike and may differ by so much.
            A boolean is never a number, and what is not finite equals nothing.
    """
    if isinstance(expected, list | tuple):
        return (
            isinstance(got, list | tuple)
            and len(got) == len(expected)
            and all(same(one, other, within=within) for one, other in zip(got, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(same(got[key], value, within=within) for key, value in expected.items())
        )
    if _is_number(expected):
        return _is_number(got) and _same_number(got, expected, within)
    return type(got) is type(expected) and bool(got == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same_number(got: float, expected: float, within: float | None) -> bool:
    if not all(isinstance(value, int) or math.isfinite(value) for value in (got, expected)):
        return False
    if within is None:
        return type(got) is type(expected) and got == expected
    # Fractions, as an integer may be too large for a float.
    return abs(Fraction(got) - Fraction(expected)) <= Fraction(within)
