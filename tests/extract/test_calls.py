from __future__ import annotations

import time

import pytest

from crucibleforge.extract.calls import writes_call


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>',
        '<tool_call>{"name":"f","argu',
        '```json\n{\n  "name": "f",\n  "arguments": {"a": 1}\n}\n```',
        'I call {"name": "f", "parameters": {}} now',
        '[TOOL_CALLS][{"name":"f","arguments":{}}]',
        "<function=f><parameter=a>1</parameter></function>",
        '<|python_tag|>{"f": 1}',
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}",
        "<|tool_call>call:f{a:1}<tool_call|>",
    ],
)
def test_a_call_in_the_text_is_noticed(text):
    assert writes_call(text)


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", 'The schema is {"name": "string"}.', '{"name": "Ann", "age": 3}']
)
def test_other_text_is_no_call(text):
    assert not writes_call(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ['{"name"' * 140_000, "{" + " " * 999_000, '{"name":"' * 110_000, "<function=" * 100_000]
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    writes_call(text)
    assert time.process_time() - start < 2
