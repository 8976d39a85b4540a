import random

import pytest

from crucibleforge.speed.median import coverage, median, percentile, ranks, summary, tail


@pytest.mark.parametrize(
    ("n", "pair", "percent"),
    [(6, (1, 6), 96.9), (7, (1, 7), 98.4), (8, (1, 8), 99.2), (9, (2, 8), 96.1), (10, (2, 9), 97.9), (12, (3, 10), 96.1),
     (15, (4, 12), 96.5), (20, (6, 15), 95.9), (30, (10, 21), 95.7), (50, (18, 33), 96.7)],
)  # fmt: skip
def test_the_interval_is_that_of_order_statistics(n, pair, percent):
    assert (ranks(n), round(coverage(n, pair[0]) * 100, 1)) == (pair, percent)


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_values_there_is_no_interval(n):
    found = summary(list(range(1, n + 1)))
    assert (found.low, found.high, found.level, found.n) == (None, None, None, n)


def test_a_summary_of_known_values():
    found = summary([9.0, 1.0, 3.0, 7.0, 5.0, 100.0])
    assert (found.median, found.least, found.most, found.low, found.high) == (6.0, 1.0, 100.0, 1.0, 100.0)
    assert (found.q1, found.q3, found.iqr, round(found.mean, 3)) == (3.5, 8.5, 5.0, 20.833)


def test_percentiles_are_linear_between_neighbours():
    assert [percentile([10.0, 20.0, 30.0, 40.0], p) for p in (0, 25, 50, 75, 95, 100)] == pytest.approx([10, 17.5, 25, 32.5, 38.5, 40])


def test_nothing_has_no_summary_and_no_median():
    assert (summary([]), tail([], 95)) == (None, None)
    with pytest.raises(ValueError, match="no values"):
        median([])


@pytest.mark.parametrize(("n", "percent", "name"), [(71, 95, "maximum"), (72, 95, "p95"), (367, 99, "maximum"), (368, 99, "p99")])
def test_a_percentile_of_too_few_is_called_what_it_is(n, percent, name):
    assert tail([float(value) for value in range(n)], percent)[0] == name


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 10, 20])
def test_the_interval_holds_the_true_median_in_at_least_94_of_100_runs_of_skewed_times(n):
    draw = random.Random(n)
    runs = [summary([draw.lognormvariate(0.0, 0.5) for _ in range(n)]) for _ in range(2000)]
    assert sum(run.low <= 1.0 <= run.high for run in runs) / len(runs) >= 0.94
