from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.calls import MAX_WRITTEN, Written, writes_call, written_calls


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
    assert written_calls(text)


@pytest.mark.parametrize(
    "text", ["", "I cannot do that.", 'The schema is {"name": "string"}.', '{"name": "Ann", "age": 3}']
)
def test_other_text_is_no_call(text):
    assert not writes_call(text)
    assert written_calls(text) == ()


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>\n{"name": "f", "args": {"a": 1}}\n</tool_call>', [Written("f", {"a": 1})]),
        (
            "<tool_call><function=f><parameter=a>\nOslo\n</parameter></function></tool_call>",
            [Written("f", {"a": "Oslo"})],
        ),
        ('<function=f>{"a": 1}</function>', [Written("f", {"a": 1})]),
        ("<function=f></function>", [Written("f", {})]),
        ("<function=f><parameter=a>1</parameter>", [Written("f", None)]),
        (
            '[TOOL_CALLS] [{"name":"f","arguments":""},{"name":"g","parameters":{}}]',
            [Written("f", {}), Written("g", {})],
        ),
        ('{"name": "f", "arguments": "{oops"}', [Written("f", None)]),
        ('{"name": "f", "arguments": {"a": 1, "a": 2}}', [Written("", None)]),
        ('<|python_tag|>{"name": "f", "parameters": {"a": 1}}', [Written("f", {"a": 1})]),
        ('<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}', [Written("f", {"a": 1})]),
        ('<tool_call>{"type": "function", "function": {"name": "f", "arguments": {}}}', [Written("f", {})]),
        ("<tool_call>f(1)</tool_call>", [Written("", None)]),
    ],
)
def test_a_written_call_is_read_or_told_as_malformed(text, calls):
    assert list(written_calls(text)) == calls


def test_only_so_many_written_calls_are_looked_at():
    assert len(written_calls('{"name":"f","arguments":{}}' * 1000)) == MAX_WRITTEN
    assert len(written_calls("[TOOL_CALLS][" + '{"name":"f","arguments":{}},' * 999 + "{}]")) == MAX_WRITTEN


@given(
    st.lists(
        st.sampled_from(
            [
                "<tool_call>",
                "<function=f>",
                "<parameter=a>",
                "</parameter>",
                '{"name":"f","args":',
                "{",
                "}",
                "[TOOL_CALLS]",
                "x",
            ]
        )
    ).map("".join)
)
def test_any_text_has_calls_or_none(text):
    assert bool(written_calls(text)) == writes_call(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ['{"name"' * 140_000, "{" + " " * 999_000, '{"name":"' * 110_000, "<function=" * 100_000]
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    writes_call(text)
    written_calls(text)
    assert time.process_time() - start < 2
