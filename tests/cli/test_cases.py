import json
from pathlib import Path

import msgspec
import pytest

from crucibleforge.cli._screen import table
from crucibleforge.suite.expand import drawn, revision, scored, suite
from crucibleforge.suite.lock import differences, rendered, stored
from crucibleforge.types import Case

KNOWN = ", ".join(sorted({case.category for case in suite()}))
FIRST = suite()[0]


def test_list_shows_every_case_but_the_reserve(crucible):
    ended = crucible("cases", "list")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()[2:]] == [case.id for case in scored(suite())]
    assert ended.err == f"{len(scored(suite()))} of {len(suite())} cases, suite {revision(suite())}\n"


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
        (["--categories", "math,coding"], lambda case: case.category in {"math", "coding"} and case.level != "reserve"),
        (
            ["--difficulty", "hard", "--categories", "math"],
            lambda case: (case.level, case.category) == ("hard", "math"),
        ),
        (["--cases", FIRST.family], lambda case: case.family == FIRST.family),
        (["--difficulty", "reserve"], lambda case: case.level == "reserve"),
        (["--profile", "quick"], lambda case: case.id.endswith(".1") and case.level != "reserve"),
        (["--cases", "*/L1.?"], lambda case: case.level == "easy"),
        (["--cases", FIRST.id, "--cases", suite()[-1].id], lambda case: case in (FIRST, suite()[-1])),
    ],
)
def test_list_shows_what_is_selected(crucible, words, meant):
    found = json.loads(crucible("cases", "list", "--json", *words).out)
    within = suite() if {"--cases", "--difficulty"} & {*words} else scored(suite())
    assert [one["id"] for one in found] == [case.id for case in within if meant(case)]


def test_a_profile_of_the_user_s_is_found_beside_the_configuration(crucible):
    Path("sub/profiles").mkdir(parents=True)
    Path("sub/models.yaml").write_text("")
    Path("sub/profiles/mine.yaml").write_text("cases: [math/mod-ladder]\n")
    ended = crucible("cases", "list", "--json", "--profile", "mine", "--difficulty", "easy", "--config", "sub/models.yaml")
    assert [one["id"] for one in json.loads(ended.out)] == ["math/mod-ladder/L1.1"]


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
            "error: unknown difficulty 'hart'\nhint: did you mean `hard`? known: easy, medium, hard, reserve\n",
        ),
        (["list", "--profile", "quik"], "error: unknown profile 'quik'\nhint: did you mean `quick`? known: quick\n"),
        (["list", "--cases", "zzz"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
        (["show", "zzz"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
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
    ended = crucible("cases", "show", f"{FIRST.id}1")
    assert ended.code == 2
    assert f"`{FIRST.id}`" in ended.err


@pytest.mark.slow
def test_checking_the_lock_draws_anew_and_writes_nothing(crucible):
    before, cases = stored(), drawn()
    changes = differences(before, rendered(cases))
    ended = crucible("cases", "lock", "--check")
    assert (ended.code, ended.out) == (1 if changes else 0, "".join(f"{line}\n" for line in changes))
    assert ended.err == f"{len(changes)} differences, suite {revision(cases)}\n"
    assert stored() == before
