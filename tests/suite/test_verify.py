import pytest

from crucibleforge import plugins
from crucibleforge.cli._sandboxed import executor
from crucibleforge.programs import Ran
from crucibleforge.suite.expand import suite
from crucibleforge.suite.verify import orphans, verify


def test_one_family_is_checked_against_contract_and_lock(sandbox):
    name = "math/" + next(n for n in plugins.names("families") if n.startswith("math/")).split("/")[1]
    checked = list(verify([name], executor(sandbox)))
    assert [(one.family, one.cases, one.problems) for one in checked] == [
        (name, sum(case.family == name for case in suite()), ())
    ]


@pytest.mark.slow
def test_a_sandbox_that_runs_nothing_right_is_noticed():
    name = next(n for n in plugins.names("families") if n.startswith("coding/"))
    checked = next(verify([name], lambda _program: Ran((), "test", "broken on purpose")))
    assert checked.problems


def test_no_locked_case_is_without_its_family():
    assert orphans() == []
