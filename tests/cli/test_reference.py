import json

import pytest

from crucibleforge.cli._reference import _solve, _solved
from crucibleforge.errors import CrucibleError, SandboxMissing, Stopped
from crucibleforge.programs import Ran
from crucibleforge.suite.expand import suite

CODE = [case for case in suite() if case.family == "coding/upset-cost"]


@pytest.mark.slow
def test_our_own_programs_are_run_on_canonical_and_hidden_inputs(crucible):
    ended = crucible("cases", "run-reference", "--families", CODE[0].family)
    assert ended.code == 0
    *lines, last = ended.out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [case.id for case in CODE]
    inputs = [int(line.split(", ")[1].removesuffix(" inputs")) for line in lines]
    assert all(count > len(case.expected) for count, case in zip(inputs, CODE, strict=True))
    assert last.startswith(f"{len(CODE)} programs of ours run, 0 failed, ")
    assert ended.err.startswith("hidden inputs are from seed ")


@pytest.mark.slow
def test_as_json_it_holds_every_case(crucible):
    ended = crucible("cases", "run-reference", "--families", CODE[0].family, "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["failed"]) == (0, 0)
    meant = [case.id for case in CODE if case.family == CODE[0].family]
    assert [(one["case"], one["outcome"]) for one in found["cases"]] == [(name, "pass") for name in meant]


@pytest.mark.parametrize(
    ("family", "err"),
    [
        ("zzz", "error: unknown family 'zzz'\nhint: `crucibleforge cases list`\n"),
        ("math/mod-ladder", "error: no case of math/mod-ladder is marked by running\nhint: `crucibleforge cases list`\n"),
    ],
)
def test_what_has_no_program_of_ours_is_one_line_and_a_hint(crucible, family, err):
    ended = crucible("cases", "run-reference", "--families", family)
    assert (ended.code, ended.out, ended.err) == (2, "", err)


def raising(error):
    def run(_program):
        raise error

    return run


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda _: Ran((), "nowhere", broken="no such function"), "no such function"),
        (raising(CrucibleError("our own solution of 'f' failed: it is late")), "our own solution of 'f' failed: it is late"),
    ],
)
def test_a_program_of_ours_that_fails_is_told_with_its_reason_and_ends_nothing(run, why):
    assert _solved(_solve(CODE[0], run, "ab")) == f"{CODE[0].id}: fail, {why}"


@pytest.mark.parametrize("error", [SandboxMissing("no sandbox"), Stopped("stopped")])
def test_what_is_no_fault_of_our_program_ends_the_command(error):
    with pytest.raises(type(error)):
        _solve(CODE[0], raising(error), "ab")
