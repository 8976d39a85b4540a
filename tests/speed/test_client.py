import pytest

from crucibleforge.speed.client import grows, verdict


def test_a_client_that_keeps_up_is_not_limited():
    found = verdict([0.0005] * 990 + [0.2] * 5, cpu_s=3.0, wall_s=10.0)
    assert (found.is_limited, found.lag_p99_s, found.cpu_share, found.probes) == (False, 0.0005, 0.3, 995)


def test_late_wake_ups_and_a_busy_core_are_each_said():
    late = verdict([0.0005] * 90 + [0.02] * 10, 1.0, 10.0)
    assert late.limits == ("client-limited: 1% of its wake-ups were more than 20.0 ms late",)
    assert verdict([0.0], 8.0, 10.0).limits == ("client-limited: it took 80% of a core",)


def test_without_probes_or_time_nothing_is_said():
    assert not verdict([], 0.0, 0.0).is_limited


@pytest.mark.parametrize(
    ("lags", "tpots", "is_client"),
    [([0.001, 0.001, 0.004], [0.01, 0.01, 0.011], True), ([0.001, 0.004], [0.01, 0.05], False), ([0.001, 0.001], [0.01, 0.01], False), ([0.001], [0.01], False)],
)
def test_34_lag_that_grows_while_the_server_does_not_slow_down_is_the_clients(lags, tpots, is_client):
    assert grows(lags, tpots) is is_client
