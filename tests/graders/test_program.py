from __future__ import annotations

from time import process_time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue
from crucibleforge.errors import CrucibleError
from crucibleforge.families._dress import programs, said
from crucibleforge.graders.program import GRADER, MAX_SOURCE, conclude, program
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
        grading=Grading(GRADER.name, {"entry": "f"} | settings),
        needs=Needs(100, sandbox=True),
    )


def concluded(*results, calls=CALLS, cpu_s=(), ours_s=(), **settings):
    return conclude(asked(calls, **settings), Ran(tuple(results), "bwrap", cpu_s=cpu_s, reference_cpu_s=ours_s))


def test_the_program_is_the_reply_s_code_and_the_inputs():
    for (reply,) in programs(SOURCE):
        assert program(asked(), (reply,)) == Program(SOURCE, "f", (Call((3, [1])), Call(("a",))))


def test_the_program_has_all_that_the_case_says_of_it():
    source = "class Ledger:\n    pass\n"
    calls = [{"args": [[3], [["add", 1]]], "returns": [4], "size": 9}, {"args": [[], []], "returns": []}]
    case = asked(
        calls,
        entry="Ledger",
        form="class",
        containers=["set", "int_keys"],
        scratch=True,
        reference="ours",
        tolerance=0.1,
    )
    assert program(case, (said(f"```python\n{source}```"),)) == Program(
        source,
        "Ledger",
        (Call(([3], [["add", 1]]), size=9), Call(([], []))),
        "class",
        ("set", "int_keys"),
        scratch=True,
        reference="ours",
    )


def test_a_case_without_a_call_is_refused():
    case = asked([])
    for step in (lambda: program(case, (said(""),)), lambda: conclude(case, Ran((), "bwrap", "broken"))):
        with pytest.raises(CrucibleError) as error:
            step()
        assert error.value.message == "case coding/x/easy.0 gives its programs no input, so all would pass"


@pytest.mark.parametrize(("length", "is_taken"), [(MAX_SOURCE, True), (MAX_SOURCE + 1, False)])
def test_code_has_a_greatest_length(length, is_taken):
    source = f"{SOURCE}#{'x' * (length - len(SOURCE) - 2)}\n"
    made = program(asked(), (said(f"```python\n{source}```"),))
    if is_taken:
        assert made == Program(source, "f", (Call((3, [1])), Call(("a",))))
    else:
        assert made == Finding("fail", 0.0, "the code is longer than 64,000 characters")


def test_what_should_come_back_never_enters_the_program():
    made = program(asked(), (said(SOURCE),))
    assert isinstance(made, Program)
    assert b"987654321" not in msgspec.json.encode(made)


@pytest.mark.parametrize(
    ("text", "finish", "finding"),
    [
        ("No idea.", "stop", Finding("fail", 0.0, "no code in reply")),
        ("```python\ndef g(x): return x\n```", "stop", Finding("fail", 0.0, "no function 'f' in the code; found 'g'")),
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
        (Raised("exit", "asked to", "line 2, in f"), "f(3): exit, asked to (line 2, in f)"),
        (Raised("output limit", "more than 9 bytes"), "f(3): output limit, more than 9 bytes"),
        (Raised("time limit", "more than 2 s of CPU"), "f(3): time limit, more than 2 s of CPU"),
        (Raised("KeyError", "3", "line 12, in g"), "f(3) raised KeyError: 3 (line 12, in g)"),
        (Raised("KeyError", "", "line 12, in g", 1), "f(3) raised KeyError (line 12, in g)"),
        (Raised("K" * 99, "m" * 999), f"f(3) raised {'K' * 57}...: {'m' * 117}..."),
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


SIZED = [{"args": [[0] * size], "returns": 0, "size": size} for size in (1000, 5000, 20_000)]
LATE = Raised("time limit", "more than 2 s of CPU")
RIGHT = Returned(0)


@pytest.mark.parametrize(
    ("results", "cpu_s", "ours_s", "why"),
    [
        (
            (RIGHT, RIGHT, LATE),
            (0.05, 1.2, 2.0),
            (0.01, 0.03, 0.11),
            "time limit at size 20,000: more than 2 s of CPU, ours took 0.11 s; size 5,000 took 1.2 s, growing like n^2.0",
        ),
        (
            (RIGHT, RIGHT, LATE),
            (0.0049, 1.2, 2.0),
            (),
            "time limit at size 20,000: more than 2 s of CPU; size 5,000 took 1.2 s",
        ),
        (
            (RIGHT, RIGHT, LATE),
            (0.005, 1.2, 12.0),
            (0.01, 0.03, 12.4),
            "time limit at size 20,000: more than 2 s of CPU, ours took 12 s; size 5,000 took 1.2 s, growing like n^3.4",
        ),
        ((LATE, RIGHT, RIGHT), (2.0, 0.1, 0.2), (), "time limit at size 1,000: more than 2 s of CPU"),
        (
            (RIGHT, Raised("KeyError"), LATE),
            (0.1, 0.1, 2.0),
            (),
            f"f([{'0, ' * 18}0,...) raised KeyError",
        ),
        (
            (RIGHT, LATE, Raised("time limit", "not tried: size 5,000 ran into its limit")),
            (0.1, 2.0, 0.0),
            (0.01, 0.1, 0.2),
            "time limit at size 5,000: more than 2 s of CPU, ours took 0.1 s; size 1,000 took 0.1 s",
        ),
        (
            (RIGHT, RIGHT, Raised("memory limit", "more than 9 bytes")),
            (0.1, 0.5, 1.5),
            (0.1, 0.1, 0.1),
            "memory limit at size 20,000: more than 9 bytes; size 5,000 took 0.5 s, growing like n^1.0",
        ),
        ((RIGHT, RIGHT, Raised("memory limit")), (), (), "memory limit at size 20,000"),
    ],
)
def test_a_limit_tells_the_size_and_how_far_it_came(results, cpu_s, ours_s, why):
    assert concluded(*results, calls=SIZED, cpu_s=cpu_s, ours_s=ours_s).why == why


def test_a_size_that_was_not_tried_says_so_and_no_more():
    untried = Raised("time limit", "not tried: size 5,000 ran into its limit")
    finding = concluded(RIGHT, LATE, untried, calls=SIZED, cpu_s=(0.1, 2.0, 0.0), ours_s=(0.1, 0.1, 0.1))
    assert finding.elements[2].why == "time limit at size 20,000: not tried: size 5,000 ran into its limit"


def test_a_late_call_without_a_size_is_compared_with_ours():
    calls = [{"args": [3], "returns": 5}]
    finding = concluded(LATE, calls=calls, cpu_s=(5.0,), ours_s=(0.25,))
    assert finding.why == "f(3): time limit, more than 2 s of CPU, ours took 0.25 s"


def test_another_call_of_the_same_size_is_no_step_on_the_way():
    calls = [{"args": [0], "returns": 0, "size": size} for size in (1000, 5000, 5000)]
    finding = concluded(RIGHT, RIGHT, LATE, calls=calls, cpu_s=(0.1, 1.9, 2.0))
    assert finding.why == "time limit at size 5,000: more than 2 s of CPU; size 1,000 took 0.1 s"


@pytest.mark.parametrize(
    ("ours_s", "told"), [(0.0123, "0.012 s"), (9.4, "9.4 s"), (12.6, "13 s"), (123.4, "123 s"), (1234.6, "1,235 s")]
)
def test_seconds_are_told_by_two_digits_and_no_part_of_a_large_one(ours_s, told):
    finding = concluded(LATE, calls=[{"args": [3], "returns": 5}], cpu_s=(5.0,), ours_s=(ours_s,))
    assert finding.why == f"f(3): time limit, more than 2 s of CPU, ours took {told}"


OPERATIONS = [["add", 1], ["add", 2], ["cancel", 3], ["sum"]]
LOG = [{"args": [[7, "x"], OPERATIONS], "returns": [1, 3, True, 0]}]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (Returned([2, 3, True, 0]), "add(1) gave 2, expected 1"),
        (Returned([1, 4, True, 1]), "after 1 operation that was right, add(2) gave 4, expected 3"),
        (Returned([1, 3, 1, 0]), "after 2 operations that were right, cancel(3) gave 1, expected True"),
        (Returned([1, 3, True, "0"]), "after 3 operations that were right, sum() gave '0', expected 0"),
        (Returned([1, 3, True]), "L(7, 'x'), 4 operations gave [1, 3, True], expected [1, 3, True, 0]"),
        (Returned(8), "L(7, 'x'), 4 operations gave 8, expected [1, 3, True, 0]"),
        (
            Raised("KeyError", "3", "line 9, in cancel", 3),
            "operation 3, cancel(3), raised KeyError: 3 (line 9, in cancel)",
        ),
        (Raised("KeyError", "3", "line 9, in sum", 4), "operation 4, sum(), raised KeyError: 3 (line 9, in sum)"),
        (Raised("TypeError", "no"), "L(7, 'x') raised TypeError: no"),
        (Raised("TypeError", "no", "", 5), "L(7, 'x') raised TypeError: no"),
        (LATE, "L(7, 'x'), 4 operations: time limit, more than 2 s of CPU"),
        (None, "L(7, 'x'), 4 operations was not run"),
    ],
)
def test_the_first_wrong_operation_of_a_class_is_told(result, why):
    finding = concluded(*([result] if result else []), calls=LOG, entry="L", form="class")
    assert (finding.why, finding.elements[0].name) == (why, "L(7, 'x'), 4 operations")


def test_a_log_that_is_right_passes():
    finding = concluded(Returned([1, 3, True, 0]), calls=LOG, entry="L", form="class")
    assert finding == Finding("pass", 1.0, "", (Element("L(7, 'x'), 4 operations", passed=True),))
    one = [{"args": [[], [["a"]]], "returns": [None]}]
    assert concluded(Returned([None]), calls=one, entry="L", form="class").elements[0].name == "L(), 1 operation"


def test_a_tolerance_holds_for_a_log():
    finding = concluded(Returned([1.05, 3.5, True, 0]), calls=LOG, entry="L", form="class", tolerance=0.1)
    assert finding.why == "after 1 operation that was right, add(2) gave 3.5, expected 3"


def test_more_results_than_calls_change_nothing():
    assert concluded(Returned(987654321), Returned([1.5, None]), Returned(0)).outcome == "pass"


@pytest.mark.parametrize(
    ("count", "shown"),
    [(12, f"f({'1, ' * 11}1)"), (13, f"f({'1, ' * 12}...)")],
)
def test_many_arguments_are_shown_in_part(count, shown):
    assert concluded(Returned(1), calls=[{"args": [1] * count, "returns": 1}]).elements[0].name == shown


def test_large_values_are_named_short_and_soon():
    many = list(range(200_000))
    calls = [{"args": [many, {str(number): number for number in many}], "returns": many}]
    began = process_time()
    wrong = concluded(Returned([*many[:-1], 0]), calls=calls)
    assert process_time() - began < 1
    assert len(wrong.why) < 350
    assert len(wrong.elements[0].name) <= 60
