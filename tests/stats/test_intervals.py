import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.stats.intervals import weighted_mean, wilson


def score_bound(rate: float, total: int, low: float, high: float) -> float:
    """Root of |rate - x| = z sqrt(x (1 - x) / total) in [low, high], by bisection: the interval's definition."""
    for _ in range(100):
        middle = (low + high) / 2
        misses = (rate - middle) ** 2 > 1.959963984540054**2 * middle * (1 - middle) / total
        low, high = (middle, high) if misses == (middle < rate) else (low, middle)
    return low


@pytest.mark.parametrize(("passed", "total"), [(5, 10), (54, 61), (1, 40), (399, 400)])
def test_the_ends_are_where_the_score_test_turns(passed, total):
    rate = passed / total
    expected = (score_bound(rate, total, 0.0, rate), score_bound(rate, total, rate, 1.0))
    assert wilson(passed, total) == (pytest.approx(expected[0]), pytest.approx(expected[1]))


def test_at_the_edges_the_interval_has_width():
    assert wilson(0, 10) == (0.0, pytest.approx(0.2775, abs=1e-4))
    assert wilson(10, 10) == (pytest.approx(0.7225, abs=1e-4), 1.0)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_mirrors(pair):
    passed, total = pair
    low, high = wilson(passed, total)
    assert 0 <= low <= passed / total <= high <= 1
    other_low, other_high = wilson(total - passed, total)
    assert (low, high) == (pytest.approx(1 - other_high), pytest.approx(1 - other_low))


def test_nothing_out_of_nothing_has_no_rate():
    with pytest.raises(ValueError, match="no rate"):
        wilson(0, 0)


def test_the_mean_of_one_part_is_that_part():
    assert weighted_mean([(2.0, 0.5, 0.25, 0.75)]) == (0.5, 0.25, 0.75)


def test_more_parts_give_a_narrower_mean():
    part = (1.0, 0.5, 0.3, 0.7)
    assert weighted_mean([part] * 4) == (0.5, pytest.approx(0.4), pytest.approx(0.6))


def test_a_part_without_weight_changes_nothing():
    assert weighted_mean([(1.0, 0.5, 0.3, 0.7), (0.0, 1.0, 0.9, 1.0)]) == weighted_mean([(1.0, 0.5, 0.3, 0.7)])


def test_no_weight_at_all_has_no_mean():
    with pytest.raises(ValueError, match="no weight"):
        weighted_mean([(0.0, 0.5, 0.3, 0.7)])
