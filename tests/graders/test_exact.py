from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._dress import answers, said
from crucibleforge.graders.exact import GRADER, find
from crucibleforge.types import Case, Element, Finding, Grading, Needs

NAMES = ["Tove", "Pim", "Ana"]
CHOICE = {"kind": "choice", "options": {"A": "The pump starts", "C": "The valve closes"}}


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


@pytest.mark.parametrize("settings", [{}, {"choices": True}, {"case_sensitive": True}])
@pytest.mark.parametrize("value", ["Tove", "Red  Cup", "3, 1, 2", "x.y-z_1", "It ends."])
def test_the_right_words_pass_in_every_dress(value, settings):
    closed = {"choices": [*NAMES, value]} if "choices" in settings else settings
    for (reply,) in answers(value):
        assert find(asked(value, **closed), (reply,)) == Finding("pass", 1.0)


@pytest.mark.parametrize(
    ("value", "expected", "settings"),
    [
        ("C", "C", CHOICE),
        ("The valve closes", "C", CHOICE),
        ("yes", "yes", {"kind": "yes_no"}),
        ("3, 1, 2", [3, 1, 2], {"kind": "list"}),
        ("3, 1/2", [3, "1/2"], {"kind": "list"}),
        ("3, 1, 2", [1, 2, 3], {"kind": "list", "ordered": False}),
        ("Pim, Tove", ["Pim", "Tove"], {"kind": "list", "choices": NAMES}),
        ("3, 1, 2", [3, 1, 2], {"kind": "tuple"}),
        ("Ada: red, Bo: blue", {"Ada": "red", "Bo": "blue"}, {"kind": "grid", "choices": ["red", "blue"]}),
        ("Ada: 3, Bo: 1/2", {"Ada": 3, "Bo": 0.5}, {"kind": "grid"}),
    ],
)
def test_every_kind_passes_in_every_dress(value, expected, settings):
    for (reply,) in answers(value):
        finding = find(asked(expected, **settings), (reply,))
        assert (finding.outcome, finding.score, finding.why) == ("pass", 1.0, "")


@pytest.mark.parametrize("text", ["TOVE", "It was Tove (seat 3)", "(tove)", "Tove, that is, Tove"])
def test_the_one_choice_that_occurs_is_the_answer(text):
    assert marked(f"ANSWER: {text}", choices=NAMES).outcome == "pass"


@pytest.mark.parametrize("text", ["Tove or Pim", "Pim"])
def test_another_choice_or_two_fail(text):
    assert marked(f"ANSWER: {text}", choices=NAMES) == Finding("fail", 0.0, f"got {text}, expected Tove")


@pytest.mark.parametrize("text", ["not Tove", "Toverton", "It isn't Tove", "it cannot be Tove", "nobody"])
def test_no_choice_or_a_negated_one_is_unparsed(text):
    finding = marked(f"ANSWER: {text}", choices=NAMES)
    assert (finding.outcome, finding.score) == ("fail", 0.0)
    assert finding.why in {
        f"unparsed: the answer negates: {text}",
        f"unparsed: the answer is none of the possible ones: {text}",
    }


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
    assert marked("It was Tove", **settings).why == "unparsed: no answer line in reply"
    assert marked("Well.\n**Tove**", finish="length", **settings).why == "unparsed: no answer line in reply"


def test_a_cut_answer_line_never_passes():
    assert marked("ANSWER: Tove", finish="length").outcome == "fail"
    assert marked("ANSWER: Tove\n", finish="length").outcome == "pass"


def test_a_reply_of_reasoning_alone_is_unanswered():
    assert marked("<think>ANSWER: Tove").outcome == "unanswered"


def test_unknown_needs_positive_evidence():
    for expected, settings in (("unknown", {"kind": "yes_no"}), ("unknown", {"choices": NAMES, "unknown": True})):
        assert marked("ANSWER: It cannot be determined.", expected, **settings).outcome == "pass"
        for text in (
            "ANSWER: hard to say, sorry",
            "ANSWER:",
            "Hm.",
            "ANSWER: nobody",
            "<answer>unkn",
            "\\boxed{",
            "ANSWER: not unknown",
        ):
            assert marked(text, expected, **settings).why.startswith("unparsed: ")
    assert marked("ANSWER: unknown", "Tove", choices=NAMES, unknown=True).why == "got unknown, expected Tove"
    assert marked("ANSWER: yes", "unknown", kind="yes_no").why == "got yes, expected unknown"


def test_a_question_s_own_ways_to_say_no_count():
    text = "ANSWER: No valid order"
    assert marked(text, "no", kind="yes_no").why.startswith("unparsed: ")
    assert marked(text, "no", kind="yes_no", also={"no": ["no valid order"]}).outcome == "pass"


@pytest.mark.parametrize("text", ["3, 1", "3, 1, 2, 2", "1, 3, 2", "3, 1, 4"])
def test_a_list_is_the_whole_list(text):
    assert marked(f"ANSWER: {text}", [3, 1, 2], kind="list").why == f"got {text}, expected 3, 1, 2"


def test_an_unordered_list_has_each_item_as_often():
    assert marked("ANSWER: 1, 1, 2", [2, 1, 1], kind="list", ordered=False).outcome == "pass"
    assert marked("ANSWER: 1, 2, 2", [2, 1, 1], kind="list", ordered=False).outcome == "fail"
    assert marked("ANSWER: 1, 2", [2, 1, 1], kind="list", ordered=False).outcome == "fail"


def test_a_list_may_stand_on_lines_of_its_own():
    assert marked("ANSWER:\n1. Pim\n2. Tove\n", ["Pim", "Tove"], kind="list", choices=NAMES).outcome == "pass"


def test_each_place_of_a_tuple_is_an_element():
    finding = marked("ANSWER: 3, 5, 2, 9", [3, 1, 2], kind="tuple")
    assert finding == Finding(
        "partial",
        0.5,
        "2: 1: got 5 (and 1 more)",
        (
            Element("1: 3", passed=True),
            Element("2: 1", passed=False, why="got 5"),
            Element("3: 2", passed=True),
            Element("nothing more", passed=False, why="4 values, expected 3"),
        ),
    )
    assert marked("ANSWER: 3", [3, 1], kind="tuple").elements[1] == Element("2: 1", passed=False, why="missing")


def test_each_cell_of_a_grid_is_an_element():
    grid = {"kind": "grid", "choices": ["red", "blue", "green"]}
    expected = {"Ada": "red", "Bo": "blue", "Cem": "green"}
    finding = marked("ANSWER: Ada: red, Bo: green", expected, **grid)
    assert finding == Finding(
        "partial",
        1 / 3,
        "Bo: blue: got green (and 1 more)",
        (
            Element("Ada: red", passed=True),
            Element("Bo: blue", passed=False, why="got green"),
            Element("Cem: green", passed=False, why="missing"),
        ),
    )
    assert marked("ANSWER:\nAda: red\nBo: blue\nCem: green\n\nDone.", expected, **grid).outcome == "pass"
    assert marked("ANSWER: Ada: red or blue, Bo: blue, Cem: green", expected, **grid).score == 2 / 3
    assert marked("ANSWER: red, blue, green", expected, **grid).why.startswith("unparsed: ")


def test_a_cell_may_hold_several_things():
    grid = {"kind": "grid", "choices": [["red", "blue"], ["cat", "dog"]]}
    expected = {"Ada": ["red", "cat"], "Bo": ["blue", "dog"]}
    finding = marked("ANSWER: Ada: red cat; Bo: dog, red", expected, **grid)
    assert [(element.name, element.passed) for element in finding.elements] == [
        ("Ada: red", True),
        ("Ada: cat", True),
        ("Bo: blue", False),
        ("Bo: dog", True),
    ]


def test_json_is_typed():
    for got, expected, schema, outcome in (
        ("1", 1, None, "pass"),
        ("1.0", 1, None, "fail"),
        ("1.0", 1, "number", "pass"),
        ("true", 1, "number", "fail"),
        ("true", 1, None, "fail"),
        ('"1"', 1, None, "fail"),
        ("[1.0, 2]", [1, 2], ["number"], "pass"),
        ("[1.0, 2]", [1, 2], ["integer"], "fail"),
        ("[1]", [1, 2], ["number"], "fail"),
        ('{"a": {"b": 1.0}}', {"a": {"b": 1}}, {"a": {"b": "number"}}, "pass"),
        ('{"a": {"b": 1.0}}', {"a": {"b": 1}}, {"a": {"b": "integer"}}, "fail"),
        ('{"a": {"b": 1, "c": 2}}', {"a": {"b": 1}}, {"a": {"b": "integer"}}, "fail"),
        ("null", None, None, "pass"),
        ("{}", {}, None, "pass"),
    ):
        assert marked(got, expected, kind="json", schema=schema).outcome == outcome


def test_each_member_of_an_object_is_an_element():
    finding = marked('Here: {"a": 1, "b": "x", "": 0}', {"a": 1, "b": "y", "c": None}, kind="json")
    assert [(element.name, element.why) for element in finding.elements] == [
        ("a", ""),
        ("b", 'got "x", expected "y"'),
        ("c", "missing"),
        ("nothing more", '"" is not expected'),
    ]
    assert (finding.outcome, finding.score) == ("partial", 0.25)


def test_json_that_may_be_cut_does_not_count():
    assert marked("12", 12, "length", kind="json").why == "unparsed: no JSON in reply"
    assert marked('{"a": 12}', {"a": 12}, "length", kind="json").outcome == "pass"


def test_an_unknown_kind_is_refused_whatever_the_reply():
    with pytest.raises(ValueError, match="unknown kind 'sonnet'; known: choice, "):
        marked("", kind="sonnet")


@given(st.text(), st.sampled_from(["stop", "length"]), st.sampled_from([(), NAMES]))
def test_any_text_gets_a_finding(text, finish, choices):
    assert marked(f"ANSWER: {text}", "qzqzqzq", finish, choices=[*choices, "qzqzqzq"]).outcome == "fail"
    assert marked(text, "qzqzqzq", finish).outcome in {"fail", "unanswered"}
