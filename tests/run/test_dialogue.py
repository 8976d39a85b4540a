import msgspec
import pytest

from crucibleforge.chat import Dialogue, Message, Reply, Timing, Tool, ToolAnswer, ToolCall, Usage
from crucibleforge.run.dialogue import NOT_EXECUTED, next_request

TOOLS = (Tool("look", "Look.", {"type": "object"}),)


def reply(text: str = "", *calls: ToolCall, finish: str = "stop") -> Reply:
    return Reply(text=text, finish=finish, tool_calls=calls, usage=Usage(), timing=Timing(0.0))


def dialogue(**fields: object) -> Dialogue:
    return msgspec.structs.replace(Dialogue((Message("user", "q"),), 50, max_rounds=4), **fields)


def test_the_first_request_is_the_opening():
    request = next_request(dialogue(tools=TOOLS), ())
    assert (request.messages, request.tools, request.max_tokens) == ((Message("user", "q"),), TOOLS, 50)


def test_one_reply_ends_a_single_turn():
    assert next_request(dialogue(), (reply("a"),)) is None


def test_each_turn_follows_its_reply():
    request = next_request(dialogue(turns=("q2", "q3")), (reply("a"), reply("b")))
    assert [m.content for m in request.messages] == ["q", "a", "q2", "b", "q3"]
    assert next_request(dialogue(turns=("q2",)), (reply("a"), reply("b"))) is None


def test_calls_are_answered_by_name_and_arguments():
    world = (ToolAnswer("look", {"n": 1}, "one"), ToolAnswer("look", {"n": 2}, "two"))
    calls = (ToolCall("c1", "look", '{"n": 2}'), ToolCall("c2", "look", '{ "n" : 1 }'))
    request = next_request(dialogue(tools=TOOLS, answers=world), (reply("", *calls),))
    assert [(m.tool_call_id, m.content) for m in request.messages[2:]] == [("c1", "two"), ("c2", "one")]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [('{"n": 9}', NOT_EXECUTED), ("{n", '{"error": "the arguments are not JSON"}'), ("", NOT_EXECUTED)],
)
def test_a_call_that_the_script_does_not_know_gets_an_error_and_the_dialogue_goes_on(arguments, said):
    world = (ToolAnswer("look", {"n": 1}, "one"),)
    request = next_request(dialogue(answers=world), (reply("", ToolCall("c", "look", arguments)),))
    assert request.messages[-1] == Message("tool", said, tool_call_id="c")


def test_calls_that_nobody_answers_end_the_dialogue():
    assert next_request(dialogue(tools=TOOLS, turns=("more",)), (reply("", ToolCall("c", "look", "{}")),)) is None


@pytest.mark.parametrize("finish", ["length", "malformed"])
def test_a_reply_that_was_cut_or_thrown_away_ends_the_dialogue(finish):
    assert next_request(dialogue(turns=("q2",)), (reply("a", finish=finish),)) is None


def test_rounds_are_bounded():
    world = (ToolAnswer("look", {}, "x"),)
    call = reply("", ToolCall("c", "look", "{}"))
    assert next_request(dialogue(answers=world, max_rounds=3), (call, call)) is not None
    assert next_request(dialogue(answers=world, max_rounds=3), (call, call, call)) is None


def test_reasoning_is_handed_back_with_calls_and_only_with_them():
    world = (ToolAnswer("look", {}, "x"),)
    thought = msgspec.structs.replace(reply("", ToolCall("c", "look", "{}")), reasoning="hm")
    assert next_request(dialogue(answers=world), (thought,)).messages[1].reasoning == "hm"
    plain = msgspec.structs.replace(reply("a"), reasoning="hm")
    assert next_request(dialogue(turns=("q2",)), (plain,)).messages[1].reasoning == ""
