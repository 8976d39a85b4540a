from __future__ import annotations

from adding import DOUBLE, DOUBLING, doubled, found

from crucibleforge.programs import Ran, Returned
from crucibleforge.types import Grading


def test_a_reference_that_is_wrong_is_found(run):
    wrong = Grading("program", {"entry": "double", "reference": DOUBLE.replace("2", "3")})
    assert any(line.startswith("the reference does not pass: ") for line in found(run, DOUBLING, grading=wrong))


def test_a_reference_that_is_slow_is_found():
    def slow(program):
        results = tuple(doubled(call.args[0])["returns"] for call in program.calls)
        return Ran(tuple(map(Returned, results)), "test", cpu_s=(5.0,) * len(results))

    assert "the reference takes 5.0 s of CPU on one input, at most 3" in found(slow, DOUBLING)


def test_a_family_without_hidden_inputs_is_found(run):
    assert found(run, DOUBLING, hidden=None) == ["no hidden inputs, so that the stored ones could be known by heart"]


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
