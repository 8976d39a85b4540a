from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.answer import MAX_ANSWER, answer_line, clean, last_line

PIECES = st.lists(
    st.sampled_from(
        [
            "ANSWER:",
            "**",
            "\\boxed{",
            "}",
            "<answer>",
            "</answer>",
            "$",
            "7",
            " ",
            "\n",
            '"',
            ".",
            "`",
            "\\(",
            "\\)",
            "<",
            ">",
        ]
    )
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ANSWER: 7", "7"),
        ("so\nanswer: 7.", "7"),
        ("**ANSWER: 7**", "7"),
        ("**Final answer:** `7`", "7"),
        ("### Final Answer: `7`", "7"),
        ("> - The answer is: $7$.", "7"),
        ("My correct answer = 7", "7"),
        ("Answer\uff1a\uff17", "7"),
        ("ANSWER: \\boxed{7}", "7"),
        ("ANSWER: \\(\\boxed{\\text{7}}\\).", "7"),
        ("ANSWER: <7>", "7"),
        ('ANSWER: "Tove"!', "Tove"),
        ("ANSWER: \u200b\u22127\u00a0", "-7"),
        ("Final answer:\n\n7\n", "7"),
        ("**Answer:**\n```text\n7\n```", "7"),
        ("Answer:\n\\[\n\\boxed{7}\n\\]", "7"),
        ("ANSWER: ```7```", "7"),
        ("ANSWER: 7\r\nThat was easy.", "7"),
        ("ANSWER: 5\nNo, wait.\nANSWER: 7", "7"),
        ("first \\boxed{5}, then \\boxed{7}", "7"),
        ("ANSWER: 5, no: \n\\[ \\boxed{\\frac{7}{2}} \\]", "\\frac{7}{2}"),
        ("<answer>7</answer>", "7"),
        ("<answer>\nANSWER: 7\n</answer>", "7"),
        ("<answer>ANSWER: 7</answer> Good luck.", "7"),
        ("<answer>\\boxed{7}</answer>", "7"),
        ("A guess would be ANSWER: 0, but\nAnswer: 7", "7"),
        ("ANSWER: 7\n\nAnswer check: 3 + 4 is 7", "7"),
    ],
)
def test_an_answer_is_read_in_any_dress(text, value):
    assert answer_line(text, cut=False) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is 7.",
        "7",
        "ANSWER:",
        "ANSWER: **",
        "The answer is 7",
        "answers: 7",
        "so ANSWER: 7",
        "<answer>7",
        "</answer>7",
    ],
)
def test_no_statement_is_no_answer(text):
    assert answer_line(text, cut=False) is None


@pytest.mark.parametrize("text", ["ANSWER: 7\nso \\boxed{8", "ANSWER: 7\n<answer>8", "ANSWER: 7\nANSWER:\n"])
def test_an_unfinished_statement_hides_the_one_before(text):
    assert answer_line(text, cut=False) is None


def test_two_boxes_in_an_answer_line_are_not_one_answer():
    assert answer_line("ANSWER: \\boxed{7} or \\boxed{8}", cut=False) == "\\boxed{7} or \\boxed{8}"


def test_a_power_is_not_read_as_a_digit():
    assert answer_line("ANSWER: 10\u00b2", cut=False) == "10\u00b2"


@pytest.mark.parametrize("text", ["ANSWER: 7", "Answer:\n7", "ANSWER: 7\nANSWER: 1"])
def test_a_cut_answer_line_without_its_end_is_no_answer(text):
    assert answer_line(text, cut=True) is None


@pytest.mark.parametrize(
    "text", ["ANSWER: 7\n", "ANSWER: 7\nBut", "Answer:\n7\n", "so \\boxed{7}", "<answer>7</answer>"]
)
def test_an_answer_that_was_complete_before_the_cut_counts(text):
    assert answer_line(text, cut=True) == "7"


def test_an_answer_beyond_the_cap_is_none():
    assert answer_line("ANSWER: " + "7" * MAX_ANSWER, cut=False) is None
    assert answer_line("ANSWER:" + "7" * MAX_ANSWER, cut=False) == "7" * MAX_ANSWER
    assert last_line("7" * (MAX_ANSWER + 1)) == ""


def test_the_last_line_is_cleaned():
    assert last_line("a\r\n**7**.\r\n \n") == "7"
    assert last_line(" \n") == ""


@given(PIECES.map("".join))
def test_cleaning_twice_changes_nothing(text):
    assert clean(clean(text)) == clean(text)


@pytest.mark.slow
@given(PIECES.map("".join) | st.text(), st.booleans())
def test_an_answer_is_clean_or_none(text, cut):
    value = answer_line(text, cut=cut)
    assert value is None or (value and clean(value) == value)


@pytest.mark.slow
@given(st.text(), st.text(alphabet="abc019-/", min_size=1, max_size=9).filter(lambda value: value.strip("-/")))
def test_an_answer_line_ends_the_search_whatever_stands_before(before, value):
    before = before.replace("<", "").replace("{", "")
    assert answer_line(f"{before}\nANSWER: {value}", cut=False) == value


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{" * 150_000,
        "<answer>" * 120_000,
        "ANSWER:\n" * 120_000,
        "ANSWER: " * 120_000,
        "*" * 1_000_000,
        "\n" * 1_000_000,
        "ANSWER: " + "\\text{" * 330 + "}" * 15,
        "ANSWER: " + "\\text{" * 280 + "}" * 280,
        "ANSWER: " + "<" * 900 + ">" * 900,
    ],
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    answer_line(text, cut=False)
    last_line(text)
    assert time.process_time() - start < 2
