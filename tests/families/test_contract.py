from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count

import pytest

from crucibleforge import plugins
from crucibleforge.families._contract import examine
from crucibleforge.families._dress import alone, answers, programs, said
from crucibleforge.families._kit import Draft, Family
from crucibleforge.families._law import Extent
from crucibleforge.programs import Ran, Returned
from crucibleforge.sandbox import open_sandbox
from crucibleforge.sandbox._fair import execute
from crucibleforge.types import RUNGS, Grading

BRIEF = Extent(generated=4, verified=3, different=4, guessed=3, fuzzed=2)
ALL = dict.fromkeys(RUNGS, 60)
ONE = dict.fromkeys(RUNGS, 1)


@dataclass(frozen=True)
class Sum:
    summands: tuple[int, ...]


def add(sum_):
    return sum(sum_.summands)


def count_up(sum_):
    total = 0
    for summand in sum_.summands:
        total -= -summand
    return total


ADDING = Family(
    name="math/adding",
    rungs={rung: 10**number for number, rung in enumerate(RUNGS, 8)},
    generate=lambda most, draw: Sum((draw.between(most // 2, most), draw.between(most // 2, most))),
    solve=add,
    verify=count_up,
    ask=lambda sum_: Draft(prompt=f"Add {sum_.summands[0]} and {sum_.summands[1]}."),
    grading=Grading("numeric", {}),
    right=lambda item: answers(item.answer),
    near_misses=lambda item: alone(*(f"ANSWER: {item.answer + off}" for off in (-20, -10, -2, -1, 1, 2, 10, 20))),
    shortcuts=lambda item: alone(f"ANSWER: {item.instance.summands[0]}"),
    effort=lambda sum_: max(sum_.summands).bit_length(),
    max_tokens=ALL,
    prompt_tokens=ALL,
    slots=ONE,
)

DOUBLE = "def double(values):\n    return [2 * value for value in values]\n"


def doubled(values):
    return {"args": [values], "returns": [2 * value for value in values]}


DOUBLING = replace(
    ADDING,
    name="coding/doubling",
    generate=lambda most, draw: Sum(tuple(draw.between(1, most) for _ in range(6))),
    solve=lambda sum_: [doubled(list(sum_.summands))],
    verify=lambda sum_: [{"args": [list(sum_.summands)], "returns": [value + value for value in sum_.summands]}],
    ask=lambda sum_: Draft(prompt=f"Write `double(values)`: each number twice as large. Not about {sum_.summands[0]}."),
    grading=Grading("program", {"entry": "double", "reference": DOUBLE}),
    right=lambda _: programs(DOUBLE),
    near_misses=lambda _: alone(*(f"```python\n{DOUBLE.replace('2', str(n))}```" for n in range(3, 11))),
    shortcuts=lambda _: alone("```python\ndef double(values):\n    return values\n```"),
    hidden=lambda _, draw: [doubled([draw.between(1, 10**9)])],
)


@pytest.fixture(scope="session")
def run():
    # The programs are our own, so that a machine without a sandbox may run them as they are.
    with closing(open_sandbox(allow_unsandboxed=True)) as sandbox:
        yield lambda program: execute(sandbox, program)


def never(program):
    raise AssertionError(f"a program ran: {program}")


def found(run=never, family=ADDING, **fault):
    """The broken laws of a sound family with a fault planted, without the places."""
    return sorted({line.partition(": ")[2] for line in examine(replace(family, **fault), run, BRIEF).problems})


@pytest.mark.slow
@pytest.mark.parametrize("name", plugins.names("families"))
def test_every_family_keeps_the_contract(name, run):
    family = plugins.find("families", name)
    assert family.name == name
    assert examine(family, run, Extent(generated=10, verified=5, different=50, guessed=10, fuzzed=20)).problems == ()


def test_sound_families_have_no_problems(run):
    assert found() == []
    assert found(run, DOUBLING) == []


def test_a_problem_names_its_place():
    assert examine(replace(ADDING, verify=lambda _: 1), never, BRIEF).problems[0].startswith("math/adding/L1.1: ")


def test_a_wrong_gold_answer_is_found():
    faults = found(solve=lambda sum_: add(sum_) + 1)
    assert [line for line in faults if "solve says" in line and ", verify says" in line]


def test_a_second_solution_that_only_verify_sees_is_found():
    assert any("verify says null" in line for line in found(verify=lambda _: None))


def test_a_grader_that_accepts_a_near_miss_is_found():
    assert any(line.startswith("near miss 4 passes") for line in found(grading=Grading("numeric", {"tolerance": 1})))


def test_a_grader_that_accepts_every_answer_is_found():
    faults = found(grading=Grading("numeric", {"tolerance": 10**12}))
    assert any("passes against another answer" in line for line in faults)
    assert any(line.startswith("shortcut ") for line in faults)


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


def test_a_right_reply_that_is_refused_is_found():
    faults = found(right=lambda item: (*answers(item.answer), (said("I think it is a lot."),)))
    assert [line for line in faults if line.startswith("right reply 13 does not pass")]


def test_too_few_replies_of_a_kind_are_found():
    faults = found(right=lambda item: answers(item.answer)[:5], near_misses=lambda item: alone("ANSWER: 1"))
    assert "right gives 5 different dialogues, at least 12 are due" in faults
    assert "near_misses gives 1 different dialogues, at least 8 are due" in faults


def test_a_shortcut_that_passes_is_found():
    assert "shortcut 7 passes 3 of 3 draws" in found(shortcuts=lambda item: answers(item.answer)[:1])


def test_effort_that_falls_is_found():
    efforts = found(effort=lambda sum_: -max(sum_.summands).bit_length())
    assert any(line.startswith("effort falls from ") for line in efforts)


def test_a_prompt_over_its_budget_is_found():
    assert any("its budget is 3" in line for line in found(prompt_tokens=dict.fromkeys(RUNGS, 3)))


def test_a_rung_without_parameters_is_found():
    assert found(rungs={"L1": 100}) == [f"rungs must be set for {', '.join(RUNGS)} and no other, not L1"]


def test_a_setting_that_the_grader_does_not_know_is_an_error_in_the_family():
    assert any("surprise" in line for line in found(grading=Grading("numeric", {"surprise": True})))


def test_a_function_that_raises_breaks_a_law_and_not_the_check():
    def broken(_):
        raise KeyError("gone")

    assert "verify raised KeyError: 'gone'" in found(verify=broken)


def test_an_instance_that_is_changed_is_found():
    def drop(values):
        return values.pop() + values.pop()

    faults = found(generate=lambda most, draw: [most, draw.between(1, most)], solve=drop, verify=drop)
    assert any("raised IndexError" in line for line in faults)


def test_a_reference_that_is_wrong_is_found(run):
    wrong = Grading("program", {"entry": "double", "reference": DOUBLE.replace("2", "3")})
    assert any(line.startswith("the reference does not pass: ") for line in found(run, DOUBLING, grading=wrong))


def test_a_reference_that_is_slow_is_found():
    def slow(program):
        results = tuple(doubled(call.args[0])["returns"] for call in program.calls)
        return Ran(tuple(map(Returned, results)), "test", cpu_s=(5.0,) * len(results))

    assert "the reference takes 5.0 s of CPU on one input, at most 3" in found(slow, DOUBLING)


def test_a_family_without_hidden_inputs_is_found(run):
    faults = found(run, DOUBLING, hidden=None)
    assert "no hidden inputs, so that the stored ones could be known by heart" in faults
    assert "a program that knows the stored inputs by heart passes" in faults


def test_hidden_inputs_that_do_not_change_are_found(run):
    assert "two seeds give the same hidden inputs" in found(run, DOUBLING, hidden=lambda *_: [doubled([5])])


def test_a_slow_solution_that_is_in_time_is_found(run):
    sized = {"hidden": lambda _, draw: [doubled([draw.between(1, 99)]) | {"size": 1}]}
    faults = found(run, DOUBLING, slow=lambda _: (DOUBLE,), **sized)
    assert any(line.startswith("slow program 1 does not run out of time") for line in faults)


def test_a_slow_solution_without_sizes_is_found(run):
    faults = found(run, DOUBLING, slow=lambda _: (DOUBLE,))
    assert "slow programs but no input with a size to find them out" in faults


def test_a_slow_solution_that_is_wrong_is_found(run):
    sized = {"hidden": lambda _, draw: [doubled([draw.between(1, 99)]) | {"size": 1}]}
    faults = found(run, DOUBLING, slow=lambda _: (DOUBLE.replace("2", "7"),), **sized)
    assert any(line.startswith("slow program 1 is wrong, not slow") for line in faults)


def test_what_was_done_is_counted(run):
    done = examine(DOUBLING, run, BRIEF)
    assert (done.cases, done.references) == (5, 5)
    assert done.derived >= 15
    assert done.refused >= 40
