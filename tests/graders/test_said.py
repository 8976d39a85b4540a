from __future__ import annotations

import pytest

from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.extract import Unread
from crucibleforge.families._dress import said
from crucibleforge.graders._said import (
    MAX_TEXT,
    all_or_nothing,
    answer_of,
    by_share,
    is_cut,
    nothing_said,
    share,
    text_of,
    unparsed,
)
from crucibleforge.types import Element, Finding


def test_reasoning_is_not_text():
    reply = Reply(text="<think>7</think>", reasoning="7", finish="stop", usage=Usage(), timing=Timing(total_s=0.0))
    assert text_of(reply).strip() == ""
    assert nothing_said(reply) == Finding("unanswered", 0.0, "nothing but reasoning in reply")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_reply_is_unanswered(text):
    assert nothing_said(said(text)) == Finding("unanswered", 0.0, "empty reply")


def test_a_reply_with_text_is_something():
    assert nothing_said(said("7")) is None


def test_only_a_token_limit_cuts():
    assert is_cut(said("7", "length"))
    assert not is_cut(said("7", "content_filter"))


def test_a_fault_fails_and_none_passes():
    assert all_or_nothing("no") == Finding("fail", 0.0, "no")
    assert all_or_nothing("") == Finding("pass", 1.0)


def test_the_share_is_that_of_what_passed():
    assert share((Element("a", passed=True), Element("b", passed=False))) == 0.5


@pytest.mark.parametrize("text", ["7<|im_end|>", "7 </s>\n", "7<|eot_id|><|eot_id|>", "<think>8</think>7<end_of_turn>"])
def test_end_marks_of_a_template_are_not_text(text):
    assert text_of(said(text)).strip() == "7"


def test_an_end_mark_in_the_middle_is_a_mention():
    assert text_of(said("the </s> tag")) == "the </s> tag"


def digits(text):
    return text if text.isdigit() else Unread("no digits")


def test_an_answer_is_read_from_its_line_and_nowhere_else():
    assert answer_of(said("8\nANSWER: 7"), digits) == "7"
    assert answer_of(said("ANSWER: seven\n7"), digits) == Unread("no digits: seven")


def test_a_last_line_may_be_read_more_strictly():
    assert answer_of(said("So:\n7"), digits) == "7"
    assert answer_of(said("So:\n7"), digits, bare=lambda _: Unread("no")) == Unread("no answer line in reply")
    assert answer_of(said("So:\n7", "length"), digits) == Unread("no answer line in reply")


def test_an_answer_over_lines_is_read_only_where_it_may_be():
    reply = said("ANSWER:\n7\n8\n")
    assert answer_of(reply, digits) == "7"
    assert answer_of(reply, str.split, lines=True) == ["7", "8"]


def test_what_is_unparsed_says_so():
    assert unparsed(Unread("no digits")) == "unparsed: no digits"


def test_elements_that_all_pass_are_a_pass():
    right, wrong = Element("a", passed=True), Element("b", passed=False, why="no")
    assert by_share([right]) == Finding("pass", 1.0, "", (right,))
    assert by_share([right, wrong, wrong]) == Finding("partial", 1 / 3, "b: no (and 1 more)", (right, wrong, wrong))
    assert by_share([wrong]) == Finding("fail", 0.0, "b: no", (wrong,))


def test_a_reply_longer_than_any_budget_is_not_read():
    assert text_of(said(" " * (MAX_TEXT - 1) + "7")).endswith("7")
    assert text_of(said(" " * MAX_TEXT + "7")) == ""
    assert nothing_said(said(" " * MAX_TEXT + "7")).why == "unparsed: the reply is longer than 1,000,000 characters"
