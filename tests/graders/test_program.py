from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.families._kit import code_dressings, said
from crucibleforge.graders.program import GRADER, conclude, program
from crucibleforge.programs import Call, Program, Raised, Ran, Returned
from crucibleforge.types import Case, Element, Finding, Grading, Needs

SOURCE = "def f(x, y=()):\n    return x\n"
CALLS = [{"args": [3, [1]], "returns": 987654321}, {"args": ["a"], "returns": [1.5, None]}]


def asked(calls=CALLS, **settings):
    return Case(
        id="coding/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=calls,
        grading=Grading(GRADER.name, {"entry": "f", **settings}),
        needs=Needs(100, sandbox=True),
    )


def concluded(*results, calls=CALLS, **settings):
    return conclude(asked(calls, **settings), Ran(tuple(results), "bwrap"))


def test_the_program_is_the_reply_s_code_and_the_inputs():
    for reply in code_dressings(SOURCE):
        assert program(asked(), (reply,)) == Program(SOURCE, "f", (Call((3, [1])), Call(("a",))))


def test_what_should_come_back_never_enters_the_program():
    made = program(asked(), (said(SOURCE),))
    assert isinstance(made, Program)
    assert b"987654321" not in msgspec.json.encode(made)


@pytest.mark.parametrize(
    ("text", "finish", "finding"),
    [
        ("No idea.", "stop", Finding("fail", 0.0, "no code in reply")),
        ("```python\ndef g(x): return x\n```", "stop", Finding("fail", 0.0, "no function 'f' in the code")),
        ("```python\ndef f(x) return x\n```", "stop", Finding("fail", 0.0, "syntax error in line 1: expected ':'")),
        (f"```python\n{SOURCE}", "length", Finding("fail", 0.0, "the code is cut off")),
        (f"<think>```python\n{SOURCE}```", "stop", Finding("unanswered", 0.0, "nothing but reasoning in reply")),
    ],
)
def test_a_reply_without_a_program_is_concluded_at_once(text, finish, finding):
    assert program(asked(), (said(text, finish),)) == finding


def test_only_the_last_reply_s_code_counts():
    assert program(asked(), (said(SOURCE), said("Done."))) == Finding("fail", 0.0, "no code in reply")


def test_every_call_must_be_right():
    assert concluded(Returned(987654321), Returned([1.5, None])) == Finding(
        "pass", 1.0, "", (Element("f(3, [1])", passed=True), Element("f('a')", passed=True))
    )
    assert concluded(Returned(987654321), Returned([1.5])) == Finding(
        "fail",
        0.5,
        "f('a') gave [1.5], expected [1.5, None]",
        (
            Element("f(3, [1])", passed=True),
            Element("f('a')", passed=False, why="f('a') gave [1.5], expected [1.5, None]"),
        ),
    )


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (Returned(4), "f(3) gave 4, expected 5"),
        (Returned(5.0), "f(3) gave 5.0, expected 5"),
        (Returned("5"), "f(3) gave '5', expected 5"),
        (Returned(None), "f(3) gave None, expected 5"),
        (Returned([0] * 1000), f"f(3) gave [{'0, ' * 18}0,..., expected 5"),
        (Raised("IndexError", "list index out of range"), "f(3) raised IndexError: list index out of range"),
        (Raised("KeyError"), "f(3) raised KeyError"),
        (Raised("time limit"), "f(3): time limit"),
        (Raised("memory limit"), "f(3): memory limit"),
        (Raised("exit", "status 0"), "f(3): exit, status 0"),
    ],
)
def test_the_first_wrong_call_is_told(result, why):
    calls = [{"args": [3], "returns": 5}, {"args": [4], "returns": 6}]
    assert concluded(result, Returned(7), calls=calls).why == why


@pytest.mark.parametrize(
    ("value", "expected"), [(True, 1), (1, True), (3.0, 3), (3, 3.0), (float("nan"), float("nan"))]
)
def test_types_count(value, expected):
    assert concluded(Returned(value), calls=[{"args": [], "returns": expected}]).outcome == "fail"


def test_a_tolerance_holds_for_numbers_at_any_depth():
    calls = [{"args": [], "returns": [1, {"a": 0.5}]}]
    assert concluded(Returned([1.0, {"a": 0.5000001}]), calls=calls, tolerance=1e-6).outcome == "pass"
    assert concluded(Returned([1.0, {"a": 0.50001}]), calls=calls, tolerance=1e-6).outcome == "fail"
    assert concluded(Returned([True, {"a": 0.5}]), calls=calls, tolerance=1e-6).outcome == "fail"


def test_a_program_that_never_ran_says_why():
    ran = Ran((), "bwrap", "no function 'f'")
    assert conclude(asked(), ran) == Finding("fail", 0.0, "no function 'f'")


def test_a_missing_result_is_no_pass():
    finding = concluded(Returned(987654321))
    assert (finding.outcome, finding.score, finding.why) == ("fail", 0.5, "f('a') was not run")


@given(st.text(), st.sampled_from(["stop", "length"]))
def test_any_text_gets_a_program_or_a_finding(text, finish):
    assert isinstance(program(asked(), (said(text, finish),)), Finding)


@pytest.mark.slow
@given(st.recursive(st.none() | st.floats() | st.text(), st.lists, max_leaves=6), st.text(), st.text())
def test_any_result_gets_a_finding(value, kind, message):
    finding = concluded(Returned(value), Raised(kind, message))
    assert (finding.outcome, finding.score) == ("fail", 0.0)
    assert finding.why.isprintable()
