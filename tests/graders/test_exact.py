from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._kit import answer_dressings, said
from crucibleforge.graders.exact import GRADER, find
from crucibleforge.types import Case, Finding, Grading, Needs

NAMES = ["Tove", "Pim", "Ana"]


def asked(expected, **settings):
    return Case(
        id="math/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=expected,
        grading=Grading(GRADER.name, settings),
        needs=Needs(100),
    )


def marked(text, expected="Tove", finish="stop", **settings):
    return find(asked(expected, **settings), (said(text, finish),))


@pytest.mark.parametrize("settings", [{}, {"choices": NAMES}, {"case_sensitive": True}])
@pytest.mark.parametrize("value", ["Tove", "Red  Cup", "3, 1, 2", "x.y-z_1", "It ends."])
def test_the_right_words_pass_in_every_dress(value, settings):
    for reply in answer_dressings(value):
        assert find(asked(value, **settings), (reply,)) == Finding("pass", 1.0)


@pytest.mark.parametrize("text", ["TOVE", "It was Tove (seat 3)", "(tove)", "Tove, that is, Tove"])
def test_the_one_choice_that_occurs_is_the_answer(text):
    assert marked(f"ANSWER: {text}", choices=NAMES).outcome == "pass"


@pytest.mark.parametrize(
    "text", ["Tove or Pim", "not Tove", "Toverton", "Pim", "It isn't Tove", "it cannot be Tove", "nobody"]
)
def test_no_choice_or_two_or_a_negated_one_fails(text):
    assert marked(f"ANSWER: {text}", choices=NAMES) == Finding("fail", 0.0, f"got {text}, expected Tove")


def test_a_longer_choice_hides_a_shorter_one_inside_it():
    choices = ["red", "dark red", "not known", "C", "C++"]
    assert marked("ANSWER: it is dark red", "dark red", choices=choices).outcome == "pass"
    assert marked("ANSWER: it is dark red", "red", choices=choices).outcome == "fail"
    assert marked("ANSWER: that is not known", "not known", choices=choices).outcome == "pass"
    assert marked("ANSWER: use C++ here", "C++", choices=choices).outcome == "pass"
    assert marked("ANSWER: use C++ here", "C", choices=choices).outcome == "fail"


@pytest.mark.parametrize("text", ["Tove Lund", "Tov", "a Tove", "Tove, Tove", "the answer", "Pim"])
def test_without_choices_the_whole_answer_must_be_equal(text):
    assert marked(f"ANSWER: {text}") == Finding("fail", 0.0, f"got {text}, expected Tove")


def test_case_matters_only_where_it_is_said_to():
    assert marked("ANSWER: tOVE").outcome == "pass"
    assert marked("ANSWER: tOVE", case_sensitive=True).outcome == "fail"
    assert marked("ANSWER: it is tove", choices=NAMES, case_sensitive=True).outcome == "fail"


@pytest.mark.parametrize("settings", [{}, {"choices": NAMES}])
def test_a_last_line_counts_only_as_a_whole(settings):
    assert marked("Well.\n**Tove**", **settings).outcome == "pass"
    assert marked("It was Tove", **settings).why == "no answer line in reply"
    assert marked("Well.\n**Tove**", finish="length", **settings).why == "no answer line in reply"


def test_a_cut_answer_line_never_passes():
    assert marked("ANSWER: Tove", finish="length").outcome == "fail"
    assert marked("ANSWER: Tove\n", finish="length").outcome == "pass"


def test_a_reply_of_reasoning_alone_is_unanswered():
    assert marked("<think>ANSWER: Tove").outcome == "unanswered"


@given(st.text(), st.sampled_from(["stop", "length"]), st.sampled_from([(), NAMES]))
def test_any_text_gets_a_finding(text, finish, choices):
    assert marked(f"ANSWER: {text}", "qzqzqzq", finish, choices=[*choices, "qzqzqzq"]).outcome == "fail"
    assert marked(text, "qzqzqzq", finish).outcome in {"fail", "unanswered"}
