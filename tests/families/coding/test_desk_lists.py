from __future__ import annotations

import pytest

from crucibleforge.families.coding._desk_lists import Day, Params, Rule, run

ALL = ("cancel", "owner", "amend", "iceberg", "life")


def rule(own: str = "resting", features: tuple[str, ...] = ALL) -> Rule:
    return Rule(Params(features, 100), "Desk", "buy", "sell", own)


def test_a_hidden_part_goes_behind_those_who_wait_at_its_price():
    # 1 shows 2 of 5, 2 shows all 3. A buyer of 6: 2 from 1, then 2's 3, then 1 more of 1's next 2.
    log = (("sell", 1, 10, 5, 2), ("sell", 2, 10, 3, 9), ("buy", 3, 10, 6, 9), ("depth", 10), ("cancel", 1))
    assert run(rule(), Day((99,), log)) == [[], [], [[1, 10, 2], [2, 10, 3], [1, 10, 1]], 1, 2]


@pytest.mark.parametrize(
    ("own", "traded", "best"),
    [("resting", [[2, 11, 2]], [12, 0]), ("incoming", [], [0, 10]), ("both", [[2, 11, 2]], [0, 11])],
)
def test_an_owner_does_not_trade_with_itself(own, traded, best):
    # The owner of order 1 buys 5 at 12 against its own 3 at 10 and another's 4 (2 of which remain) at 11.
    other = 2 if own == "resting" else 4
    log = (("sell", 1, 10, 3, 9), ("sell", 2, 11, other, 9), ("buy", 1, 12, 5, 9), ("best",))
    assert run(rule(own), Day((99,), log))[2:] == [traded, best]


def test_less_at_the_same_price_keeps_the_place_and_more_loses_it():
    start = (("sell", 1, 10, 5, 9), ("sell", 2, 10, 5, 9))
    for amount, first in ((4, 1), (6, 2)):
        log = (*start, ("amend", 1, 10, amount), ("buy", 3, 10, 1, 9))
        assert run(rule(), Day((99,), log))[2:] == [[], [[first, 10, 1]]]


def test_an_order_lapses_its_life_after_the_step_in_which_it_was_entered():
    log = (("sell", 1, 10, 5, 9), ("depth", 10), ("depth", 10), ("depth", 10))
    assert run(rule(), Day((3,), log)) == [[], 5, 5, 0]
