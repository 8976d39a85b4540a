import pytest

from crucibleforge.speed.slope import prefill


def times(tokens, per_s=1000.0, overhead_s=0.02, jitter=(0.0, 0.001)):
    return [(tokens, overhead_s + tokens / per_s + more) for more in jitter]


def test_the_slope_is_the_speed_and_the_rest_is_overhead():
    found = prefill([times(256), times(2048)])
    assert (found.per_s, found.overhead_s, found.doubt) == (pytest.approx(1000.0), pytest.approx(0.0205), "")
    # What others print: lower, by the overhead.
    assert found.naive_per_s == pytest.approx(2048 / 2.0685)


def test_lengths_too_near_are_doubted():
    assert prefill([times(256), times(1000)]).doubt == "the lengths are less than four times apart"


def test_times_that_differ_no_more_than_they_spread_are_doubted():
    assert prefill([times(64, jitter=(0.0, 0.05)), times(256)]).doubt == "the times differ by less than ten times their spread"


def test_a_falling_speed_is_a_curve_and_no_figure():
    found = prefill([times(256), times(2048), [(8192, 2.07 + 6144 / 500)]])
    assert (found.is_bent, found.per_s, found.overhead_s) == (True, None, None)
    assert [round(segment.per_s) for segment in found.segments] == [1000, 500]


def test_a_speed_that_falls_a_little_is_one_figure():
    found = prefill([times(256), times(2048), [(8192, 2.0685 + 6144 / 850)]])
    assert (found.is_bent, round(found.per_s)) == (False, 880)


@pytest.mark.parametrize("points", [[], [times(256)], [times(256), times(256)], [times(256), []]])
def test_one_length_has_no_slope(points):
    assert prefill(points) is None


def test_a_longer_prompt_that_took_no_longer_has_no_speed():
    found = prefill([[(256, 0.3)], [(2048, 0.3)]])
    assert (found.per_s, found.segments, found.doubt) == (None, (), "a longer prompt took no longer")
