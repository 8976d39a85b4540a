from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract import Unread
from crucibleforge.extract.answer import (
    MAX_ANSWER,
    NOTHING,
    UNFINISHED,
    answer_block,
    answer_line,
    clean,
    first_sentence,
    last_line,
)

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
        ("## Answer\n\n7\n\nNot 8.", "7"),
        ("**Final Answer**\n- Tove", "Tove"),
        ("## Answer\nSo we get $\\boxed{7}$.", "7"),
        ("Answer: the total is \\boxed{7} crates", "7"),
        ("\\fbox{7} and \\dboxed {8}", "8"),
        ("so $\\boxed 7$", "7"),
        ("<solution>7</solution>", "7"),
        ("<final>7</final> as the <final> word", "7"),
        ("B fails. Answer: 7", "7"),
        ("(see above) **Answer:** 7", "7"),
        ('{"work": [5], "answer": 7}', "7"),
        ('Well:\n```json\n{"Final Answer": "7"}\n```', "7"),
        ('{"answer": [3, 1]}', "[3, 1]"),
        ("So the answer is **7**", "7"),
        ("We add them, so the final answer is 7.", "7"),
        ("5 + 2 = 7. The correct answer is $7$.", "7"),
    ],
)
def test_an_answer_is_read_in_any_dress(text, value):
    assert answer_line(text, cut=False) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ANSWER: 7\nThe final answer is 8.", "7"),
        ("ANSWER: 7\nDone. Answer: 8", "7"),
        ("Done. Answer: 7\nThe final answer is 8.", "7"),
        ("The answer is 8.\nI checked. Answer: 7\n", "7"),
        ("<answer>7</answer>\nThe answer is 8.", "7"),
    ],
)
def test_a_better_kind_of_statement_beats_a_later_one(text, value):
    assert answer_line(text, cut=False) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It is 7.",
        "7",
        "answers: 7",
        "so ANSWER: 7",
        "I doubt the answer is 7",
        "If it rains, the answer is 7.",
        "</answer>7",
        "the \\boxed notation, the <final> word",
        '{"result": 7}',
        'It is {"answer": 7}.',
    ],
)
def test_no_statement_is_no_answer(text):
    assert answer_line(text, cut=False) == NOTHING


@pytest.mark.parametrize("text", ["ANSWER: 7\nso \\boxed{8", "ANSWER: 7\n<answer>8", "ANSWER: 7 \\boxed{", "<answer>7"])
def test_an_unfinished_statement_hides_the_one_before(text):
    assert answer_line(text, cut=False) == UNFINISHED


def test_two_boxes_in_an_answer_line_are_not_one_answer():
    assert answer_line("ANSWER: \\boxed{7} or \\boxed{8}", cut=False) == "\\boxed{7} or \\boxed{8}"


def test_a_power_is_not_read_as_a_digit():
    assert answer_line("ANSWER: 10\u00b2", cut=False) == "10\u00b2"


@pytest.mark.parametrize("text", ["ANSWER: 7", "Answer:\n7", "ANSWER: 7\nANSWER: 1"])
def test_a_cut_answer_line_without_its_end_is_no_answer(text):
    assert answer_line(text, cut=True) == UNFINISHED


@pytest.mark.parametrize("text", ["The answer is 7. I", "Done. Answer: 7\nI", '{"answer": 7}'])
def test_only_the_best_kind_of_statement_survives_a_cut(text):
    assert answer_line(text, cut=True) == NOTHING


@pytest.mark.parametrize(
    "text", ["ANSWER: 7\n", "ANSWER: 7\nBut", "Answer:\n7\n", "so \\boxed{7}", "<answer>7</answer>"]
)
def test_an_answer_that_was_complete_before_the_cut_counts(text):
    assert answer_line(text, cut=True) == "7"


def test_an_answer_beyond_the_cap_is_none():
    assert answer_line("ANSWER: " + "7" * MAX_ANSWER, cut=False) == Unread("the answer is too long")
    assert answer_line("ANSWER:" + "7" * MAX_ANSWER, cut=False) == "7" * MAX_ANSWER
    assert last_line("7" * (MAX_ANSWER + 1)) == ""


def test_an_answer_on_lines_of_its_own_is_read_whole():
    assert answer_block("ANSWER:\n1. Ada\n2. Bo\n\nDone.", cut=False) == "1. Ada\n2. Bo"
    assert answer_block("ANSWER:\n```\nAda: red\nBo: blue\n```\nDone.", cut=False) == "Ada: red\nBo: blue"
    assert answer_block("ANSWER: Ada\nBo", cut=False) == "Ada"
    assert answer_block("ANSWER:\nAda\n\nBo", cut=False) == "Ada"
    assert answer_block("Ada", cut=False) == NOTHING


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("7. I counted twice.", "7"),
        ("1.5. Good luck!", "1.5"),
        ("7", ""),
        ("7. Or 8.", ""),
        ("7. No, it is 8.", ""),
        ("7. Wait, 8.", ""),
        ("7. but 8", ""),
    ],
)
def test_a_second_sentence_is_dropped_unless_it_takes_the_first_back(text, first):
    assert first_sentence(text) == first


def test_a_dash_is_a_sign_only_where_nothing_stands_before_it():
    assert clean("\u201342") == clean("\u2014 42").replace(" ", "") == "-42"
    assert clean("3\u20135") == "3\u20135"


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
    assert isinstance(value, Unread) or (value and clean(value) == value)


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


@pytest.mark.parametrize("text", ["\\boxed{}", "ANSWER: \\boxed{}", "ANSWER: 5\n\\boxed{} \\boxed{}"])
def test_an_empty_box_is_no_answer(text):
    assert answer_line(text, cut=False) == Unread("the answer is empty")
