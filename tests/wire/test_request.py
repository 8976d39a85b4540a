import json

from crucibleforge.types import Message, Request, Sampling, Target, Tool, ToolCall
from crucibleforge.wire.request import body

TARGET = Target(label="l", provider="p", kind="openai", model_id="m", sampling=Sampling(0.5, None, 7))


def test_a_request_says_just_what_was_asked():
    request = Request((Message("system", "s"), Message("user", "u")), (), 64)
    assert json.loads(body(TARGET, request)) == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "seed": 7,
    }


def test_calls_and_their_answers_go_back_as_the_protocol_wants():
    call = ToolCall("c1", "f", '{"a": 1}')
    messages = (Message("assistant", "", (call,)), Message("tool", "42", tool_call_id="c1"))
    sent = json.loads(body(TARGET, Request(messages, (Tool("f", "d", {"type": "object"}),), 8)))
    assert sent["messages"] == [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "content": "42", "tool_call_id": "c1"},
    ]
    assert sent["tools"] == [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]


def test_extra_body_adds_but_never_redirects():
    target = Target(label="l", provider="p", kind="openai", model_id="m", extra_body={"top_k": 3, "model": "other", "stream": False})
    sent = json.loads(body(target, Request((), (), 8)))
    assert (sent["top_k"], sent["model"], sent["stream"]) == (3, "m", True)
