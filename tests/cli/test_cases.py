import json

import msgspec
import pytest

from crucibleforge.cli._screen import table
from crucibleforge.cli.cases import _solve, _solved
from crucibleforge.errors import CrucibleError, SandboxMissing, Stopped
from crucibleforge.programs import Ran
from crucibleforge.suite.expand import revision, suite
from crucibleforge.suite.lock import differences, rendered, stored
from crucibleforge.types import Case

KNOWN = ", ".join(sorted({case.category for case in suite()}))
FIRST = suite()[0]


def test_list_shows_every_case(crucible):
    ended = crucible("cases", "list")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()[2:]] == [case.id for case in suite()]
    assert ended.err == f"{len(suite())} of {len(suite())} cases, suite {revision(suite())}\n"


def test_list_shows_grader_budget_and_needs(crucible):
    case = next(case for case in suite() if case.needs.sandbox)
    ended = crucible("cases", "list", "--cases", case.id)
    needs = f"{case.needs.context_tokens:,} tokens of context, sandbox"
    row = [case.id, case.grading.grader, str(case.dialogue.max_tokens), needs]
    assert ended.out == table(["case", "grader", "max tokens", "needs"], [row]) + "\n"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--smoke"], lambda case: case.smoke),
        (["--categories", "math,coding"], lambda case: case.category in {"math", "coding"}),
        (
            ["--difficulty", "hard", "--categories", "math"],
            lambda case: (case.level, case.category) == ("hard", "math"),
        ),
        (["--cases", FIRST.family], lambda case: case.family == FIRST.family),
        (["--cases", "*/easy.?"], lambda case: case.level == "easy"),
        (["--cases", FIRST.id, "--cases", suite()[-1].id], lambda case: case in (FIRST, suite()[-1])),
    ],
)
def test_list_shows_what_is_selected(crucible, words, meant):
    found = json.loads(crucible("cases", "list", "--json", *words).out)
    assert [one["id"] for one in found] == [case.id for case in suite() if meant(case)]


def test_list_as_json_holds_hash_grader_and_needs(crucible):
    ended = crucible("cases", "list", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)[0] == {
        "id": FIRST.id,
        "hash": FIRST.hash,
        "grader": FIRST.grading.grader,
        "needs": msgspec.to_builtins(FIRST.needs),
        "smoke": FIRST.smoke,
    }


def test_show_as_json_is_the_whole_case(crucible):
    for case in suite()[:: len(suite()) // 5]:
        assert msgspec.convert(json.loads(crucible("cases", "show", case.id, "--json").out), Case) == case


@pytest.mark.parametrize(
    "case", [suite()[0], next(case for case in suite() if case.dialogue.answers)], ids=lambda case: case.id
)
def test_show_tells_what_is_asked_expected_and_how_it_is_marked(crucible, case):
    ended = crucible("cases", "show", case.id)
    assert (ended.code, ended.err) == (0, "")
    parts = [f"{case.id}  hash {case.hash}  ", "\n[expected]\n", f"\n[grader] {case.grading.grader} "]
    parts += [f"\n[{message.role}]\n{message.content}\n" for message in case.dialogue.messages]
    parts += [f"\n[tool] {tool.name}: {tool.description}\n" for tool in case.dialogue.tools]
    parts += [f"\n[answer to {answer.name}(" for answer in case.dialogue.answers]
    assert [part for part in parts if part not in ended.out] == []


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (
            ["list", "--categories", "maths"],
            f"error: unknown category 'maths'\nhint: did you mean `math`? known: {KNOWN}\n",
        ),
        (
            ["list", "--difficulty", "hart"],
            "error: unknown difficulty 'hart'\nhint: did you mean `hard`? known: easy, medium, hard\n",
        ),
        (["list", "--cases", "zzz"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
        (["show", "zzz"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
        (["verify", "--families", "zzz"], "error: unknown family 'zzz'\nhint: `crucibleforge cases list`\n"),
        (["run-reference", "--families", "zzz"], "error: unknown family 'zzz'\nhint: `crucibleforge cases list`\n"),
        (
            ["run-reference", "--families", "math/stamped-tickets"],
            "error: no case of math/stamped-tickets is marked by running\nhint: `crucibleforge cases list`\n",
        ),
        (
            ["list", "--categories", "math", "--cases", "coding/*"],
            "error: no case fits all of the filters\nhint: `crucibleforge cases list` shows what there is\n",
        ),
    ],
)
def test_what_does_not_exist_is_one_line_and_a_hint(crucible, words, err):
    ended = crucible("cases", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", err)


def test_an_unknown_case_offers_its_neighbour(crucible):
    ended = crucible("cases", "show", FIRST.id.replace("/easy", "/eazy"))
    assert ended.code == 2
    assert f"`{FIRST.id}`" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_verify_tells_what_it_checked(crucible, words):
    ended = crucible("cases", "verify", "--families", "math/stamped-tickets", *words)
    found = sum(case.family == "math/stamped-tickets" for case in suite())
    changed = [line for line in differences(stored(), rendered(suite())) if line.startswith("math/stamped-tickets/")]
    assert ended.code == (1 if changed else 0)
    assert ended.err == f"[1/1] math/stamped-tickets: {'PROBLEMS' if changed else 'ok'}\n"
    if words:
        checked = {"family": "math/stamped-tickets", "cases": found, "problems": changed}
        assert json.loads(ended.out) == {"families": [checked], "problems": len(changed)}
    else:
        assert (
            ended.out == "".join(f"{line}\n" for line in changed) + f"{found} cases checked, {len(changed)} problems\n"
        )


CODE = [case for case in suite() if case.needs.sandbox]


@pytest.mark.slow
def test_our_own_programs_are_run_on_canonical_and_hidden_inputs(crucible):
    meant = [case for case in CODE if case.family == CODE[0].family]
    ended = crucible("cases", "run-reference", "--families", CODE[0].family)
    assert ended.code == 0
    *lines, last = ended.out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [case.id for case in meant]
    inputs = [int(line.split(", ")[1].removesuffix(" inputs")) for line in lines]
    assert all(count > len(case.expected) for count, case in zip(inputs, meant, strict=True))
    assert last.startswith(f"{len(meant)} programs of ours run, 0 failed, ")
    assert ended.err.startswith("hidden inputs are from seed ")


@pytest.mark.slow
def test_run_reference_as_json_holds_every_case(crucible):
    ended = crucible("cases", "run-reference", "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["failed"]) == (0, 0)
    assert [(one["case"], one["outcome"]) for one in found["cases"]] == [(case.id, "pass") for case in CODE]


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


def test_checking_the_lock_writes_nothing(crucible):
    before = stored()
    changes = differences(before, rendered(suite()))
    ended = crucible("cases", "lock", "--check")
    assert (ended.code, ended.out) == (1 if changes else 0, "".join(f"{line}\n" for line in changes))
    assert ended.err == f"{len(changes)} differences, suite {revision(suite())}\n"
    assert stored() == before
