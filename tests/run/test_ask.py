import asyncio
from time import monotonic

import made
import pytest

from crucibleforge.errors import Trouble
from crucibleforge.run.ask import Patience, conduct, cost
from crucibleforge.types import Dialogue, Message, Price, Served, Usage

QUICK = Patience(tries=3, first_wait_s=0.001, longest_wait_s=0.01)
DIALOGUE = Dialogue((Message("user", "q"),), 10, turns=("q2",), max_rounds=2)


class Scripted:
    """A session that gives what it was told to give, in order."""

    served = Served("fake")

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.requests = []

    async def ask(self, request):
        self.requests.append(request)
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def conducted(*script: object, patience: Patience = QUICK):
    session = Scripted(*script)
    return (*asyncio.run(conduct(session, DIALOGUE, patience)), len(session.requests))


def test_every_turn_gets_its_reply():
    one, two = made.reply("one"), made.reply("two")
    assert conducted(one, two) == ((one, two), None, 2)


@pytest.mark.parametrize("kind", ["transport", "timeout", "overload"])
def test_what_may_heal_is_tried_again(kind):
    one, two = made.reply("one"), made.reply("two")
    assert conducted(Trouble(kind, "x"), one, Trouble(kind, "x"), two) == ((one, two), None, 4)


@pytest.mark.parametrize("kind", ["auth", "rejected", "context", "protocol"])
def test_what_cannot_heal_is_not(kind):
    replies, failure, requests = conducted(Trouble(kind, "no", status=400))
    assert (replies, failure.kind, failure.message, failure.tries, failure.status, requests) == ((), kind, "no", 1, 400, 1)


def test_after_the_last_try_the_failure_says_how_many_there_were():
    one = made.reply("one")
    replies, failure, requests = conducted(one, *[Trouble("transport", "x")] * 3)
    assert (replies, failure.tries, requests) == ((one,), 3, 4)


def test_a_servers_wish_to_wait_is_kept_up_to_the_cap():
    began = monotonic()
    conducted(Trouble("overload", "x", retry_after_s=1e9), made.reply(), made.reply(), patience=QUICK)
    assert monotonic() - began < 2


def test_a_bug_is_no_trouble_and_passes():
    with pytest.raises(ZeroDivisionError):
        conducted(ZeroDivisionError())


def test_cost_is_counted_tokens_times_price():
    replies = (made.reply(usage=Usage(1000, 500)), made.reply(usage=Usage(2000, 0)))
    assert cost(replies, Price(1.0, 4.0)) == pytest.approx(0.005)


def test_cost_without_price_or_count_is_unknown_not_nought():
    assert cost((made.reply(),), None) is None
    assert cost((made.reply(), made.reply(usage=Usage())), Price(1, 1)) is None
