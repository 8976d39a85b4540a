from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue, Reply, Timing, Tool, ToolCall, Usage
from crucibleforge.families._dress import called, said
from crucibleforge.graders.tools import GRADER, MAX_CALLS, find
from crucibleforge.types import Case, Element, Finding, Grading, Needs

A = ("set_a", '{"city": "Oslo", "unit": "C"}')
B = ("set_b", '{"n": 3}')
LOOK = ("look", "{}")


def tool(name, **properties):
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return Tool(name, "", schema)


TOOLS = (
    tool("set_a", city="string", unit="string"),
    tool("set_b"),
    tool("look"),
    Tool(
        "strict",
        "",
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "kind": {"enum": ["x", "y"]},
                "tags": {"items": {"type": "string"}},
            },
            "required": ["n"],
            "additionalProperties": False,
        },
    ),
)


def call(name, arguments):
    return {"name": name, "arguments": json.loads(arguments)}


def asked(*calls, answer=None, **settings):
    return Case(
        id="tooluse/x/L1.1",
        hash="0",
        dialogue=Dialogue((), 10, tools=TOOLS),
        expected={"calls": [call(*made) for made in calls], "answer": answer},
        grading=Grading(GRADER.name, {"reads": ["look"], **settings}),
        needs=Needs(100, tools=True),
    )


def why(case, *replies):
    finding = find(case, replies)
    assert (finding.outcome == "pass") == (not finding.why) == (finding.score == 1)
    assert (finding.score == 1) == all(element.passed for element in finding.elements)
    assert all(element.passed == (not element.why) for element in finding.elements)
    return finding.why


def compared(kind, expected, got):
    """True when the argument passes."""
    case = asked(("set_b", json.dumps({"v": expected})), compare={"v": kind})
    return why(case, called(("set_b", json.dumps({"v": got})))) == ""


def test_the_expected_call_passes():
    elements = (Element("set_a 1", passed=True), Element("no other change", passed=True))
    assert find(asked(A), (called(A),)) == Finding("pass", 1.0, "", elements)


@pytest.mark.parametrize("ordered", [True, False])
def test_calls_may_come_at_once_or_one_by_one(ordered):
    assert why(asked(A, B, ordered=ordered), called(A, B)) == ""
    assert why(asked(A, B, ordered=ordered), called(A), called(B), said("Done.")) == ""


def test_the_order_counts_only_where_it_is_said_to():
    assert why(asked(A, B), called(B), called(A)) == ""
    assert why(asked(A, B, ordered=True), called(B), called(A)) == "call 1: out of order"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"city": "Oslo", "unit": "F"}', 'argument \'unit\' is "F", expected "C"'),
        ('{"city": "oslo", "unit": "C"}', 'argument \'city\' is "oslo", expected "Oslo"'),
        ('{"city": "Oslo"}', "argument 'unit' is missing"),
        ('{"city": "Oslo", "unit": "C", "x": 1}', "argument 'x' is not expected"),
        ('{"city": ["Oslo"], "unit": "C"}', "argument 'city' is [\"Oslo\"], which its schema does not allow"),
        ('{"city": "Oslo", "unit": "C"', "arguments are not JSON"),
        ('{"unit": "F", "unit": "C", "city": "Oslo"}', "arguments are not JSON"),
        ('[{"city": "Oslo", "unit": "C"}]', "arguments are not a JSON object"),
        ('"{}"', "arguments are not a JSON object"),
        ("", "argument 'city' is missing"),
    ],
)
def test_wrong_arguments_are_named(arguments, fault):
    finding = find(asked(A), (called(("set_a", arguments)),))
    assert (finding.outcome, finding.score, finding.why) == ("fail", 0.0, f"call 1: {fault}")


@pytest.mark.parametrize(
    ("got", "right"), [("3", True), ("3.0", True), ('"3"', False), ("true", False), ("3.1", False), ("[3]", False)]
)
def test_arguments_are_compared_by_type_and_value(got, right):
    assert (why(asked(B), called(("set_b", f'{{"n": {got}}}'))) == "") is right


def test_true_is_never_one_and_one_never_true():
    assert why(asked(("set_b", '{"n": 1}')), called(("set_b", '{"n": true}'))) != ""
    assert why(asked(("set_b", '{"n": true}')), called(("set_b", '{"n": 1}'))) != ""


@pytest.mark.parametrize(
    "got",
    [
        "2031-03-30T01:30:00Z",
        "2031-03-30T01:30Z",
        "2031-03-30 01:30:00.000+00:00",
        "2031-03-30T03:30:00+02:00",
        "2031-03-29T20:30:00-0500",
        "2031-03-30t01:30:00z",
    ],
)
def test_instants_may_be_written_with_any_offset(got):
    assert compared("instant", "2031-03-30T01:30:00Z", got)


@pytest.mark.parametrize(
    "got",
    [
        "2031-03-30T01:30:00",
        "2031-03-30T01:30:00+02:00",
        "2031-03-30T01:30:01Z",
        "2031-13-30T01:30:00Z",
        "2031-03-30T01:30:00Z and later",
        "2031-03-30",
        1932600600,
        None,
    ],
)
def test_another_instant_or_none_is_refused(got):
    assert not compared("instant", "2031-03-30T01:30:00Z", got)


def test_decimals_are_exact_in_any_spelling():
    assert compared("decimal", "12.50", "12.5")
    assert compared("decimal", "12.50", 12.5)
    assert compared("decimal", "0.1", 0.1)
    assert not compared("decimal", "12.50", "12.49")
    assert not compared("decimal", "0.3", 0.1 + 0.2)
    assert not compared("decimal", "12.50", "12,50")
    assert not compared("decimal", "1", True)
    assert not compared("decimal", "1", "1" * 100_000)


def test_sets_may_come_in_any_order_but_hold_each_as_often():
    assert compared("set", ["a", "b"], ["b", "a"])
    assert compared("set", [3, 10], [10.0, 3])
    assert not compared("set", ["a", "b"], ["a", "b", "b"])
    assert not compared("set", ["a", "b"], ["a"])
    assert not compared("set", [1], [True])
    assert not compared("set", ["a"], "a")
    assert not compared("decimal", ["a", "b"], ["b", "a"])


def test_paths_lead_into_lists_and_objects():
    case = asked(
        ("set_b", '{"to": {"at": "2031-01-01T00:00:00Z"}, "lines": [{"price": "1.50"}]}'),
        compare={"to.at": "instant", "lines[].price": "decimal", "lines": "set"},
    )
    assert (
        why(case, called(("set_b", '{"lines": [{"price": "1.5"}], "to": {"at": "2031-01-01T01:00:00+01:00"}}'))) == ""
    )
    assert why(case, called(("set_b", '{"lines": [{"price": "1.6"}], "to": {"at": "2031-01-01T00:00:00Z"}}'))) != ""


def test_no_text_means_no_arguments():
    assert why(asked(("set_b", "{}")), called(("set_b", ""))) == ""


@pytest.mark.parametrize(
    ("replies", "fault"),
    [
        ([said("It is warm.")], "no call, expected 1"),
        ([said('{"name": "set_a", "arguments": {}}')], "no call (the reply writes one as text: set_a), expected 1"),
        ([said("<think><tool_call></think>It is warm.")], "no call, expected 1"),
        ([called(A, A)], 'call 2: made once more: set_a {"city": "Oslo", "unit": "C"}'),
        ([called(A), called(B, B)], 'call 2: not asked for: set_b {"n": 3} (and 1 more)'),
        ([called(B)], 'call 1: not asked for: set_b {"n": 3}'),
        ([called(("set_z", "{}"))], "call 1: called set_z, expected set_a"),
        ([called(LOOK)], 'not called: set_a {"city": "Oslo", "unit": "C"}'),
    ],
)
def test_each_fault_is_told(replies, fault):
    assert why(asked(A), *replies) == fault


def test_a_change_too_many_fails_the_case_whatever_else_was_right():
    undone = called(A), called(B), called(("set_b", '{"n": 0}')), said("ANSWER: 7")
    finding = find(asked(A, answer=7), undone)
    assert (finding.outcome, finding.score) == ("fail", 0.0)
    assert [element.passed for element in finding.elements] == [True, True, False]


def test_a_wrong_change_before_the_right_one_is_one_too_many():
    assert why(asked(B), called(("set_b", '{"n": 4}')), called(B)) == 'call 1: not asked for: set_b {"n": 4}'


def test_a_call_that_could_not_be_run_changes_nothing():
    broken = called(("set_a", '{"city"'), ("set_a", '{"city": 5}'), ("set_z", "{}"))
    assert why(asked(A), broken, called(A)) == ""
    assert why(asked(A), broken) == "call 1: arguments are not JSON"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"n": 3.0, "kind": "x", "tags": ["a"]}', ""),
        ("{}", "argument 'n' is missing"),
        ('{"n": true}', "argument 'n' is true, which its schema does not allow"),
        ('{"n": 1, "kind": "z"}', "argument 'kind' is \"z\", which its schema does not allow"),
        ('{"n": 1, "tags": [2]}', "argument 'tags' is [2], which its schema does not allow"),
        ('{"n": 1, "m": 1}', "argument 'm' is not expected"),
    ],
)
def test_a_tool_refuses_what_its_schema_does(arguments, fault):
    case = asked(("strict", '{"n": 3, "kind": "x", "tags": ["a"]}'))
    assert why(case, called(("strict", arguments))) == (f"call 1: {fault}" if fault else "")


def test_the_wrong_call_is_named_by_its_place():
    wrong = ("set_a", '{"city": "Rome", "unit": "C"}')
    finding = find(asked(A, B), (called(B), called(wrong)))
    assert (finding.outcome, finding.score) == ("partial", 0.5)
    assert finding.why == 'call 2: argument \'city\' is "Rome", expected "Oslo"'


@pytest.mark.parametrize("ordered", [True, False])
def test_reads_are_free_within_the_budget(ordered):
    case = asked(A, B, ordered=ordered, max_calls=5)
    assert why(case, called(LOOK, A, ("look", '{"n": 1}'), ("look", "x"), B)) == ""
    assert why(case, called(LOOK, A, LOOK, LOOK, B, LOOK)) == "6 calls, at most 5"
    assert why(case, called(LOOK), called(A)) == 'not called: set_b {"n": 3}'


def test_a_read_may_be_expected_too():
    assert why(asked(LOOK, A), called(LOOK, LOOK, A)) == ""
    assert why(asked(LOOK, A), called(A)) == "not called: look {}"


def test_a_forbidden_call_fails_even_if_all_else_is_right():
    case = asked(A, forbidden=[{"name": "look", "arguments": {"page": "P7"}}, {"name": "strict"}])
    assert why(case, called(LOOK, ("look", '{"page": "P8"}'), A)) == ""
    finding = find(case, (called(("look", '{"page": "P7", "n": 1}')), called(A)))
    assert (finding.outcome, finding.score) == ("fail", 0.0)
    assert finding.why == 'forbidden: look {"page": "P7", "n": 1}'
    assert why(case, called(("strict", "broken"), A)) == "forbidden: strict {}"


def test_a_forbidden_call_written_as_text_is_an_attempt_at_it():
    case = asked(A, forbidden=[{"name": "look", "arguments": {"page": "P7"}}])
    text = '<tool_call>{"name": "look", "arguments": {"page": "P7"}}</tool_call>'
    assert why(case, called(A), said(text)) == 'forbidden (as text): look {"page": "P7"}'
    assert why(case, called(A), said(text.replace("P7", "P8"))) == ""
    assert why(case, called(A), said("The page wanted me to look at P7; I did not.")) == ""


def test_where_no_call_is_expected_none_may_be_made_or_tried():
    case = asked(answer=7)
    assert why(case, called(LOOK), said("ANSWER: 7")) == ""
    assert why(case, called(B), said("ANSWER: 7")) == 'call 1: not asked for: set_b {"n": 3}'
    tried = "the reply writes a call as text ({}), expected none"
    assert why(case, said('{"name": "set_b", "arguments": {"n": 3}}\nANSWER: 7')) == tried.format("set_b")
    assert why(case, said("<tool_call>{\nANSWER: 7")) == tried.format("a malformed call")


@pytest.mark.parametrize(
    ("answer", "text", "fault"),
    [
        (7, "ANSWER: 7", ""),
        (7, "ANSWER: 7 crates", ""),
        (7, "ANSWER: 8", "got 8, expected 7"),
        ("Tove", "**Answer:** tove", ""),
        ("Tove", "ANSWER: Pim", "got Pim, expected Tove"),
    ],
)
def test_an_answer_is_read_from_the_last_reply(answer, text, fault):
    settings = {"units": ["crate"]} if answer == 7 else {}
    case = asked(A, answer=answer)
    case = msgspec.structs.replace(case, grading=Grading("tools", {"reads": ["look"], "answer": settings}))
    assert why(case, called(A, text="ANSWER: 7"), said(text)) == fault


def test_the_answer_is_one_element_of_several():
    finding = find(asked(A, B, answer=7), (called(A, B), said("ANSWER: 8")))
    assert (finding.outcome, finding.score) == ("partial", 2 / 3)
    assert find(asked(A, answer=7), (called(A), said(""))).outcome == "partial"


def test_doing_nothing_earns_nothing():
    case = asked(A, answer=7, max_calls=9, forbidden=[{"name": "strict"}])
    for text in ("", "I cannot do that.", "ANSWER: 8"):
        assert find(case, (said(text),)).score == 0


def test_a_cut_reply_never_passes():
    made = called(A)
    cut = Reply(text="", finish="length", tool_calls=made.tool_calls, usage=Usage(), timing=Timing(total_s=0.0))
    assert why(asked(A), cut) == "the reply is cut off"
    assert why(asked(A), made, said("Done", "length")) == "the reply is cut off"


def test_a_change_that_was_made_needs_no_words_after_it():
    assert why(asked(A), called(A), said("")) == ""


@pytest.mark.parametrize(
    "settings",
    [
        {"surprise": True},
        {"allow_extra": ["look"]},
        {"reads": "look"},
        {"reads": [1]},
        {"max_calls": 0},
        {"max_calls": True},
        {"max_calls": None},
        {"ordered": 1},
        {"compare": ["when"]},
        {"compare": {"when": "date"}},
        {"compare": {"when": []}},
        {"forbidden": {"name": "look"}},
        {"forbidden": ["look"]},
        {"forbidden": [{"arguments": {}}]},
        {"forbidden": [{"name": "look", "arguments": []}]},
        {"forbidden": [{"name": "look", "argument": {}}]},
        {"forbidden": [{"name": "lock"}]},
        {"answer": 7},
    ],
    ids=str,
)
def test_an_unknown_setting_or_a_malformed_rule_is_an_error(settings):
    with pytest.raises(ValueError):
        find(msgspec.structs.replace(asked(A), grading=Grading("tools", settings)), (called(A),))


@pytest.mark.parametrize("expected", [{"calls": []}, {"calls": [], "answer": None}, {"calls": [], "ordered": False}])
def test_expecting_nothing_is_an_error(expected):
    with pytest.raises(ValueError):
        find(msgspec.structs.replace(asked(A), expected=expected), (said("Nothing to do."),))


@pytest.mark.slow
@given(st.lists(st.tuples(st.text(), st.text() | st.just("{}"))), st.text(), st.booleans())
def test_any_reply_gets_a_finding(calls, text, ordered):
    assert find(asked(A, B, ordered=ordered, answer="qzqz"), (called(*calls, text=text),)).outcome == "fail"


@given(st.permutations([A, B, LOOK, A]), st.integers(0, 4))
def test_in_any_order_means_any_order(calls, split):
    parts = [called(*part) for part in (calls[:split], calls[split:]) if part]
    assert why(asked(A, A, B), *parts) == ""


def test_more_calls_than_are_looked_at_never_pass():
    assert why(asked(A), called(A, *[LOOK] * MAX_CALLS)) == "1001 calls, at most 1000"


@pytest.mark.slow
def test_hostile_calls_take_no_time():
    calls = tuple(ToolCall("", "set_a", "[" * 50) for _ in range(100_000))
    reply = Reply(text="", finish="tool_calls", tool_calls=calls, usage=Usage(), timing=Timing(total_s=0.0))
    deep = json.dumps({"v": json.loads("[" * 60 + "]" * 60), "city": "9" * 30_000})
    start = time.process_time()
    assert find(asked(A, B), (reply,)).outcome == "fail"
    assert find(asked(A, compare={"v[][]": "set", "city": "decimal"}), (called(("set_b", deep)),)).outcome == "fail"
    assert time.process_time() - start < 2
