from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._dress import said
from crucibleforge.graders.checks import GRADER, MAX_TEXT, built, find
from crucibleforge.types import Case, Element, Finding, Grading, Needs

EVERY = [
    {"type": "acrostic", "letters": "a"},
    {"type": "capital_words", "n": 1},
    {"type": "chained_lines"},
    {"type": "char_count", "min": 1, "max": 2},
    {"type": "char_times", "char": ",", "n": 0},
    {"type": "contains_word", "word": "a"},
    {"type": "ends_with", "text": "a"},
    {"type": "equals_lines", "lines": ["a"]},
    {"type": "forbids_digits"},
    {"type": "forbids_letter", "letter": "z"},
    {"type": "forbids_word", "word": "b"},
    {"type": "json_equals", "value": {"a": 1}},
    {"type": "letter_count", "letter": "a", "min": 1, "max": 1},
    {"type": "line_contains", "line": 1, "word": "a"},
    {"type": "line_count", "n": 2},
    {"type": "line_ends", "line": 1, "word": "a"},
    {"type": "line_length", "max": 3},
    {"type": "line_prefix", "text": "- "},
    {"type": "line_suffix", "text": "."},
    {"type": "line_words", "line": 1, "n": 1},
    {"type": "long_words", "letters": 3, "n": 0},
    {"type": "longest_word", "max": 3},
    {"type": "lowercase"},
    {"type": "no_repeats", "least": 1},
    {"type": "numbered_lines", "n": 2},
    {"type": "rising_lines"},
    {"type": "same_ends"},
    {"type": "starts_with", "text": "a"},
    {"type": "uppercase"},
    {"type": "word_count", "min": 1, "max": 3},
    {"type": "word_order", "words": ["a", "b"]},
    {"type": "word_times", "word": "a", "n": 1},
    {"type": "words_from", "words": ["a", "b"], "min": 1},
    {"type": "words_per_line", "min": 1, "max": 1},
]


def asked(*checks, **settings):
    return Case(
        id="instruct/x/L1.1",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=None,
        grading=Grading(GRADER.name, {"checks": list(checks), **settings}),
        needs=Needs(100),
    )


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


def test_one_type_may_occur_several_times_and_none_is_lost():
    case = asked({"type": "contains_word", "word": "ash"}, {"type": "contains_word", "word": "oak"})
    assert find(case, (said("ash"),)).score == find(case, (said("oak"),)).score == 0.5
    assert find(case, (said("oak and ash"),)).outcome == "pass"


@pytest.mark.parametrize("check", EVERY, ids=lambda check: check["type"])
@pytest.mark.parametrize("text", ["", " \n", "<think>a", "<think>a</think>"])
def test_an_empty_reply_fails_every_check(check, text):
    assert find(asked(check), (said(text),)).outcome == "unanswered"
    assert find(asked({**check, "turn": 0}), (said(text), said("a"))).outcome == "fail"


@pytest.mark.parametrize("text", ["a", '{"a": 1}', "A", "1. a\n2. b", "b"])
def test_a_cut_reply_never_passes(text):
    for check in EVERY:
        finding = find(asked(check), (said(text, "length"),))
        assert (finding.outcome, finding.why) == ("fail", "reply: the reply is cut off")


def test_a_missing_or_empty_reply_is_one_fault_whatever_it_is_asked():
    rules = [{"type": "lowercase"}, {"type": "line_count", "n": 1}, {"type": "forbids_digits"}]
    case = asked({"type": "lowercase", "turn": 0}, *({**rule, "turn": 1} for rule in rules))
    first = Element("reply 1: lowercase", passed=True)
    for replies, why in (
        ((said("a"),), "missing"),
        ((said("a"), said(" ")), "empty reply"),
        ((said("a"), said("a", "length")), "the reply is cut off"),
        ((said("a"), said("a " * MAX_TEXT)), "longer than 100,000 characters"),
    ):
        assert find(case, replies).elements == (first, Element("reply 2", passed=False, why=why))


def test_a_check_looks_at_its_own_turn():
    case = asked({"type": "starts_with", "text": "a", "turn": 0}, {"type": "starts_with", "text": "b"})
    assert find(case, (said("a"), said("b"))).outcome == "pass"
    assert find(case, (said("b"), said("a"))).outcome == "fail"


def test_reasoning_is_not_looked_at():
    assert find(asked({"type": "starts_with", "text": "b"}), (said("<think>a</think>\n\nb"),)).outcome == "pass"


@pytest.mark.parametrize("text", ["```\na\n```", "```text\r\na\r\n```\n", "~~~\na\n~~~", "a", "\n````md\na\n````"])
def test_one_fence_around_the_whole_is_taken_off_where_that_is_allowed(text):
    is_fenced = text.strip() != "a"
    rule = {"type": "equals_lines", "lines": ["a"]}
    assert find(asked(rule, fence=True), (said(text),)).outcome == "pass"
    assert find(asked(rule), (said(text),)).outcome == ("fail" if is_fenced else "pass")


@pytest.mark.parametrize(
    "text",
    [
        *("```\na\n```\nThere.", "Here:\n```\na\n```", "```\na\n```\n```\na\n```", "```\na", "``````\na\n```"),
        *("```\n```\na\n```\n```", "```a```", "```\n~~~\na\n~~~\n```"),
    ],
)
def test_nothing_but_a_fence_around_the_whole_is_taken_off(text):
    assert find(asked({"type": "equals_lines", "lines": ["a"]}, fence=True), (said(text),)).outcome == "fail"


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([], "no checks, so that any reply would pass"),
        ([{"type": "sonnet"}], "unknown check 'sonnet'; known: acrostic, "),
        ([{"n": 1}], "unknown check ''; known: acrostic, "),
        ([{"type": "line_count"}], "check 'line_count': .* missing"),
        ([{"type": "line_count", "n": 1, "m": 2}], "check 'line_count': .* unexpected"),
        ([{"type": "lowercase", "turn": "0"}], "check 'lowercase': '0' is no turn"),
        ([{"type": "lowercase", "turn": -2}], "check 'lowercase': -2 is no turn"),
        ([{"type": "lowercase"}, {"type": "surprise"}], "unknown check 'surprise'"),
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
