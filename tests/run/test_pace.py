import made
import msgspec
import pytest

from crucibleforge.chat import Message, Request, Timing, Usage
from crucibleforge.run.pace import Pace

REQUEST = Request((Message("user", "x" * 250),), (), 1000)  # 100 tokens of prompt at 2.5 characters each


def reply(tokens_per_s: float, prompt_per_s: float, **usage: int):
    first_s = (100 - usage.get("cached_tokens", 0)) / prompt_per_s
    counted = msgspec.structs.replace(Usage(100, 101), **usage)
    timing = Timing(99.0, first_content_s=first_s, last_token_s=first_s + 100 / tokens_per_s)
    return made.reply(usage=counted, timing=timing)


def pace(*replies, most_s=900.0):
    made_pace = Pace(most_s)
    for one in replies:
        made_pace.look(one)
    return made_pace


def test_until_the_speed_is_known_the_limit_is_the_configured_one():
    assert pace(reply(10, 100), reply(10, 100)).deadline_s(REQUEST) == 900.0


def test_then_it_is_four_times_what_the_slowest_reply_would_have_taken():
    assert pace(reply(50, 100), reply(10, 200), reply(20, 50)).deadline_s(REQUEST) == pytest.approx(4 * (100 + 2))


def test_a_fast_model_still_gets_a_minute():
    assert pace(*[reply(10_000, 10_000)] * 3).deadline_s(REQUEST) == 60.0


def test_it_never_exceeds_the_configured_one():
    assert pace(*[reply(0.5, 10)] * 3).deadline_s(REQUEST) == 900.0


def test_a_missed_deadline_doubles_the_next():
    slow = pace(*[reply(10, 100)] * 3)
    before = slow.deadline_s(REQUEST)
    slow.was_late()
    assert slow.deadline_s(REQUEST) == pytest.approx(2 * before)


def test_a_cached_prompt_does_not_pass_for_fast_reading():
    cached = pace(*[reply(10, 100, cached_tokens=90)] * 3)
    assert cached.deadline_s(REQUEST) == pytest.approx(4 * (100 + 1))


def test_a_reply_that_cannot_be_timed_teaches_nothing():
    assert pace(*[made.reply(usage=Usage())] * 5).deadline_s(REQUEST) == 900.0
