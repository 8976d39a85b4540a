from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue, Reply, Timing, ToolCall, Usage
from crucibleforge.families._kit import called, said
from crucibleforge.graders.tools import GRADER, find
from crucibleforge.types import Case, Element, Finding, Grading, Needs

A = ("get_a", '{"city": "Oslo", "unit": "C"}')
B = ("get_b", '{"n": 3}')


def call(name, arguments):
    return {"name": name, "arguments": json.loads(arguments)}


def asked(*calls, ordered=False, answer=None, **settings):
    return Case(
        id="tooluse/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected={"calls": [call(*made) for made in calls], "ordered": ordered, "answer": answer},
        grading=Grading(GRADER.name, settings),
        needs=Needs(100, tools=True),
    )


def why(case, *replies):
    finding = find(case, replies)
    assert (finding.outcome == "pass") == (not finding.why) == (finding.score == 1)
    assert finding.score == sum(element.passed for element in finding.elements) / len(finding.elements)
    return finding.why


def test_the_expected_call_passes():
    assert find(asked(A), (called(A),)) == Finding("pass", 1.0, "", (Element("get_a 1", passed=True),))


@pytest.mark.parametrize("ordered", [True, False])
def test_calls_may_come_at_once_or_one_by_one(ordered):
    assert why(asked(A, B, ordered=ordered), called(A, B)) == ""
    assert why(asked(A, B, ordered=ordered), called(A), called(B)) == ""


def test_the_order_counts_only_where_it_is_said_to():
    assert why(asked(A, B), called(B), called(A)) == ""
    assert why(asked(A, B, ordered=True), called(B), called(A)) == "call 1: called get_b, expected get_a"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"city": "Oslo", "unit": "F"}', 'argument \'unit\' is "F", expected "C"'),
        ('{"city": "Oslo"}', "argument 'unit' is missing"),
        ('{"city": "Oslo", "unit": "C", "x": 1}', "argument 'x' is not expected"),
        ('{"city": ["Oslo"], "unit": "C"}', 'argument \'city\' is ["Oslo"], expected "Oslo"'),
        ('{"city": "Oslo", "unit": "C"', "arguments are not JSON"),
        ('{"unit": "F", "unit": "C", "city": "Oslo"}', "arguments are not JSON"),
        ('[{"city": "Oslo", "unit": "C"}]', "arguments are not a JSON object"),
        ('"{}"', "arguments are not a JSON object"),
        ("", "argument 'city' is missing"),
    ],
)
def test_wrong_arguments_are_named(arguments, fault):
    finding = find(asked(A), (called(("get_a", arguments)),))
    assert (finding.outcome, finding.score, finding.why) == ("fail", 0.0, f"call 1: {fault}")


@pytest.mark.parametrize(
    ("got", "right"), [("3", True), ("3.0", True), ('"3"', False), ("true", False), ("3.1", False)]
)
def test_arguments_are_compared_by_type_and_value(got, right):
    assert (why(asked(B), called(("get_b", f'{{"n": {got}}}'))) == "") is right


def test_no_text_means_no_arguments():
    assert why(asked(("list_all", "{}")), called(("list_all", ""))) == ""


@pytest.mark.parametrize(
    ("replies", "fault"),
    [
        ([said("It is warm.")], "no call, expected 1"),
        ([said('{"name": "get_a", "arguments": {}}')], "no call (the reply writes one as text: get_a), expected 1"),
        ([said("<think><tool_call></think>It is warm.")], "no call, expected 1"),
        ([called(A, A)], "2 calls, expected 1"),
        ([called(A), called(B)], "2 calls, expected 1"),
        ([called(B)], "call 1: called get_b, expected get_a"),
    ],
)
def test_the_number_and_names_of_calls_are_told(replies, fault):
    assert why(asked(A), *replies) == fault


def test_a_call_too_many_is_not_forgiven():
    finding = find(asked(A), (called(A, A),))
    assert (finding.outcome, finding.score) == ("partial", 0.5)
    assert finding.elements[1] == Element("no other call", passed=False, why="1 too many")


def test_the_wrong_call_is_named_by_its_place():
    wrong = ("get_a", '{"city": "Rome", "unit": "C"}')
    assert why(asked(A, B), called(B), called(wrong)) == 'call 2: argument \'city\' is "Rome", expected "Oslo"'
    finding = find(asked(A, B), (called(B), called(wrong)))
    assert (finding.outcome, finding.score) == ("partial", 0.5)


def test_where_no_call_is_expected_none_may_be_made():
    assert why(asked(), said("I cannot do that.")) == ""
    assert why(asked(), called(A)) == "1 call, expected none"
    assert why(asked(), said("<tool_call>{")) == "the reply writes a call as text (a malformed call), expected none"


@pytest.mark.parametrize("ordered", [True, False])
def test_allowed_calls_may_come_besides(ordered):
    case = asked(A, B, ordered=ordered, allow_extra=["look", "get_a"])
    assert why(case, called(("look", "{}"), A, ("get_a", '{"city": "Rome"}'), ("look", "x"), B, A)) == ""
    assert why(case, called(("look", "{}")), called(A)) == 'not called: get_b {"n": 3}'
    assert why(case, called(("look", "{}"), A, B, B)) == "3 calls besides the allowed ones, expected 2"
    assert why(case, called(A, B, B)) == "3 calls, expected 2"


@pytest.mark.parametrize(
    ("answer", "text", "fault"),
    [
        (7, "ANSWER: 7", ""),
        (7, "ANSWER: 8", "got 8, expected 7"),
        (7, "It is 7.", "unparsed: no answer line in reply"),
        ("Tove", "**Answer:** tove", ""),
        ("Tove", "ANSWER: Pim", "got Pim, expected Tove"),
    ],
)
def test_an_answer_is_read_from_the_last_reply(answer, text, fault):
    assert why(asked(A, answer=answer), called(A, text="ANSWER: 7"), said(text)) == fault


def test_the_answer_is_one_element_of_several():
    finding = find(asked(A, B, answer=7), (called(A, B), said("ANSWER: 8")))
    assert (finding.outcome, finding.score) == ("partial", 2 / 3)


def test_a_cut_or_empty_reply_never_passes():
    made = called(A)
    cut = Reply(text="", finish="length", tool_calls=made.tool_calls, usage=Usage(), timing=Timing(total_s=0.0))
    assert why(asked(A), cut) == "the reply is cut off"
    assert why(asked(A), made, said("Done", "length")) == "the reply is cut off"
    assert why(asked(A), made, said("")) == "the last reply is empty"
    assert why(asked(), said("<think>No")) == "the last reply is empty"


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(), st.text() | st.just("{}"))), st.text(), st.booleans())
def test_any_reply_gets_a_finding(calls, text, ordered):
    assert find(asked(A, B, ordered=ordered, answer="qzqz"), (called(*calls, text=text),)).outcome == "fail"


@given(st.permutations([A, B, ("look", "{}"), A]), st.integers(0, 4))
def test_in_any_order_means_any_order(calls, split):
    parts = [called(*part) for part in (calls[:split], calls[split:]) if part]
    assert why(asked(A, A, B, allow_extra=["look"]), *parts) == ""


def test_more_calls_than_are_looked_at_never_pass():
    assert why(asked(A, allow_extra=["look"]), called(A, *[("look", "{}")] * 1000)) == "more than 1000 calls"


@pytest.mark.slow
def test_hostile_calls_take_no_time():
    calls = tuple(ToolCall("", "get_a", "[" * 50) for _ in range(100_000))
    reply = Reply(text="", finish="tool_calls", tool_calls=calls, usage=Usage(), timing=Timing(total_s=0.0))
    start = time.process_time()
    assert find(asked(A, B), (reply,)).outcome == "fail"
    assert time.process_time() - start < 2
