import asyncio

import made
import msgspec
import pytest

from crucibleforge.chat import Message, Request, Usage
from crucibleforge.errors import Trouble
from crucibleforge.run.thinking import Thinker
from crucibleforge.types import Thinking

REQUEST = Request((Message("user", "q"),), (), 100)
OVERFLOW = made.reply("", reasoning="hm " * 10, finish="length", usage=Usage(5, 400))
STOPPED = made.reply("", reasoning="hm", usage=Usage(5, 30))
ANSWER = made.reply("ANSWER: 42")


def thinker(said=None, **settings):
    return Thinker(Thinking(**settings), (said if said is not None else []).append)


def recovered(of: Thinker, reply, *script):
    requests, steps = [], list(script)

    async def ask(request):
        requests.append(request)
        step = steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    return (*asyncio.run(of.recover(REQUEST, reply, 0, ask)), requests)


def test_a_model_that_is_told_to_think_gets_room_up_to_the_cap():
    assert thinker(mode="on").budget(100) == 400
    assert thinker(mode="on", cap=250).budget(100) == 250
    assert thinker(mode="on", cap=50).budget(100) == 100


def test_a_model_that_does_not_think_gets_what_the_case_says():
    assert thinker(mode="off").budget(100) == thinker().budget(100) == 100


def test_auto_asks_once_and_stays_armed():
    said = []
    auto = thinker(said)
    assert auto.is_undecided
    auto.probe()
    auto.look(ANSWER)
    assert (auto.is_undecided, auto.budget(100), said) == (False, 100, [])
    auto.look(STOPPED)
    assert (auto.budget(100), len(said)) == (400, 1)
    auto.look(STOPPED)
    assert len(said) == 1


def test_reasoning_of_a_model_that_is_said_not_to_reason_changes_nothing():
    off = thinker(mode="off")
    off.look(STOPPED)
    assert (off.is_undecided, off.budget(100)) == (False, 100)


@pytest.mark.parametrize(
    ("reply", "lost"),
    [
        (OVERFLOW, True),
        (STOPPED, True),
        (ANSWER, False),
        (made.reply("half an", finish="length", reasoning="hm"), False),
        (made.reply("", finish="length"), False),
        (made.reply(""), False),
        (made.reply("", reasoning="hm", tool_calls=(made.call(),), finish="tool_calls"), False),
    ],
)
def test_lost_is_a_reply_with_reasoning_and_nothing_else(reply, lost):
    assert thinker().is_lost(reply, "math") is lost


def test_recovery_can_be_switched_off_for_a_model_or_a_category():
    assert not thinker(recovery=False).is_lost(OVERFLOW, "math")
    assert not thinker(no_recovery=("math",)).is_lost(OVERFLOW, "math")
    assert thinker(no_recovery=("math",)).is_lost(OVERFLOW, "coding")


def test_the_first_rung_switches_reasoning_off_and_keeps_the_cases_budget():
    reply, recovery, requests = recovered(thinker(mode="on"), OVERFLOW, ANSWER)
    assert (reply, recovery.mode, recovery.cause, recovery.lost) == (ANSWER, "no_think", "overflow", (OVERFLOW,))
    assert requests == [msgspec.structs.replace(REQUEST, thinking=False)]


def test_the_second_rung_hands_the_end_of_the_reasoning_back():
    long = msgspec.structs.replace(OVERFLOW, reasoning="a" * 9000 + "end")
    reply, recovery, requests = recovered(thinker(mode="on"), long, STOPPED, ANSWER)
    assert (reply, recovery.mode, recovery.lost) == (ANSWER, "continue", (long, STOPPED))
    tail, demand = requests[1].messages[-2:]
    assert (tail.role, len(tail.content), tail.content[-3:], demand.role) == ("assistant", 6000, "end", "user")


def test_a_reply_that_was_cut_before_it_was_known_to_reason_first_gets_its_room():
    auto = thinker()
    early = msgspec.structs.replace(OVERFLOW, usage=Usage(5, 100))
    auto.look(early)
    reply, recovery, requests = recovered(auto, early, ANSWER)
    assert (reply, recovery.mode, requests[0].max_tokens, requests[0].thinking) == (ANSWER, "budget", 400, None)


def test_without_an_answer_the_first_reply_stands_and_all_are_kept():
    reply, recovery, _ = recovered(thinker(mode="on"), OVERFLOW, OVERFLOW, STOPPED)
    assert (reply, recovery.mode, recovery.lost) == (OVERFLOW, None, (OVERFLOW, OVERFLOW, STOPPED))


def test_a_recovered_tool_call_is_an_answer():
    call = made.reply("", tool_calls=(made.call(),), finish="tool_calls")
    assert recovered(thinker(mode="on"), OVERFLOW, call)[0] == call


def test_a_recovered_reply_that_is_cut_is_none():
    cut = made.reply("The answer is", finish="length")
    assert recovered(thinker(mode="on"), OVERFLOW, cut, ANSWER)[1].mode == "continue"


def test_a_server_that_refuses_the_switch_is_not_asked_for_it_again():
    stubborn = thinker(mode="on")
    refusal = Trouble("rejected", "unknown field")
    _, recovery, requests = recovered(stubborn, OVERFLOW, refusal, ANSWER)
    assert (recovery.mode, recovery.error, len(requests)) == ("continue", "no_think: unknown field", 2)
    _, _, requests = recovered(stubborn, OVERFLOW, ANSWER)
    assert [request.thinking for request in requests] == [None]


def test_trouble_in_recovery_is_ours_and_leaves_the_reply_as_it_was():
    gone = Trouble("transport", "gone")
    reply, recovery, _ = recovered(thinker(mode="on"), OVERFLOW, gone, gone)
    assert (reply, recovery.mode, recovery.error) == (OVERFLOW, None, "no_think: gone; continue: gone")
