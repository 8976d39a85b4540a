"""Did the speed change while it was measured? A trend over the repeats, and the first cell measured once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import erfc, sqrt

from msgspec import Struct

from crucibleforge.speed.median import median

_MOST_P = 0.05
_MOST_CHANGE = 0.05
_LEAST_N = 6


class Drift(Struct, frozen=True):
    """A trend over `n` repeats: `change` is its share of the median from first to last, `p` that chance alone made it.

    `is_drifting`: unlikely to be chance and large enough to matter.
    """

    n: int
    change: float
    p: float
    is_drifting: bool


class Return(Struct, frozen=True):
    """A cell at the start and again at the end: `change` is that of the median, as a share of the first.

    `is_steady` False: whatever lay between was measured on a machine that changed.
    """

    first: float
    last: float
    change: float
    is_steady: bool


def drift(values: Sequence[float]) -> Drift | None:
    """The trend of values in the order in which they were measured; None below six, or where their median is 0.

    Slope by Theil and Sen (Sen 1968, JASA 63:1379), chance by Mann and Kendall (Mann 1945, Econometrica 13:245).
    """
    n = len(values)
    if n < _LEAST_N or not median(values):
        return None
    change = slope(values) * (n - 1) / median(values)
    p = trend_p(values)
    return Drift(n=n, change=change, p=p, is_drifting=p < _MOST_P and abs(change) > _MOST_CHANGE)


def slope(values: Sequence[float]) -> float:
    """The median of the slopes between all pairs of values, a repeat being the unit of length."""
    n = len(values)
    return median([(values[b] - values[a]) / (b - a) for a in range(n) for b in range(a + 1, n)])


def trend_p(values: Sequence[float]) -> float:
    """Two-sided p of a monotonic trend, by the normal approximation with its corrections for continuity and ties."""
    n = len(values)
    s = sum((later > value) - (later < value) for at, value in enumerate(values) for later in values[at + 1 :])
    ties = sum(t * (t - 1) * (2 * t + 5) for t in Counter(values).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18
    if variance <= 0:
        return 1.0
    z = max(abs(s) - 1, 0) / sqrt(variance)
    return erfc(z / sqrt(2))


def came_back(first: Sequence[float], last: Sequence[float]) -> Return | None:
    """The A-B-A check: the same cell before and after all others; None where one of them has no values."""
    if not first or not last or not median(first):
        return None
    change = median(last) / median(first) - 1
    return Return(median(first), median(last), change, is_steady=abs(change) <= _MOST_CHANGE)
