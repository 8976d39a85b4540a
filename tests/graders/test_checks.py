from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._kit import said
from crucibleforge.graders.checks import GRADER, built, find
from crucibleforge.types import Case, Element, Finding, Grading, Needs

EVERY = [
    {"type": "equals_lines", "lines": ["a"]},
    {"type": "json_equals", "value": {"a": 1}},
    {"type": "line_count", "n": 2},
    {"type": "word_count", "min": 1, "max": 3},
    {"type": "starts_with", "text": "a"},
    {"type": "ends_with", "text": "a"},
    {"type": "uppercase"},
    {"type": "lowercase"},
    {"type": "contains_word", "word": "a"},
    {"type": "forbids_word", "word": "a"},
    {"type": "numbered_lines", "n": 2},
]


def asked(*checks):
    return Case(
        id="instruct/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=None,
        grading=Grading(GRADER.name, {"checks": list(checks)}),
        needs=Needs(100),
    )


def why(text, kind, /, **arguments):
    (element,) = find(asked({"type": kind, **arguments}), (said(text),)).elements
    assert element.passed == (not element.why)
    return element.why


def test_equals_lines_compares_lines_with_anything_on_them():
    assert why("a \r\n\r\n  b\n", "equals_lines", lines=["a", "  b"]) == ""
    assert why("a\nc", "equals_lines", lines=["a", "b"]) == 'line 2 is "c", expected "b"'
    assert why("a", "equals_lines", lines=["a", "b"]) == "1 line, expected 2"
    assert why("a\nb\nc", "equals_lines", lines=["a", "b"]) == "3 lines, expected 2"
    assert why("Sure:\na", "equals_lines", lines=["a"]) == 'line 1 is "Sure:", expected "a"'


def test_json_equals_is_strict():
    assert why('```json\n{"a": [1, true]}\n```', "json_equals", value={"a": [1, True]}) == ""
    assert why("null", "json_equals", value=None) == ""
    assert why("a", "json_equals", value=None) == "no JSON in reply"
    for text in ('{"a": true}', '{"a": "1"}', '{"a": 1, "b": 2}', '{"a": 1.0}'):
        assert why(text, "json_equals", value={"a": 1}) == f'got {text}, expected {{"a": 1}}'


def test_line_count_leaves_blank_lines_out():
    assert why("a\n\n \nb\n", "line_count", n=2) == ""
    assert why("a", "line_count", n=2) == "1 line, expected 2"


def test_word_count_has_both_ends():
    assert why("a - b", "word_count", min=3, max=3) == ""
    assert why("a", "word_count", min=2) == "1 word, expected at least 2"
    assert why("a b c", "word_count", max=2) == "3 words, expected at most 2"


def test_both_ends_of_the_text_are_looked_at_without_blanks():
    assert why("\n Hi there \n", "starts_with", text="Hi") == ""
    assert why("\n Hi there \n", "ends_with", text="there") == ""
    assert why("hi", "starts_with", text="Hi") == 'starts with "hi", expected "Hi"'
    assert why("Hi there.", "ends_with", text="there") == 'ends with "here.", expected "there"'


def test_case_is_that_of_every_letter():
    assert why("A 1 B!", "uppercase") == ""
    assert why("a 1 b!", "lowercase") == ""
    assert why("A oB", "uppercase") == "oB is not in capitals"
    assert why("a Ob", "lowercase") == "Ob is not in small letters"
    assert why("12", "uppercase") == why("12", "lowercase") == "no letters in reply"


def test_words_end_where_letters_do():
    assert why("The CAT sat", "contains_word", word="cat") == ""
    assert why("(cat)", "contains_word", word="Cat") == ""
    assert why("concatenate", "contains_word", word="cat") == "'cat' is missing"
    assert why("concatenate", "forbids_word", word="cat") == ""
    assert why("Cat!", "forbids_word", word="cat") == "'cat' occurs"


def test_numbered_lines_are_numbered_in_order():
    assert why("List:\n1. a\n 2) b\n", "numbered_lines", n=2) == ""
    assert why("1. a", "numbered_lines", n=2) == "1 numbered line, expected 2"
    assert why("1. a\n1. b", "numbered_lines", n=2) == "lines are not numbered 1 to 2"
    assert why("1.5 is\n2.\n1. a", "numbered_lines", n=1) == ""


def test_all_checks_must_hold_and_each_is_told():
    case = asked({"type": "uppercase"}, {"type": "line_count", "n": 1}, {"type": "uppercase"})
    assert find(case, (said("a"),)) == Finding(
        "partial",
        1 / 3,
        "uppercase: a is not in capitals (and 1 more)",
        (
            Element("uppercase", passed=False, why="a is not in capitals"),
            Element("line_count", passed=True),
            Element("uppercase 2", passed=False, why="a is not in capitals"),
        ),
    )
    assert find(case, (said("A"),)).outcome == "pass"
    assert find(case, (said("a\nb"),)).outcome == "fail"


@pytest.mark.parametrize("check", EVERY, ids=lambda check: check["type"])
@pytest.mark.parametrize("text", ["", " \n", "<think>a", "<think>a</think>"])
def test_an_empty_reply_fails_every_check(check, text):
    assert find(asked(check), (said(text),)).outcome == "unanswered"
    assert find(asked({**check, "turn": 0}), (said(text), said("a"))).outcome == "fail"


@pytest.mark.parametrize("text", ["a", '{"a": 1}', "A", "1. a\n2. b", "b"])
def test_a_cut_reply_never_passes(text):
    for check in EVERY:
        finding = find(asked(check), (said(text, "length"),))
        assert (finding.outcome, finding.why) == ("fail", f"{check['type']}: the reply is cut off")


def test_a_check_looks_at_its_own_turn():
    case = asked({"type": "starts_with", "text": "a", "turn": 0}, {"type": "starts_with", "text": "b"})
    assert find(case, (said("a"), said("b"))).outcome == "pass"
    assert find(case, (said("b"), said("a"))).outcome == "fail"
    assert find(asked({"type": "lowercase", "turn": 1}), (said("a"),)).why == "lowercase: no reply 2"


def test_reasoning_is_not_looked_at():
    assert find(asked({"type": "starts_with", "text": "b"}), (said("<think>a</think>\n\nb"),)).outcome == "pass"


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([], "no checks, so that any reply would pass"),
        ([{"type": "sonnet"}], "unknown check 'sonnet'; known: contains_word, "),
        ([{"type": "line_count"}], "check 'line_count': .* missing"),
        ([{"type": "line_count", "n": 1, "m": 2}], "check 'line_count': .* unexpected"),
    ],
)
def test_wrong_settings_are_refused_whatever_the_reply(checks, message):
    with pytest.raises(ValueError, match=message):
        built(checks)
    with pytest.raises(ValueError, match=message):
        find(asked(*checks), (said(""),))


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1, max_size=3), st.sampled_from(["stop", "length"]))
def test_any_text_gets_a_finding(texts, finish):
    finding = find(
        asked(*EVERY, {"type": "line_count", "n": 1, "turn": 1}), tuple(said(text, finish) for text in texts)
    )
    assert finding.outcome in {"partial", "fail"}
    assert 0 <= finding.score < 1
