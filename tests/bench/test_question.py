from __future__ import annotations

from crucibleforge.bench._question import Check, Question, explained, posed
from crucibleforge.chat import Message
from crucibleforge.types import Element, Finding, Grading


def test_what_marking_needs_is_not_among_what_is_sent():
    case = posed("x", "How many?", 9, "forty-two", Grading("words", {}))
    question = Question((Check("x", "ability", "X"),), case)
    assert question.messages == (Message("user", "How many?"),)
    assert (question.max_tokens, question.case.expected) == (9, "forty-two")


def test_a_check_is_passed_or_not_and_says_why_either_way():
    elements = (Element("a", passed=True), Element("b", passed=False, why="got 1"))
    assert explained(Finding("pass", 1.0), "all of it") == Finding("pass", 1.0, "all of it")
    assert explained(Finding("partial", 0.5, "b: got 1", elements), "all of it") == Finding(
        "fail", 0.5, "1 of 2 right; b: got 1", elements
    )
    assert explained(Finding("unanswered", 0.0, "empty reply"), "all of it") == Finding(
        "unanswered", 0.0, "empty reply"
    )
