from __future__ import annotations

from itertools import count

from adding import Sum, add, found

from crucibleforge.families._kit import Draft
from crucibleforge.types import RUNGS


def test_a_wrong_gold_answer_is_found():
    faults = found(solve=lambda sum_: add(sum_) + 1)
    assert [line for line in faults if "solve says" in line and ", verify says" in line]


def test_a_second_solution_that_only_verify_sees_is_found():
    assert any("verify says null" in line for line in found(verify=lambda _: None))


def test_an_answer_that_stands_in_the_prompt_is_found():
    assert any(
        line.endswith("stands in the prompt") for line in found(ask=lambda sum_: Draft(prompt=f"Is it {add(sum_)}?"))
    )


def test_an_unseeded_draw_is_found():
    numbers = count(10**6)
    assert "the same key gave two different instances" in found(generate=lambda *_: Sum((next(numbers), 10**6)))


def test_verify_that_calls_solve_is_found():
    assert "verify and solve both call add" in found(verify=add)


def test_what_both_may_call_is_declared():
    assert found(verify=add, shared=("add",)) == []


def test_draws_that_ask_the_same_are_found():
    faults = found(generate=lambda *_: Sum((7, 8)))
    assert "3 of 4 draws ask what another one asks" in faults
    assert "forms with neighbouring keys share items" in faults


def test_effort_that_falls_is_found():
    efforts = found(effort=lambda sum_: -max(sum_.summands).bit_length())
    assert any(line.startswith("effort falls from ") for line in efforts)


def test_a_prompt_over_its_budget_is_found():
    assert any("its budget is 3" in line for line in found(prompt_tokens=dict.fromkeys(RUNGS, 3)))


def test_a_rung_without_parameters_is_found():
    assert found(rungs={"L1": 100}) == [f"rungs must be set for {', '.join(RUNGS)} and no other, not L1"]


def test_an_instance_that_is_changed_is_found():
    def drop(values):
        return values.pop() + values.pop()

    faults = found(generate=lambda most, draw: [most, draw.between(1, most)], solve=drop, verify=drop)
    assert any("raised IndexError" in line for line in faults)
