import random

import pytest

from crucibleforge.speed.drift import came_back, drift, slope, trend_p


def speeds(seed, *, change=0.0, noise=0.03, n=20):
    draw = random.Random(seed)
    return [100 * (1 + change * at / (n - 1)) * (1 + draw.gauss(0, noise)) for at in range(n)]


def test_30_a_tenth_lost_over_twenty_repeats_is_flagged():
    found = drift(speeds(1, change=-0.10, noise=0.0))
    assert (found.is_drifting, round(found.change, 2), found.n) == (True, -0.11, 20)
    assert all(drift(speeds(seed, change=-0.10, noise=0.01)).is_drifting for seed in range(200))


def test_30_a_tenth_lost_under_3_percent_noise_is_flagged_nine_times_in_ten():
    assert sum(drift(speeds(seed, change=-0.10)).is_drifting for seed in range(200)) >= 180


def test_30_white_noise_of_3_percent_is_flagged_in_at_most_one_of_twenty_runs():
    assert sum(drift(speeds(seed)).is_drifting for seed in range(200)) <= 10


def test_a_certain_but_small_change_is_no_drift():
    found = drift(speeds(1, change=-0.03, noise=0.0))
    assert (found.p < 0.05, found.is_drifting) == (True, False)


def test_equal_and_few_values_show_nothing():
    assert (drift([5.0] * 20).is_drifting, trend_p([5.0] * 20), drift([1.0, 2.0, 3.0]), drift([0.0] * 9)) == (False, 1.0, None, None)


def test_slope_and_chance_of_a_known_series():
    # Mann-Kendall of 10 rising values: S = 45, variance 125, z = 44 / sqrt(125); one outlier does not move the slope.
    assert trend_p([float(v) for v in range(10)]) == pytest.approx(8.303e-05, rel=1e-3)
    assert slope([0.0, 1.0, 2.0, 30.0, 4.0, 5.0, 6.0]) == 1.0


def test_ties_make_a_trend_less_certain():
    assert trend_p([1, 1, 1, 2, 2, 2]) > trend_p([1, 2, 3, 4, 5, 6])


@pytest.mark.parametrize(("last", "is_steady"), [(96.0, True), (94.0, False), (104.0, True), (106.0, False)])
def test_a_cell_that_does_not_come_back_within_5_percent_is_unsteady(last, is_steady):
    found = came_back([99.0, 100.0, 101.0], [last])
    assert (found.is_steady, round(found.change, 2)) == (is_steady, round(last / 100 - 1, 2))


def test_without_a_second_time_there_is_no_return():
    assert came_back([1.0], []) is None
