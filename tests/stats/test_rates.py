import pytest

from crucibleforge.stats.rates import decode_rate
from crucibleforge.types import Reply, Timing, Usage


def reply(tokens: int | None, first: float | None, last: float | None) -> Reply:
    timing = Timing(9.0, first_content_s=first, last_token_s=last)
    return Reply(text="x", finish="stop", usage=Usage(1, tokens), timing=timing)


def test_n_tokens_span_one_interval_less():
    assert decode_rate(reply(101, 1.0, 3.0)) == pytest.approx(50.0)


@pytest.mark.parametrize("case", [(None, 1.0, 2.0), (15, 1.0, 2.0), (20, None, None), (20, 1.0, 1.0)])
def test_what_cannot_be_measured_is_none(case):
    assert decode_rate(reply(*case)) is None
