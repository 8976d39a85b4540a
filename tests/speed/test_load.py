import pytest
import timed

from crucibleforge.speed.goodput import parse
from crucibleforge.speed.load import is_enough, load
from crucibleforge.speed.sample import failed, sample

S = 1_000_000_000


def lane(*begins_s, first_s=0.1, gap_s=0.01, prompt_ms=90.0, tokens=101):
    return [
        sample(timed.replied(timed.every(gap_s, tokens, first_s), sent_ns=int(begin * S), timings=timed.stated(prompt_ms=prompt_ms)))
        for begin in begins_s
    ]


def test_the_steady_window_leaves_out_ramp_and_tail():
    # Two streams of 100 tok/s; the second begins 0.5 s later and so ends later.
    row = load([lane(0.0, 1.101), lane(0.5, 1.601)])
    assert (row.streams, row.requests, row.failures) == (2, 4, 0)
    # From the second's first token, at 0.6, to the end of the first lane, at 2.202 s.
    assert row.steady_s == pytest.approx(1.602)
    assert row.whole_s == pytest.approx(2.702)
    assert row.whole_per_s == pytest.approx(404 / 2.702)
    # Of two streams, each stands still for 0.1 s in 1.1 s of its loop.
    assert row.steady_per_s == pytest.approx(200 / 1.1, rel=0.06)
    assert row.decode.median == pytest.approx(100.0)


def test_a_short_break_between_two_requests_of_a_stream_does_not_end_the_window():
    row = load([lane(*(1.2 * n for n in range(5))), lane(*(1.2 * n for n in range(5)))])
    assert row.steady_s == pytest.approx(4 * 1.2 + 1.101 - 0.1)


def test_streams_that_never_ran_together_have_no_steady_rate():
    row = load([lane(0.0), lane(5.0)])
    assert (row.steady_s, row.steady_per_s) == (None, None)
    assert load([lane(0.0), [failed("x")]]).steady_s is None


def test_21_waiting_beyond_that_of_one_stream_is_queueing():
    alone = load([lane(0.0, first_s=0.1)])
    queued = load([lane(0.0, first_s=0.1), lane(0.0, first_s=2.1), lane(0.0, first_s=2.1)], alone)
    assert (alone.queue_s, queued.queue_s) == (None, pytest.approx(2.0))
    assert queued.wait.median == pytest.approx(2.01)


def test_failures_count_among_requests_and_keep_no_limit():
    row = load([lane(0.0), [failed("x")]], slo=parse("ttft=500"))
    assert (row.requests, row.failures, row.goodput.met, row.goodput.total) == (2, 1, 1, 2)
    assert load([]) is None
    assert load([[failed("x")]]).whole_per_s == 0.0


def test_few_requests_have_a_maximum_and_no_percentile():
    assert load([lane(0.0, first_s=0.1), lane(0.0, first_s=0.4)]).ttft_tail == ("maximum", 0.4)


def rows(*gaps_s, first_s=0.1):
    return [load([lane(0.0, gap_s=gap_s, first_s=first_s)] * 2 ** at) for at, gap_s in enumerate(gaps_s)]


def test_more_streams_are_of_no_use_without_gain_or_above_twice_the_slots():
    assert not is_enough(rows(0.01), None)
    assert not is_enough(rows(0.01, 0.01), None)
    assert is_enough(rows(0.01, 0.02), None)
    assert is_enough(rows(0.01, 0.01), slots=1)
    assert is_enough([load([lane(0.0), [failed("x")]])], None)


def test_without_gain_a_first_token_in_time_still_goes_on():
    assert not is_enough(rows(0.01, 0.02), None, parse("ttft=500"))
    assert is_enough(rows(0.01, 0.03, first_s=0.6), None, parse("ttft=500"))
