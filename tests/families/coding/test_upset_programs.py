from __future__ import annotations

from itertools import accumulate

import pytest

from crucibleforge.families._build import made
from crucibleforge.families._draw import Draw
from crucibleforge.families.coding._sources import loaded
from crucibleforge.families.coding.upset_cost import FAMILY, Params


def test_drops_of_a_ranking_by_hand():
    # 5 2 4 1: drops 3, 1, 4 of 5, then 1 of 2 and 3 of 4. Up to a span of 20 the margin is 2.
    task = FAMILY.generate(Params(("drop",), (), 20, 10), Draw("hand", 1))
    function = loaded(made(FAMILY, task).draft.settings["reference"], task.rule.entry)
    assert function([5, 2, 4, 1]) == 3 + 4 + 3


@pytest.mark.parametrize("charge", ["square", "weight", "distance"])
def test_long_lists_agree_with_merging_of_halves(charge):
    task = FAMILY.generate(Params((charge,), ("modulus",), 1000, 1200, is_large=True), Draw(charge))
    draw = Draw("long", charge)
    values = [draw.between(-1000, 1000) for _ in range(1200)]
    weights = [draw.between(1, 50) if charge == "weight" else 1 for _ in values]
    arguments = (values, weights) if charge == "weight" else (values,)
    function = loaded(made(FAMILY, task).draft.settings["reference"], task.rule.entry)
    items = [(value, weight, place) for place, (value, weight) in enumerate(zip(values, weights, strict=True))]
    assert function(*arguments) == _merged(items, task.rule.margin, charge) % task.rule.modulus


def _merged(items: list[tuple[int, int, int]], margin: int, charge: str) -> int:
    if len(items) < 2:
        return 0
    half = len(items) // 2
    left, right = items[:half], items[half:]
    total = _merged(left, margin, charge) + _merged(right, margin, charge)
    left = sorted(left, reverse=True)
    moments = [list(accumulate(column, initial=0)) for column in _columns(left)]
    for value, weight, place in right:
        end = _count(left, value + margin)
        count, first, second, places, crossed = (sums[end] for sums in moments)
        total += {
            "square": second - 2 * value * first + count * value * value,
            "weight": weight * (first - count * value),
            "distance": place * first - crossed - value * (place * count - places),
        }[charge]
    return total


def _columns(items: list[tuple[int, int, int]]) -> list[list[int]]:
    return [
        [w for _, w, _ in items],
        [w * a for a, w, _ in items],
        [a * a for a, _, _ in items],
        [i for _, _, i in items],
        [i * a for a, _, i in items],
    ]


def _count(items: list[tuple[int, int, int]], least: int) -> int:
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if items[middle][0] >= least else (low, middle)
    return low
