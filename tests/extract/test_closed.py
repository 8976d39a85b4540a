from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract import Unread
from crucibleforge.extract.closed import any_of, folded, letter, one_of, tristate

OPTIONS = {"A": "The pump starts", "B": "The lamp dims", "C": "The valve closes", "D": "A valve opens", "E": ""}
NAMES = ["Tove", "Pim", "Red Cup", "Cup"]


@pytest.mark.parametrize(
    "text",
    [
        "C",
        "c",
        "(C)",
        "C)",
        "[C]",
        "C.",
        "option C",
        "The correct answer is C",
        "C. The valve closes",
        "C: the valve closes",
        "(C) The valve closes.",
        "C - the valve closes",
        "The valve closes",
        "the  VALVE closes.",
        "C, as it is shut",
        "C (it is shut)",
        "C The valve closes",
        "choice: C",
    ],
)
def test_a_letter_or_its_text_names_an_option(text):
    assert letter(text, OPTIONS) == "C"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "C or D",
        "C and D",
        "C, D",
        "C/D",
        "not C",
        "C is wrong",
        "Cannot be determined",
        "F",
        "CD",
        "valve closes",
        "The valve",
        "C, not D",
        "(C) or (A)",
        "Either C or B",
        "C. Not that",
        "C.A valve: B.",
    ],
)
def test_two_options_or_a_half_named_one_are_none(text):
    assert isinstance(letter(text, OPTIONS), Unread)


def test_a_letter_with_the_text_of_another_names_both():
    assert letter("C. The pump starts", OPTIONS) == ("C", "A")
    assert letter("C: the pump starts, as said", OPTIONS) == ("C", "A")


def test_a_text_that_two_options_share_names_neither():
    assert isinstance(letter("same", {"A": "Same", "B": "same"}), Unread)
    assert letter("A", {"A": "Same", "B": "same"}) == "A"


def test_a_name_is_found_as_a_whole_word():
    assert one_of("It was TOVE (seat 3)", NAMES) == "Tove"
    assert one_of("the red cup.", NAMES) == "Red Cup"
    assert one_of("Tove or Pim", NAMES) == ("Tove", "Pim")
    assert one_of("Tove, yes, Tove", NAMES) == "Tove"


@pytest.mark.parametrize(
    "text",
    [
        "Toverton",
        "not Tove",
        "Tove's brother",
        "anyone but Tove",
        "everybody but Tove",
        "nobody",
        "rather than Tove",
        "it can't be Tove",
        "all except Tove",
        "",
    ],
)
def test_a_part_of_a_word_or_a_negated_name_is_none(text):
    assert isinstance(one_of(text, NAMES), Unread)


def test_case_matters_where_it_is_said_to():
    assert one_of("Tove", NAMES, case_sensitive=True) == "Tove"
    assert isinstance(one_of("tove", NAMES, case_sensitive=True), Unread)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Yes", "yes"),
        ("TRUE.", "yes"),
        ("Yes, it is true", "yes"),
        ("It is entailed", "yes"),
        ("No", "no"),
        ("No (false)", "no"),
        ("definitely not true", "no"),
        ("No; the statement is contradicted.", "no"),
        ("Unknown", "unknown"),
        ("cannot be determined", "unknown"),
        ("It can\u2019t be determined.", "unknown"),
        ("Unknown - not enough information", "unknown"),
        ("There is not enough information", "unknown"),
        ("not stated", "unknown"),
        ("Unknown because nobody says so", "unknown"),
    ],
)
def test_every_usual_way_to_say_one_of_three_is_known(text, state):
    assert tristate(text) == state


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes and no",
        "Yes, no",
        "yes or unknown",
        "not unknown",
        "not yes",
        "maybe",
        "I think so",
        "no idea",
        "no answer",
        "yes unless it rains",
        "I do not know",
        "?",
        "nothing",
        "none",
        "...",
        "7",
    ],
)
def test_all_else_is_no_evidence_for_any(text):
    assert isinstance(tristate(text), Unread)


def test_a_question_may_have_ways_of_its_own():
    text = "No valid order; the constraints are inconsistent."
    assert isinstance(tristate(text), Unread)
    assert tristate(text, {"no": ["no valid order", "the constraints are inconsistent"]}) == "no"


def test_texts_are_compared_without_dress():
    assert folded(" **Red   Cup**. ") == "red cup"
    assert folded("Red", case_sensitive=True) == "Red"
    assert any_of(()).search("anything") is None


@given(
    st.text()
    | st.lists(st.sampled_from([*NAMES, *"ABCDE", "yes", "no", "or", "not", "(", ")", ".", ","])).map(" ".join)
)
def test_any_text_is_one_of_a_set_or_not(text):
    assert isinstance(letter(text, OPTIONS), Unread | tuple) or letter(text, OPTIONS) in OPTIONS
    assert isinstance(one_of(text, NAMES), Unread | tuple) or one_of(text, NAMES) in NAMES
    assert isinstance(tristate(text), Unread) or tristate(text) in {"yes", "no", "unknown"}
