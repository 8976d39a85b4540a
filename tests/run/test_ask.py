import asyncio
from time import monotonic

import made
import msgspec
import pytest

from crucibleforge.chat import Dialogue, Message, Usage
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.run.ask import Asker, Patience, cost
from crucibleforge.types import Price, Served, Thinking

QUICK = Patience(tries=3, first_wait_s=0.001, longest_wait_s=0.01)
TWO_TURNS = made.case(dialogue=Dialogue((Message("user", "q"),), 10, turns=("q2",), max_rounds=2))
LOST = made.reply("", reasoning="hm", finish="length", usage=Usage(5, 400))


class Scripted:
    """A session that gives what it was told to give, in order."""

    served = Served("fake")

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.requests = []
        self.learnt = ()

    async def ask(self, request):
        self.requests.append(request)
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def notices(self):
        learnt, self.learnt = self.learnt, ()
        return learnt


def asker(session, patience=QUICK, thinking=None, **hooks):
    return Asker(session, made.target(thinking=thinking or Thinking(mode="off")), patience, **hooks)


def conducted(*script: object, case=TWO_TURNS, **fields):
    session = Scripted(*script)
    return asyncio.run(asker(session, **fields).conduct(case)), session


def test_every_turn_gets_its_reply():
    one, two = made.reply("one"), made.reply("two")
    asked, session = conducted(one, two)
    assert (asked.replies, asked.failure, asked.recoveries, asked.max_tokens) == ((one, two), None, (), 10)
    assert len(session.requests) == 2


def test_a_request_says_whose_it_is():
    session = Scripted(made.reply("one"), made.reply("two"))
    asyncio.run(asker(session).conduct(TWO_TURNS, 3))
    whose = f"{TWO_TURNS.id}#{TWO_TURNS.hash}"
    assert [(made.case, made.repeat, made.round) for made in session.requests] == [(whose, 3, 0), (whose, 3, 1)]


@pytest.mark.parametrize("kind", ["transport", "timeout", "overload"])
def test_what_may_heal_is_tried_again(kind):
    one, two = made.reply("one"), made.reply("two")
    asked, session = conducted(Trouble(kind, "x"), one, Trouble(kind, "x"), two)
    assert (asked.replies, asked.failure, len(session.requests)) == ((one, two), None, 4)


@pytest.mark.parametrize("kind", ["auth", "rejected", "context", "template", "wrong_model", "protocol", "runaway"])
def test_what_cannot_heal_is_not(kind):
    asked, session = conducted(Trouble(kind, "no", status=400))
    failure = asked.failure
    assert (asked.replies, failure.kind, failure.message, failure.tries, failure.status) == ((), kind, "no", 1, 400)
    assert len(session.requests) == 1


def test_after_the_last_try_the_failure_says_how_many_there_were():
    one = made.reply("one")
    asked, session = conducted(one, *[Trouble("transport", "x")] * 3)
    assert (asked.replies, asked.failure.tries, len(session.requests)) == ((one,), 3, 4)


def test_a_servers_wish_to_wait_is_kept_up_to_the_cap():
    began = monotonic()
    conducted(Trouble("overload", "x", retry_after_s=1e9), made.reply(), made.reply())
    assert monotonic() - began < 2


def test_an_overloaded_server_is_told_of():
    told = []
    conducted(Trouble("overload", "x"), made.reply(), made.reply(), overloaded=lambda: told.append(1))
    assert told == [1]


def test_a_tool_call_that_the_server_could_not_parse_is_the_models_reply_and_not_tried_again():
    asked, session = conducted(Malformed("Failed to parse input"))
    assert (asked.replies[0].finish, asked.replies[0].text, asked.failure) == ("malformed", "Failed to parse input", None)
    assert len(session.requests) == 1


def test_a_bug_is_no_trouble_and_passes():
    with pytest.raises(ZeroDivisionError):
        conducted(ZeroDivisionError())


def test_what_a_session_learns_is_said():
    said = []
    session = Scripted(made.reply(), made.reply())
    session.learnt = ("the server refuses seed",)
    asyncio.run(asker(session, say=said.append).conduct(TWO_TURNS))
    assert said == ["the server refuses seed"]


def test_a_thinking_model_gets_room_and_the_budget_sent_is_told():
    asked, session = conducted(made.reply(), made.reply(), thinking=Thinking(mode="on"))
    assert ([request.max_tokens for request in session.requests], asked.max_tokens) == ([40, 40], 40)


def test_a_lost_reply_is_asked_for_again_and_the_dialogue_goes_on():
    back, two = made.reply("one"), made.reply("two")
    asked, session = conducted(LOST, back, two, thinking=Thinking(mode="on"))
    assert (asked.replies, [r.mode for r in asked.recoveries], asked.recoveries[0].round) == ((back, two), ["no_think"], 0)
    assert session.requests[1].max_tokens == 10
    assert [m.content for m in session.requests[2].messages] == ["q", "one", "q2"]


def test_a_model_that_turns_out_to_think_gets_room_from_then_on():
    early = made.reply("", reasoning="hm", finish="length", usage=Usage(5, 10))
    asked, session = conducted(early, made.reply("one"), made.reply("two"), thinking=Thinking())
    assert [request.max_tokens for request in session.requests] == [10, 40, 40]
    assert (asked.recoveries[0].mode, asked.max_tokens) == ("budget", 40)


def test_the_probe_is_asked_once_and_a_failing_one_is_left_to_the_first_case():
    session = Scripted(Trouble("rejected", "no"), made.reply(), made.reply())
    ready = asker(session, thinking=Thinking())

    async def both():
        await ready.prepare()
        await ready.prepare()
        return await ready.conduct(TWO_TURNS)

    assert (asyncio.run(both()).failure, len(session.requests)) == (None, 3)


def test_no_probe_where_the_configuration_says():
    session = Scripted()
    asyncio.run(asker(session, thinking=Thinking(mode="on")).prepare())
    assert session.requests == []


def test_cost_is_counted_tokens_times_price():
    replies = (made.reply(usage=Usage(1000, 500)), made.reply(usage=Usage(2000, 0)))
    assert cost(replies, Price(1.0, 4.0)) == pytest.approx(0.005)


def test_cost_without_price_or_count_is_unknown_not_nought():
    assert cost((made.reply(),), None) is None
    assert cost((made.reply(), made.reply(usage=Usage())), Price(1, 1)) is None


def test_a_reply_that_the_server_threw_away_has_no_count_and_hides_no_other():
    thrown = msgspec.structs.replace(made.reply(usage=Usage()), finish="malformed")
    assert cost((made.reply(usage=Usage(1000, 0)), thrown), Price(1, 1)) == pytest.approx(0.001)
