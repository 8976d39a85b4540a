import pytest

from crucibleforge import plugins
from crucibleforge.families._contract import Examined
from crucibleforge.programs import Ran
from crucibleforge.suite.lock import stored
from crucibleforge.suite.verify import checked, grouped, lines, orphans, state, summary

CHEAP, OTHER = "math/mod-ladder", "math/absorbing-die"


def never(program):
    raise AssertionError(f"a program ran: {program}")


@pytest.mark.slow
def test_a_family_is_checked_against_its_laws_and_its_lock():
    found = checked(CHEAP, never, elsewhere=lines)
    assert (found.family, found.cases, found.problems) == (CHEAP, len(lines(CHEAP).splitlines()), ())
    assert found.derived > 0


@pytest.mark.slow
def test_a_case_that_another_process_draws_otherwise_is_named():
    def elsewhere(name):
        first, *rest = lines(name).splitlines()
        return "\n".join([first.replace(first.split()[1], "0" * 16), *rest])

    assert checked(CHEAP, never, elsewhere=elsewhere).problems == (
        f"{CHEAP}/L1.1: another process draws another case (an unseeded draw, the order of a set, hash())",
    )


@pytest.mark.slow
def test_a_sandbox_that_runs_nothing_right_is_noticed():
    problems = checked("coding/upset-cost", lambda _program: Ran((), "test", "broken on purpose")).problems
    assert any("the reference does not pass" in problem for problem in problems)


def test_the_lines_of_all_families_are_the_lock():
    assert [line for line in stored().splitlines() if line.startswith(f"{CHEAP}/")] == lines(CHEAP).splitlines()


def test_no_locked_case_is_without_its_family():
    assert orphans() == Examined("lock", 0, ())


def test_the_state_of_a_family_is_its_own_and_stays():
    assert state(CHEAP) == state(CHEAP) != state(OTHER)
    assert len({state(name) for name in plugins.names("families")}) == len(plugins.names("families"))


def test_the_summary_is_one_line_of_what_was_done():
    found = [Examined("a/b", 7, (), 3, 100, 20, 4), Examined("c/d", 5, (), 1, 10, 2, 0)]
    assert summary(found) == (
        "12 cases checked, 0 with problems (4 reference solutions run, 110 answers derived again, "
        "22 wrong programs refused, 4 slow programs timed out)"
    )


def test_a_case_with_several_problems_counts_once():
    found = [Examined("a/b", 7, ("a/b/L1.1: one", "a/b/L1.1: two", "a/b/L2.1: one"))]
    assert summary(found).startswith("7 cases checked, 2 with problems (")


def test_one_fault_at_many_places_is_one_line():
    problems = ["a/b/L1.1: not in the lock", "a/b: slow", "a/b/L2.1: not in the lock", "a/b/L3.1: not in the lock"]
    assert grouped(problems) == ["a/b/L1.1: not in the lock (and at 2 more places)", "a/b: slow"]
