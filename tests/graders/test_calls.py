from __future__ import annotations

import pytest

from crucibleforge.chat import Tool, ToolCall
from crucibleforge.graders._calls import Made, fault, has, is_call, read

BOOK = Tool(
    "book",
    "Book it.",
    {"type": "object", "properties": {"n": {"type": "integer"}, "when": {"type": "string"}}, "required": ["n"]},
)


def made(arguments, name="book"):
    return read(ToolCall("1", name, arguments), {"book": BOOK})


@pytest.mark.parametrize(
    ("arguments", "broken"),
    [("[1]", "arguments are not a JSON object"), ('{"n": 1,}', "arguments are not JSON")],
)
def test_arguments_that_no_tool_could_be_run_with_are_broken(arguments, broken):
    assert made(arguments) == Made("book", None, broken)


@pytest.mark.parametrize("arguments", ['{"n": "1"}', "{}", '{"n": true}'])
def test_a_call_that_its_schema_refuses_is_broken(arguments):
    assert made(arguments).arguments is None
    assert made(arguments).broken


def test_no_text_is_no_arguments():
    assert made("", name="other") == Made("other", {})


@pytest.mark.parametrize(
    ("one", "other", "kind", "alike"),
    [
        ("2030-05-01T12:00:00Z", "2030-05-01T14:00+02:00", "instant", True),
        ("2030-05-01T12:00:00Z", "2030-05-01T12:00+02:00", "instant", False),
        ("12.50", "12.5", "decimal", True),
        ("12.05", "12.5", "decimal", False),
        ("12.50", "12.5", "", False),
        (["a", "b"], ["b", "a"], "set", True),
        (["a", "b"], ["b", "a"], "", False),
        (25, 25.0, "", True),
        (1, True, "", False),
    ],
)
def test_arguments_are_compared_as_their_kind_says(one, other, kind, alike):
    expected = {"name": "f", "arguments": {"x": other}}
    assert is_call(Made("f", {"x": one}), expected, {"x": kind} if kind else {}) is alike
    assert (fault(Made("f", {"x": one}), expected, {"x": kind} if kind else {}) == "") is alike


def test_another_tool_is_another_call():
    assert not is_call(Made("g", {}), {"name": "f", "arguments": {}}, {})


def test_some_arguments_are_held_whatever_else_there_is():
    assert has({"a": 1, "b": 2}, {"a": 1})
    assert not has({"a": True}, {"a": 1})
    assert not has({}, {"a": 1})
