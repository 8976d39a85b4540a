from __future__ import annotations

import pytest

from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.families._kit import said
from crucibleforge.graders._said import all_or_nothing, is_cut, nothing_said, share, text_of
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
