from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._dress import answers, said
from crucibleforge.graders.numeric import GRADER, find
from crucibleforge.types import Case, Finding, Grading, Needs


def asked(expected, **settings):
    return Case(
        id="math/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=expected,
        grading=Grading(GRADER.name, settings),
        needs=Needs(100),
    )


def marked(text, expected=42, finish="stop", **settings):
    return find(asked(expected, **settings), (said(text, finish),))


@pytest.mark.parametrize("value", [42, "42.0", "42/1", "+42", "0.42e2"])
def test_the_right_number_passes_in_every_dress(value):
    for (reply,) in answers(value):
        assert find(asked(42), (reply,)) == Finding("pass", 1.0)


@pytest.mark.parametrize("expected", ["3/4", 0.75])
@pytest.mark.parametrize("text", ["3/4", "0.75", "6/8", "\\frac{3}{4}"])
def test_fractions_and_decimals_are_compared_exactly(expected, text):
    assert marked(f"ANSWER: {text}", expected).outcome == "pass"


def test_a_decimal_means_what_it_says():
    assert marked("ANSWER: 0.1", 0.1).outcome == "pass"
    assert marked("ANSWER: 0.1000000000000000055", 0.1).outcome == "fail"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ANSWER: 41", "got 41, expected 42"),
        ("ANSWER: 1,042", "got 1,042, expected 42"),
        ("ANSWER: 41.999999", "got 41.999999, expected 42"),
        ("ANSWER: 42 or 43", "unparsed: the answer is not one number: 42 or 43"),
        ("ANSWER: forty-three", "got forty-three, expected 42"),
        ("It is 42, I think.", "unparsed: no answer line in reply"),
        ("ANSWER:", "unparsed: the answer is empty"),
        ("ANSWER: 42\nANSWER: 41", "got 41, expected 42"),
        ("ANSWER: maybe\n42", "unparsed: the answer is not one number: maybe"),
    ],
)
def test_any_other_answer_fails_and_says_why(text, why):
    assert marked(text) == Finding("fail", 0.0, why)


def test_a_tolerance_is_absolute_and_includes_its_ends():
    assert marked("ANSWER: 42.5", tolerance=0.5).outcome == "pass"
    assert marked("ANSWER: 42.51", tolerance=0.5).why == "got 42.51, expected 42 within 0.5"


@pytest.mark.parametrize("text", ["42", "So I count.\n**42**", "x\n\\[ x = 42 \\]"])
def test_a_last_line_that_is_the_number_counts(text):
    assert marked(text).outcome == "pass"
    assert marked(text, finish="length").why == "unparsed: no answer line in reply"


def test_a_cut_answer_line_never_passes():
    assert marked("ANSWER: 42", finish="length").outcome == "fail"
    assert marked("ANSWER: 42\nThis is beca", finish="length").outcome == "pass"


def test_an_end_mark_of_the_template_is_no_part_of_the_answer():
    assert marked("ANSWER: 42<|im_end|>").outcome == "pass"
    assert marked("ANSWER: 42 <|eot_id|>\n</s>").outcome == "pass"


def test_a_sentence_after_the_answer_is_dropped_unless_it_takes_it_back():
    assert marked("ANSWER: 42. I checked it twice.").outcome == "pass"
    assert marked("ANSWER: 42. Or 43.").why.startswith("unparsed: ")
    assert marked("ANSWER: 41. Actually 42.").outcome == "fail"


def test_units_and_percent_count_only_where_they_are_declared():
    assert marked("ANSWER: 42 crates").why.startswith("unparsed: ")
    assert marked("ANSWER: 42 crates", units=["crate"]).outcome == "pass"
    assert marked("ANSWER: 42%").why.startswith("unparsed: ")
    assert marked("ANSWER: 42%", percent=True).outcome == "pass"
    assert marked("ANSWER: 0.42", percent=True).outcome == "fail"


def test_unknown_needs_to_be_said():
    assert marked("ANSWER: cannot be determined", "unknown", unknown=True).outcome == "pass"
    assert marked("ANSWER: 42", "unknown", unknown=True).why == "got 42, expected unknown"
    assert marked("ANSWER: unknown", 42, unknown=True).why == "got unknown, expected 42"
    for text in ("ANSWER: what?", "I cannot say.", "ANSWER:", "42 or 43", "ANSWER: 42 or unknown"):
        assert marked(text, "unknown", unknown=True).why.startswith("unparsed: ")
    assert marked("ANSWER: unknown", 42).why.startswith("unparsed: ")


def test_only_the_last_reply_counts():
    assert find(asked(42), (said("ANSWER: 42"), said("Thanks."))).why == "unparsed: no answer line in reply"


def test_leaked_reasoning_is_no_answer():
    assert marked("<think>ANSWER: 42") == Finding("unanswered", 0.0, "nothing but reasoning in reply")
    assert marked("<think>ANSWER: 41</think>ANSWER: 42").outcome == "pass"


@given(st.text(), st.sampled_from(["stop", "length", "unknown"]))
def test_any_text_gets_a_finding(text, finish):
    assert marked(text, 10**9 + 7, finish).outcome in {"fail", "unanswered"}
