from __future__ import annotations

from dataclasses import replace

import pytest
from adding import ADDING, BRIEF, never

from crucibleforge.families._dress import said
from crucibleforge.families._law import BrokenError, Look, called, drawn, json, marked, short


def test_a_costly_family_is_drawn_less_often_but_three_times_at_least():
    assert Look(replace(ADDING, cost=10), BRIEF, never).count(100) == 10
    assert Look(replace(ADDING, cost=90), BRIEF, never).count(100) == 3


def test_what_a_family_raises_says_what_was_called():
    with pytest.raises(BrokenError, match="solve raised ZeroDivisionError: division by zero"):
        called("solve", lambda: 1 / 0)


def test_a_drawn_case_names_its_place():
    assert drawn(ADDING, "L2", 1).at("it is wrong") == "math/adding/L2.1: it is wrong"


def test_one_a_real_one_and_true_differ_and_the_order_of_keys_does_not():
    assert len({json(1), json(1.0), json(True)}) == 3
    assert json({"a": 1, "b": 2}) == json({"b": 2, "a": 1})


def test_a_long_value_is_shown_in_part():
    assert short("x" * 121) == f"{'x' * 120}..."
    assert short([1, 2]) == "[1,2]"


def test_a_reply_is_marked_as_a_model_s_would_be():
    one = drawn(ADDING, "L1", 1)
    assert marked(one.case, (said(f"ANSWER: {one.item.answer}"),), never).outcome == "pass"
    assert marked(one.case, (said("ANSWER: 1"),), never).outcome == "fail"
