import json

import pytest

from crucibleforge.chat import Message, Request, Tool, ToolCall
from crucibleforge.types import Sampling, Target
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


def test_whose_request_it_is_stays_here():
    request = Request((Message("user", "u"),), (), 64)
    known = Request((Message("user", "u"),), (), 64, case="math/f/L1.1#abcd", repeat=2, round=3)
    assert body(TARGET, known) == body(TARGET, request)


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


@pytest.mark.parametrize("name", ["stream_options", "seed", "temperature", "tools"])
def test_a_refused_parameter_is_not_sent(name):
    sent = json.loads(body(TARGET, Request((), (Tool("f", "d", {}),), 8), frozenset({name})))
    assert (name in sent, sent["max_tokens"]) == (False, 8)


def test_without_max_tokens_the_limit_goes_by_its_new_name():
    sent = json.loads(body(TARGET, Request((), (), 8), frozenset({"max_tokens"})))
    assert (sent.get("max_tokens"), sent["max_completion_tokens"]) == (None, 8)


@pytest.mark.parametrize(
    ("thinking", "dropped", "kwargs"),
    [
        (False, frozenset(), {"enable_thinking": False, "own": {"a": 1}}),
        (None, frozenset(), {"enable_thinking": True, "own": {"a": 1}}),
        (True, frozenset(), {"enable_thinking": True, "own": {"a": 1}}),
        (False, frozenset({"chat_template_kwargs"}), None),
    ],
)
def test_thinking_is_switched_off_beside_the_users_own_kwargs(thinking, dropped, kwargs):
    own = {"chat_template_kwargs": {"enable_thinking": True, "own": {"a": 1}}, "stream_options": {"continuous_usage_stats": True}}
    target = Target(label="l", provider="p", kind="openai", model_id="m", extra_body=own)
    sent = json.loads(body(target, Request((), (), 8, thinking=thinking), dropped))
    assert sent.get("chat_template_kwargs") == kwargs
    assert sent["stream_options"] == {"continuous_usage_stats": True, "include_usage": True}
    assert own["chat_template_kwargs"]["enable_thinking"] is True


def test_reasoning_goes_back_with_the_calls_it_led_to():
    call = ToolCall("c1", "f", "{}")
    sent = json.loads(body(TARGET, Request((Message("assistant", "", (call,), reasoning="hm"),), (), 8)))
    assert sent["messages"][0]["reasoning_content"] == "hm"


def test_extra_fields_win_over_sampling_and_never_redirect():
    request = Request((), (), 8, extra={"temperature": 0.0, "cache_prompt": False, "model": "other", "max_tokens": 9, "stream_options": {"x": 1}})
    sent = json.loads(body(TARGET, request))
    assert (sent["temperature"], sent["cache_prompt"], sent["model"], sent["max_tokens"]) == (0.0, False, "m", 8)
    assert sent["stream_options"] == {"x": 1, "include_usage": True}
    assert "cache_prompt" not in json.loads(body(TARGET, request, frozenset({"cache_prompt"})))
