from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from crucibleforge.families._build import items
from crucibleforge.families.reasoning._rota import Load, Rota
from crucibleforge.families.reasoning.loading_rota import FAMILY, solve, verify

ROTA = Rota((Load("salt", (5, 0)), Load("wool", (8, 0)), Load("rope", (0, 6))), after=((1, 2),))


def both(rota):
    assert solve(rota) == verify(rota)
    return solve(rota)


def test_a_load_that_others_wait_for_goes_first():
    # North has wool and salt, South rope after wool: 8 + 6, and salt fits in beside it.
    assert both(ROTA) == [14]
    assert both(replace(ROTA, asked=1)) == [14, 0]
    with pytest.raises(ValueError, match="may start"):
        solve(replace(ROTA, after=(), asked=2))
    with pytest.raises(ValueError, match="may start"):
        verify(replace(ROTA, after=(), asked=2))


def test_washing_and_a_late_load_can_turn_the_order_round():
    # Without labels 8, 14 and salt within. Salt red: wool, wash 4, salt 5 ends at 17. Salt first: 5 + 4 + 8 + 6 = 23.
    red = replace(ROTA, loads=(replace(ROTA.loads[0], red=True), *ROTA.loads[1:]), wash=4)
    assert both(red) == [17]
    # Salt is due by minute 6, so that it goes first; rope starts at 17.
    due = replace(red, loads=(replace(red.loads[0], due=6), *red.loads[1:]), asked=2)
    assert both(due) == [23, 17]


def test_the_crane_serves_one_load_at_a_time():
    # All three at the crane: 19 without a pause, and rope last, since it waits for wool and salt can go before.
    craned = replace(ROTA, loads=tuple(replace(load, crane=True) for load in ROTA.loads))
    assert both(craned) == [19]


def test_the_quicker_bay_may_be_the_wrong_one():
    # Both are quicker in North, 4 and 5; one after the other takes 9, side by side 7.
    assert both(Rota((Load("salt", (4, 7)), Load("wool", (5, 9))))) == [7]


@pytest.mark.parametrize("rung", ["L1", pytest.param("L2", marks=pytest.mark.slow)])
def test_trying_every_minute_finds_nothing_earlier(rung):
    for item in items(FAMILY, rung, 3):
        rota, (finish,) = item.instance, item.answer
        assert _can_end(rota, finish)
        assert not _can_end(rota, finish - 1)


def _can_end(rota, limit):
    """Load by load, every bay and every start minute."""
    ways = [
        [(bay, start, start + minutes) for bay, minutes in enumerate(load.minutes) if minutes
         for start in range(load.ready, limit - minutes + 1)]
        for load in rota.loads
    ]  # fmt: skip
    begun = [()]
    for number in range(len(ways)):
        begun = [(*one, way) for one, way in product(begun, ways[number]) if _fits(rota, one, way)]
        if number == len(ways) - 2:
            return any(_fits(rota, one, way) for one in begun for way in ways[-1])
    return bool(begun)


def _fits(rota, placed, way):
    number = len(placed)
    for other, (bay, start, end) in enumerate(placed):
        is_apart = end <= way[1] or way[2] <= start
        if (bay == way[0] or (rota.loads[other].crane and rota.loads[number].crane)) and not is_apart:
            return False
        if ((other, number) in rota.after and end > way[1]) or ((number, other) in rota.after and way[2] > start):
            return False
    return True
