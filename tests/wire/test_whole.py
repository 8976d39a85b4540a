import pytest

from crucibleforge.chat import Timing, ToolCall, Usage
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.stats.rates import decode_rate
from crucibleforge.wire.whole import reply


def body(message, finish="stop", **more):
    return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": finish}]} | more


def test_text_usage_and_served_model_are_taken():
    usage = {"prompt_tokens": 7, "completion_tokens": 90, "completion_tokens_details": {"reasoning_tokens": 50}}
    got = reply(body({"role": "assistant", "content": "ANSWER: 4"}, usage=usage, model="big-1"))
    assert (got.text, got.finish, got.served_model) == ("ANSWER: 4", "stop", "big-1")
    assert (got.usage.prompt_tokens, got.usage.completion_tokens, got.usage.reasoning_tokens) == (7, 90, 50)


def test_without_usage_nothing_is_counted():
    assert reply(body({"content": "x"})).usage == Usage()


def test_no_speed_follows_from_a_reply_that_nobody_timed():
    timings = {"prompt_n": 9, "prompt_ms": 1.0, "predicted_n": 400, "predicted_ms": 4.0}
    got = reply(body({"content": "x"}, usage={"prompt_tokens": 1, "completion_tokens": 400}, timings=timings))
    assert (got.timing, got.server_timings, decode_rate(got)) == (Timing(total_s=0.0), None, None)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_kept_apart(key):
    got = reply(body({"content": "x", key: "hm"}))
    assert (got.text, got.reasoning) == ("x", "hm")


def test_reasoning_in_tags_is_told_from_text():
    got = reply(body({"content": "<think>hm</think>\n\nx"}))
    assert (got.text, got.reasoning) == ("x", "hm")


def test_calls_are_those_of_the_model():
    call = {"id": "c7", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    got = reply(body({"content": None, "tool_calls": [call]}, "tool_calls"))
    assert (got.text, got.finish, got.tool_calls) == ("", "tool_calls", (ToolCall("c7", "f", '{"a": 1}'),))


def test_a_cut_reply_is_cut():
    assert reply(body({"content": "and so"}, "length")).finish == "length"


@pytest.mark.parametrize("choices", [None, [], {}, [{}], [{"message": None}], ["x"], [{"message": "x"}]])
def test_a_body_without_a_message_is_no_reply_of_the_model(choices):
    with pytest.raises(Trouble) as caught:
        reply({"choices": choices})
    assert (caught.value.kind, caught.value.message) == ("protocol", "the body holds no message")


def test_two_choices_are_not_what_was_asked_for():
    with pytest.raises(Trouble) as caught:
        reply({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]})
    assert caught.value.kind == "protocol"


def test_half_a_surrogate_pair_becomes_what_a_log_can_hold():
    assert reply(body({"content": "a\ud800b"})).text == "a\ufffdb"


def test_what_cannot_be_written_again_is_trouble_and_no_crash():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Trouble) as caught:
        reply(body({"content": deep}))
    assert caught.value.kind == "protocol"
    with pytest.raises((Trouble, Malformed)):
        reply(body({"content": "x"}, model=10**5000))
