import pytest

from crucibleforge.chat import Reply, ServerTimings, Timing, Usage
from crucibleforge.stats.rates import decode_rate, server_decode_rate


def reply(tokens: int | None, first: float | None, last: float | None, first_event_tokens: int | None = None) -> Reply:
    timing = Timing(9.0, first_content_s=first, last_token_s=last, first_event_tokens=first_event_tokens)
    return Reply(text="x", finish="stop", usage=Usage(1, tokens), timing=timing)


def test_n_tokens_span_one_interval_less():
    assert decode_rate(reply(101, 1.0, 3.0)) == pytest.approx(50.0)


@pytest.mark.parametrize("case", [(None, 1.0, 2.0), (15, 1.0, 2.0), (20, None, None), (20, 1.0, 1.0)])
def test_what_cannot_be_measured_is_none(case):
    assert decode_rate(reply(*case)) is None


def test_tokens_of_the_first_event_were_paid_for_by_the_prompt():
    assert decode_rate(reply(105, 1.0, 3.0, 5)) == pytest.approx(50.0)
    assert decode_rate(reply(20, 1.0, 3.0, 20)) is None


def test_the_servers_clock_spans_one_interval_less_than_tokens():
    assert server_decode_rate(ServerTimings(5, 10.0, 101, 2000.0)) == pytest.approx(50.0)
    assert server_decode_rate(ServerTimings(5, 10.0, 15, 2000.0)) is None
    assert server_decode_rate(ServerTimings(5, 10.0, 20, 0.0)) is None
