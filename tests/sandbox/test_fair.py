from __future__ import annotations

import pytest

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Raised, Ran, Returned
from crucibleforge.sandbox._fair import FACTOR, FLOOR_S, OURS_S, PATIENCE, execute

LATE = Raised("time limit", "more than so much")
UNTRIED = Raised("time limit", "not tried")


class Fake:
    """A sandbox in which a call takes the CPU time that the tables say, by program and by the call's first argument.

    A time may be a list: one for each time that the call is run, the last one for all later ones.
    """

    isolation = "fake"

    def __init__(self, **tables):
        self.tables = tables
        self.runs = []
        self.limits = []

    def run(self, program, limits):
        self.runs.append((program.source, *(call.args[0] for call in program.calls)))
        self.limits.append(tuple(call.cpu_s for call in program.calls))
        assert not program.reference
        results, took, stop = [], [], None
        for call in program.calls:
            if stop and call.size > stop:
                results.append(UNTRIED)
                took.append(0.0)
                continue
            result, took_s = self.answer(program.source, call, limits)
            if result is LATE and call.size:
                stop = call.size
            results.append(result)
            took.append(took_s)
        return Ran(tuple(results), self.isolation, cpu_s=tuple(took))

    def answer(self, source, call, limits):
        entry = self.tables[source][call.args[0]]
        if isinstance(entry, list):
            entry = entry.pop(0) if len(entry) > 1 else entry[0]
        if not isinstance(entry, float):
            return entry, 0.01
        limit = limits.cpu_s if call.cpu_s is None else call.cpu_s
        return (LATE, limit) if entry >= limit else (Returned(call.args[0]), entry)

    def stop(self):
        """Nothing to stop."""

    def close(self):
        """Nothing to close."""


def asked(*names, source="theirs", reference="ours", **sizes):
    calls = (*(Call((name,)) for name in names), *(Call((name,), size=size) for name, size in sizes.items()))
    return Program(source, "f", calls, reference=reference)


def kinds(ran):
    return [getattr(result, "kind", "returned") for result in ran.results]


def test_a_program_without_our_own_solution_is_just_run():
    sandbox = Fake(theirs={"a": 9.0, "s": 9.0})
    ran = execute(sandbox, asked("a", s=5, reference=""))
    assert (kinds(ran), ran.reference_cpu_s, sandbox.runs) == (["time limit"] * 2, (), [("theirs", "a", "s")])


def test_a_program_in_time_costs_no_run_of_ours():
    sandbox = Fake(theirs={"a": 1.0, "b": 2.0})
    ran = execute(sandbox, asked("a", "b"))
    assert ran == Ran((Returned("a"), Returned("b")), "fake", cpu_s=(1.0, 2.0))
    assert sandbox.runs == [("theirs", "a", "b")]


def test_a_late_call_is_tried_again_alone_when_ours_is_slow_here_too():
    sandbox = Fake(theirs={"a": 1.0, "b": 9.0}, ours={"b": 1.0})
    ran = execute(sandbox, asked("a", "b"))
    assert ran == Ran((Returned("a"), Returned("b")), "fake", cpu_s=(1.0, 9.0), reference_cpu_s=(0.0, 1.0))
    assert sandbox.runs == [("theirs", "a", "b"), ("ours", "b"), ("theirs", "b")]
    assert sandbox.limits == [(5.0, 5.0), (OURS_S,), (FACTOR * 1.0,)]


def test_a_late_call_stays_late_when_ours_is_quick():
    sandbox = Fake(theirs={"a": 9.0}, ours={"a": 5.0 / FACTOR})
    ran = execute(sandbox, asked("a"))
    assert ran == Ran((LATE,), "fake", cpu_s=(5.0,), reference_cpu_s=(0.5,))
    assert sandbox.runs == [("theirs", "a"), ("ours", "a")]


def test_a_limit_that_is_just_too_low_for_this_machine_is_lifted():
    sandbox = Fake(theirs={"a": 5.05}, ours={"a": 0.51})
    assert kinds(execute(sandbox, asked("a"))) == ["returned"]
    assert sandbox.limits[-1] == (FACTOR * 0.51,)


def test_who_took_more_than_its_limit_is_as_late_as_who_took_all_of_it():
    class Overshooting(Fake):
        def answer(self, source, call, limits):
            result, took_s = super().answer(source, call, limits)
            return result, took_s + 0.003 * (result is LATE)

    sandbox = Overshooting(theirs={"a": 9.0}, ours={"a": 1.0})
    assert kinds(execute(sandbox, asked("a"))) == ["returned"]


def test_only_the_calls_that_deserve_it_are_tried_again():
    sandbox = Fake(theirs={"a": 9.0, "b": 9.0}, ours={"a": 0.1, "b": 1.0})
    ran = execute(sandbox, asked("a", "b"))
    assert kinds(ran) == ["time limit", "returned"]
    assert sandbox.runs[-1] == ("theirs", "b")


def test_who_is_late_once_more_has_had_its_chance():
    sandbox = Fake(theirs={"a": 99.0}, ours={"a": 1.0})
    ran = execute(sandbox, asked("a"))
    assert (kinds(ran), len(sandbox.runs), ran.cpu_s) == (["time limit"], 3, (10.0,))


def test_the_given_limit_counts_and_a_calls_own_before_it():
    sandbox = Fake(theirs={"a": 1.0, "b": 1.0}, ours={"a": 0.01, "b": 0.01})
    program = Program("theirs", "f", (Call(("a",)), Call(("b",), cpu_s=0.5)), reference="ours")
    ran = execute(sandbox, program, Limits(cpu_s=2.0))
    assert kinds(ran) == ["returned", "time limit"]
    assert sandbox.limits[0] == (2.0, 0.5)


def test_a_call_that_only_waits_gets_no_second_chance():
    sandbox = Fake(theirs={"a": LATE}, ours={"a": 9.0})
    ran = execute(sandbox, asked("a"))
    assert (kinds(ran), sandbox.runs) == (["time limit"], [("theirs", "a")])


def test_any_other_fault_gets_no_second_chance():
    sandbox = Fake(theirs={"a": Raised("KeyError"), "b": Raised("memory limit")})
    ran = execute(sandbox, asked("a", "b"))
    assert (kinds(ran), sandbox.runs) == (["KeyError", "memory limit"], [("theirs", "a", "b")])


class Impatient(Fake):
    """One that gives up after three late calls, as the real ones do."""

    def run(self, program, limits):
        ran = super().run(program, limits)
        late, results, took = 0, [], []
        for result, took_s in zip(ran.results, ran.cpu_s, strict=True):
            results.append(UNTRIED if late == 3 else result)
            took.append(0.0 if late == 3 else took_s)
            late += result is LATE
        return Ran(tuple(results), self.isolation, cpu_s=tuple(took))


def test_what_was_not_tried_is_tried_with_the_rest():
    names = "abcd"
    sandbox = Impatient(theirs=dict.fromkeys("abc", 9.0) | {"d": 1.0}, ours=dict.fromkeys(names, 1.0))
    ran = execute(sandbox, asked(*names))
    assert kinds(ran) == ["returned"] * 4
    assert sandbox.runs[1:] == [("ours", *"abc"), ("theirs", *names)]


def test_a_broken_program_is_not_tried_again():
    class Broken(Fake):
        def run(self, program, _limits):
            self.runs.append(program.source)
            return Ran((), "fake", "syntax error")

    sandbox = Broken()
    assert execute(sandbox, asked("a")) == Ran((), "fake", "syntax error")
    assert sandbox.runs == ["theirs"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [(Raised("KeyError", "3"), "KeyError 3"), (Raised("exit"), "exit"), (99.0, f"{LATE.kind} {LATE.message}")],
)
def test_our_own_solution_that_fails_is_named(entry, reason):
    sandbox = Fake(theirs={"a": 9.0, "b": 9.0}, ours={"a": 1.0, "b": entry})
    with pytest.raises(CrucibleError) as error:
        execute(sandbox, asked("a", "b"))
    assert error.value.message == f"our own solution of 'f' failed: {reason}"


@pytest.mark.parametrize(("ours_s", "is_broken"), [(59.9, False), (60.0, True)])
def test_our_own_solution_has_a_minute(ours_s, is_broken):
    sandbox = Fake(theirs={"l": 1.0}, ours={"l": ours_s})
    if is_broken:
        with pytest.raises(CrucibleError, match="our own solution of 'f' failed: time limit"):
            execute(sandbox, asked(l=16000))
    else:
        assert execute(sandbox, asked(l=16000)).reference_cpu_s == (ours_s,)


def test_calls_of_which_a_run_says_nothing_were_not_tried():
    class Silent(Fake):
        def run(self, program, limits):
            ran = super().run(program, limits)
            return Ran(ran.results[:1], "fake", cpu_s=ran.cpu_s[:1])

    ran = execute(Silent(theirs={"a": 1.0, "b": 1.0}), asked("a", "b"))
    assert ran == Ran((Returned("a"), Raised("time limit", "not tried")), "fake", cpu_s=(1.0, 0.0))


def test_our_own_solution_that_is_broken_is_named():
    class Broken(Fake):
        def run(self, program, limits):
            return Ran((), "fake", "no function 'f'") if program.source == "ours" else super().run(program, limits)

    with pytest.raises(CrucibleError, match="our own solution of 'f' failed: no function 'f'"):
        execute(Broken(theirs={"a": 9.0}), asked("a"))


SIZES = {"s": 1000, "m": 4000, "l": 16000}
OURS = {"s": 0.1, "m": 0.4, "l": 1.6}


def test_sized_calls_may_take_a_multiple_of_what_ours_take_right_before():
    sandbox = Fake(theirs={"a": 0.1, "s": 1.9, "m": 3.9, "l": 15.9}, ours=dict(OURS))
    ran = execute(sandbox, asked("a", **SIZES))
    assert kinds(ran) == ["returned"] * 4
    assert ran.reference_cpu_s == (0.0, 0.1, 0.4, 1.6)
    assert ran.cpu_s == (0.1, 1.9, 3.9, 15.9)
    assert sandbox.runs == [("ours", "s", "m", "l"), ("theirs", "a", "s", "m", "l")]
    assert sandbox.limits == [(OURS_S,) * 3, (5.0, FLOOR_S, 4.0, 16.0)]


def test_a_program_that_grows_faster_is_late_and_larger_sizes_are_not_tried():
    sandbox = Fake(theirs={"s": 0.3, "m": 4.8, "l": 77.0}, ours=dict(OURS))
    ran = execute(sandbox, asked(**SIZES))
    assert (kinds(ran), ran.cpu_s) == (["returned", "time limit", "time limit"], (0.3, 4.0, 0.0))
    assert sandbox.runs == [("ours", *"sml"), ("theirs", *"sml"), ("ours", "m", "l")]


def test_the_same_growth_with_a_large_constant_gets_a_longer_chance():
    sandbox = Fake(theirs={"s": 1.5, "m": 3.9, "l": 20.0}, ours=dict(OURS))
    ran = execute(sandbox, asked(**SIZES))
    assert (kinds(ran), ran.cpu_s) == (["returned"] * 3, (1.5, 3.9, 20.0))
    assert sandbox.runs[2:] == [("ours", "l"), ("theirs", "l")]
    assert sandbox.limits[-1] == (PATIENCE * 16.0,)


def test_the_longer_chance_ends_too():
    sandbox = Fake(theirs={"s": 1.5, "m": 3.9, "l": 64.0}, ours=dict(OURS))
    ran = execute(sandbox, asked(**SIZES))
    assert (kinds(ran), ran.cpu_s[2], len(sandbox.runs)) == (["returned", "returned", "time limit"], 64.0, 4)


def test_a_size_in_the_longer_chance_that_passes_lets_the_next_be_tried():
    ours = {"s": 0.1, "m": 0.4, "l": 1.6, "x": 6.4}
    sandbox = Fake(theirs={"s": 1.5, "m": 3.9, "l": 20.0, "x": 90.0}, ours=ours)
    ran = execute(sandbox, asked(**SIZES, x=64000))
    assert kinds(ran) == ["returned"] * 4
    assert sandbox.runs[-1] == ("theirs", "l", "x")
    assert sandbox.limits[-1] == (64.0, 256.0)


@pytest.mark.parametrize(("factor", "kind"), [(4**1.29, "returned"), (4**1.31, "time limit")])
def test_a_little_faster_growth_is_noise_and_more_is_not(factor, kind):
    sandbox = Fake(theirs={"s": 0.5, "m": 0.5 * factor, "l": 17.0}, ours=dict(OURS))
    assert kinds(execute(sandbox, asked(**SIZES)))[2] == kind


@pytest.mark.parametrize(("small_s", "kind"), [(0.005, "returned"), (0.0049, "time limit")])
def test_times_that_are_too_short_tell_no_growth(small_s, kind):
    sandbox = Fake(theirs={"s": small_s, "m": 0.02, "l": 17.0}, ours=dict(OURS))
    assert kinds(execute(sandbox, asked(**SIZES)))[2] == kind


def test_without_two_times_of_ours_there_is_nothing_to_compare_with():
    sandbox = Fake(theirs={"s": 0.5, "m": 1.0, "l": 3.0}, ours={"s": 0.001, "m": 0.004, "l": 0.016})
    assert kinds(execute(sandbox, asked(**SIZES)))[2] == "time limit"


def test_one_size_tells_no_growth():
    sandbox = Fake(theirs={"s": 0.5, "l": 17.0}, ours=dict(OURS))
    assert kinds(execute(sandbox, asked(s=1000, l=16000)))[1] == "time limit"


def test_only_the_two_largest_sizes_tell_the_growth():
    ours = {"t": 0.05, **OURS}
    sandbox = Fake(theirs={"t": 0.01, "s": 1.5, "m": 3.9, "l": 20.0}, ours=ours)
    assert kinds(execute(sandbox, asked(t=500, **SIZES)))[3] == "returned"


def test_the_slowest_call_of_a_size_tells_the_growth():
    ours = {"s": 0.1, "u": 0.1, "m": 0.4, "l": 1.6}
    for first, second in ((0.2, 1.0), (1.0, 0.2)):
        sandbox = Fake(theirs={"s": first, "u": second, "m": 3.9, "l": 20.0}, ours=dict(ours))
        program = Program(
            "theirs",
            "f",
            tuple(Call((name,), size=size) for name, size in (("s", 1000), ("u", 1000), ("m", 4000), ("l", 16000))),
            reference="ours",
        )
        assert kinds(execute(sandbox, program))[3] == "returned"


def test_a_wrong_size_in_time_tells_no_growth():
    sandbox = Fake(theirs={"s": Raised("KeyError"), "m": 3.9, "l": 20.0}, ours=dict(OURS))
    assert kinds(execute(sandbox, asked(**SIZES))) == ["KeyError", "returned", "time limit"]


def test_a_machine_that_became_slower_gives_the_same_limit_again():
    ours = {"s": 0.1, "m": 0.4, "l": [1.6, 2.1]}
    sandbox = Fake(theirs={"s": 0.1, "m": 2.0, "l": 20.0}, ours=ours)
    ran = execute(sandbox, asked(**SIZES))
    assert (kinds(ran), ran.reference_cpu_s) == (["returned"] * 3, (0.1, 0.4, 2.1))
    assert sandbox.runs[2:] == [("ours", "l"), ("theirs", "l")]
    assert sandbox.limits[-1] == (21.0,)


def test_a_machine_that_became_hardly_slower_gives_none():
    ours = {"s": 0.1, "m": 0.4, "l": [1.6, 2.0]}
    sandbox = Fake(theirs={"s": 0.1, "m": 2.0, "l": 17.0}, ours=ours)
    assert kinds(execute(sandbox, asked(**SIZES)))[2] == "time limit"
    assert len(sandbox.runs) == 3


@pytest.mark.parametrize(("again_s", "kind"), [(1.3, "time limit"), (1.31, "returned")])
def test_a_machine_has_become_slower_by_more_than_three_tenths_or_not_at_all(again_s, kind):
    sandbox = Fake(theirs={"l": 11.0}, ours={"l": [1.0, again_s]})
    assert kinds(execute(sandbox, asked(l=16000))) == [kind]


def test_a_late_size_brings_small_calls_no_harm_and_no_run_of_ours_on_them():
    sandbox = Fake(theirs={"a": 0.1, "l": 99.0}, ours={"l": 1.6})
    ran = execute(sandbox, asked("a", l=16000))
    assert (kinds(ran), ran.reference_cpu_s) == (["returned", "time limit"], (0.0, 1.6))


def test_small_calls_of_a_sized_case_follow_the_machine_too():
    sandbox = Fake(theirs={"a": 9.0, "s": 0.2}, ours={"a": 1.0, "s": 0.1})
    ran = execute(sandbox, asked("a", s=1000))
    assert (kinds(ran), ran.reference_cpu_s) == (["returned"] * 2, (1.0, 0.1))


@pytest.mark.slow
def test_the_real_sandbox_tells_a_square_from_a_line(sandbox):
    ours = "def f(values):\n    return sum(values)"
    square = "def f(values):\n    return sum(1 for a in values for b in values if a < 0)"
    calls = tuple(Call(([1] * size,), size=size) for size in (500, 2000, 16000))
    ran = execute(sandbox, Program(square, "f", calls, reference=ours))
    assert kinds(ran) == ["returned", "returned", "time limit"]
    assert all(0 < ours_s < 0.1 for ours_s in ran.reference_cpu_s)
