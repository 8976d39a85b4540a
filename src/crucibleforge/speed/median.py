"""The median of a cell with an interval that assumes no distribution, and what else is said of its spread.

The unit that is counted is the request; the gaps between tokens of one reply depend on each other and are no `n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, floor

from msgspec import Struct

LEVEL = 0.95
# Least n at which the largest of n values is, with 97.5% confidence, above the percentile: 1 - q^n >= 0.975.
_LEAST_FOR = {95: 72, 99: 368}


class Summary(Struct, frozen=True, omit_defaults=True):
    """A cell of `n` values. `low` and `high` bound the median with confidence `level`; None for fewer than six values.

    `q1` and `q3` hold the middle half.
    """

    n: int
    median: float
    mean: float
    least: float
    most: float
    q1: float
    q3: float
    low: float | None = None
    high: float | None = None
    level: float | None = None

    @property
    def iqr(self) -> float:
        """Width of the middle half."""
        return self.q3 - self.q1


def summary(values: Sequence[float]) -> Summary | None:
    """What a cell says; None of no values."""
    if not values:
        return None
    ordered = sorted(values)
    n = len(ordered)
    bounds = ranks(n)
    return Summary(
        n=n,
        median=percentile(ordered, 50),
        mean=sum(ordered) / n,
        least=ordered[0],
        most=ordered[-1],
        q1=percentile(ordered, 25),
        q3=percentile(ordered, 75),
        low=None if bounds is None else ordered[bounds[0] - 1],
        high=None if bounds is None else ordered[bounds[1] - 1],
        level=None if bounds is None else coverage(n, bounds[0]),
    )


def median(values: Sequence[float]) -> float:
    """Middle value, or the mean of the two in the middle.

    Raises:
        ValueError: there are no values.
    """
    return percentile(sorted(values), 50)


def ranks(n: int) -> tuple[int, int] | None:
    """Ranks, from 1, of the values that bound the median of `n` with at least 95% confidence; None below six.

    The narrowest symmetric pair (k, n + 1 - k) that covers as much. (David and Nagaraja, Order Statistics, 7.1.)
    """
    fitting = [k for k in range(1, n // 2 + 1) if coverage(n, k) >= LEVEL]
    return (fitting[-1], n + 1 - fitting[-1]) if fitting else None


def coverage(n: int, rank: int) -> float:
    """How surely the values of ranks `rank` and `n + 1 - rank` enclose the median: 1 - 2 P(Binomial(n, 1/2) < rank)."""
    return 1 - sum(comb(n, below) for below in range(rank)) / 2.0 ** (n - 1)


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Linear between neighbours, as NumPy and the serving benchmarks do it; `ordered` ascends.

    Raises:
        ValueError: there are no values.
    """
    if not ordered:
        raise ValueError("no percentile of no values")
    place = (len(ordered) - 1) * percent / 100
    below, above = ordered[floor(place)], ordered[ceil(place)]
    return below + (above - below) * (place - floor(place))


def tail(values: Sequence[float], percent: int) -> tuple[str, float] | None:
    """The percentile with its name, such as `p95`, or the maximum, called that, where `n` is too small for one."""
    if not values:
        return None
    if len(values) < _LEAST_FOR.get(percent, _LEAST_FOR[99]):
        return "maximum", max(values)
    return f"p{percent}", percentile(sorted(values), percent)
