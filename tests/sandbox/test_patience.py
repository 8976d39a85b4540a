from __future__ import annotations

import pytest

from crucibleforge.programs import Call, Raised, Returned
from crucibleforge.sandbox._patience import Patience

LATE = Raised("time limit")
SMALL = Call(())


def after(*noted):
    patience = Patience()
    for call, result in noted:
        patience.note(call, result)
    return patience


def test_three_calls_that_were_late_are_enough():
    assert after((SMALL, LATE), (SMALL, LATE)).refusal(SMALL) is None
    for late in (3, 4):
        assert after(*[(SMALL, LATE)] * late).refusal(SMALL) == Raised(
            "time limit", "not tried: three calls before it ran out of time"
        )


@pytest.mark.parametrize("result", [Returned(1), Raised("KeyError"), Raised("memory limit"), Raised("exit")])
def test_whatever_else_a_call_gives_the_next_is_tried(result):
    assert after(*[(SMALL, result)] * 9).refusal(SMALL) is None


@pytest.mark.parametrize("kind", ["time limit", "memory limit"])
def test_above_a_size_that_ran_into_a_limit_none_is_tried(kind):
    patience = after((Call((), size=2000), Raised(kind)))
    assert patience.refusal(Call((), size=2001)) == Raised(kind, "not tried: size 2,000 ran into its limit")
    assert patience.refusal(Call((), size=2000)) is None
    assert patience.refusal(SMALL) is None


def test_the_smallest_size_that_ran_into_a_limit_counts():
    late = [(Call((), size=size), LATE) for size in (50, 20)]
    for noted in (late, late[::-1]):
        assert after(*noted).refusal(Call((), size=21)) == Raised("time limit", "not tried: size 20 ran into its limit")


def test_of_two_limits_at_one_size_the_first_is_told():
    at = Call((), size=20)
    patience = after((at, LATE), (at, Raised("memory limit")))
    assert patience.refusal(Call((), size=21)) == Raised("time limit", "not tried: size 20 ran into its limit")


def test_a_size_that_gave_something_stops_nothing():
    for result in (Returned(1), Raised("KeyError"), Raised("output limit")):
        assert after((Call((), size=5), result)).refusal(Call((), size=6)) is None


def test_a_call_without_a_size_stops_no_size():
    assert after((SMALL, LATE)).refusal(Call((), size=6)) is None
