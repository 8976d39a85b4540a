"""Confidence intervals for pass rates and for weighted means of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

# Two-sided 95% point of the standard normal distribution.
_Z95 = 1.959963984540054


def wilson(passed: float, total: float) -> tuple[float, float]:
    """95% interval for a pass rate, both ends in [0, 1].

    Honest at 0 and at `total`, where the normal one has width nought. (Wilson 1927, JASA 22:209.)

    Raises:
        ValueError: `total` is not positive; there is no rate to bound.
    """
    if total <= 0:
        raise ValueError(f"no rate in {passed} of {total}")
    rate, z2 = passed / total, _Z95 * _Z95
    middle = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z95 / (1 + z2 / total) * sqrt(rate * (1 - rate) / total + z2 / (4 * total * total))
    # The ends meet the rate exactly at 0 and at `total`; rounding must not push them past it.
    return max(0.0, min(rate, middle - half)), min(1.0, max(rate, middle + half))


def weighted_mean(parts: Sequence[tuple[float, float, float, float]]) -> tuple[float, float, float]:
    """Mean of independent rates with a 95% interval, recovered from the interval of each.

    (MOVER: Zou and Donner 2008, Statistics in Medicine 27:1693. It keeps the skew of each interval.)

    Args:
        parts: Weight, estimate, low end, high end of each; weights need not sum to 1.

    Returns:
        Estimate, low end, high end.

    Raises:
        ValueError: the weights sum to 0.
    """
    whole = sum(weight for weight, *_ in parts)
    if whole <= 0:
        raise ValueError("no weight in any part")
    mean = sum(weight * rate for weight, rate, _, _ in parts) / whole
    below = sqrt(sum((weight / whole * (rate - low)) ** 2 for weight, rate, low, _ in parts))
    above = sqrt(sum((weight / whole * (high - rate)) ** 2 for weight, rate, _, high in parts))
    return mean, max(0.0, mean - below), min(1.0, mean + above)
