import json
from pathlib import Path

import endpoint
import made
import msgspec
import oracle
import pytest

from crucibleforge.cli.grade import _is_news
from crucibleforge.store.folder import all_runs
from crucibleforge.store.log import opened
from crucibleforge.suite.expand import scored, suite
from crucibleforge.suite.hidden import with_hidden
from crucibleforge.types import Element, Verdict

FAMILY = "math/mod-ladder"
COUNT = sum(case.family == FAMILY for case in suite())
MANY = [case.id for case in scored(suite()) if case.smoke or (case.rung == "L3" and case.category != "coding")]
"""Right and wrong answers for every grader; programs with large inputs are left out, as they take seconds each."""


@pytest.fixture
def ran(crucible, configure):
    """A finished run with some right and some wrong answers; its server is gone."""

    def make(*cases):
        with endpoint.serving(oracle.answers(lambda case: case.level == "hard")) as server:
            configure(server.url)
            assert crucible("run", *(("--cases", ",".join(cases)) if cases else ())).code == 0
        return the_run()

    return make


def the_run():
    (run,) = all_runs(Path("results"))
    return run


def log(run):
    return (run.folder / "log.jsonl").read_bytes()


def unmarked(data):
    return b"".join(line for line in data.splitlines(keepends=True) if b'"type":"verdict"' not in line)


@pytest.mark.slow
def test_marking_a_run_again_changes_no_byte(crucible, ran):
    run = ran(*MANY)
    before = log(run)
    for _ in range(2):
        ended = crucible("grade")
        assert (ended.code, ended.out) == (0, "")
        assert ended.err == f"{run.folder.name}: {len(MANY)} rows marked again, 0 verdicts changed\n"
        assert log(run) == before


@pytest.mark.slow
def test_marking_stored_replies_gives_the_verdicts_that_the_run_gave_byte_for_byte(crucible, ran):
    run = ran(*MANY)
    given = sorted(line for line in log(run).splitlines() if b'"type":"verdict"' in line)
    (run.folder / "log.jsonl").write_bytes(unmarked(log(run)))
    assert crucible("grade").code == 0
    assert sorted(line for line in log(run).splitlines() if b'"type":"verdict"' in line) == given


def test_a_verdict_that_changes_is_added_and_the_log_keeps_both(crucible, ran):
    run = ran(FAMILY)
    verdict = next(event for event in run.events()[0] if isinstance(event, Verdict) and event.outcome == "pass")
    other = msgspec.structs.replace(verdict, outcome="fail", score=0.0, why="an older grader thought so")
    with opened(run.folder) as file:
        file.append(other)
    ended = crucible("grade", "--json")
    assert ended.code == 0
    changed = [f"fake {verdict.job.case_id}: fail -> pass"]
    assert json.loads(ended.out) == [{"run": run.folder.name, "marked": COUNT, "changed": changed}]
    assert ended.err == f"{run.folder.name}: {COUNT} rows marked again, 1 verdicts changed\n  {changed[0]}\n"
    about = [event for event in run.events()[0] if isinstance(event, Verdict) and event.job == verdict.job]
    assert about == [verdict, other, verdict]


@pytest.mark.parametrize(
    ("isolation", "fields", "is_news"),
    [
        ("bwrap", {}, False),
        ("bwrap", {"why": "ours took 2 s", "elements": (Element("f(1)", passed=False, why="ours took 2 s"),)}, False),
        ("bwrap", {"elements": (Element("f(1)", passed=True),)}, True),
        ("bwrap", {"elements": (Element("f(2)", passed=False, why="late"),)}, True),
        ("bwrap", {"score": 0.5}, True),
        ("bwrap", {"isolation": "none"}, False),
        ("bwrap", {"grader": "program@9"}, True),
        ("bwrap", {"seed": "ab"}, True),
        ("", {"why": "expected 43"}, True),
    ],
)
def test_other_times_of_a_program_and_where_it_ran_are_no_news(isolation, fields, is_news):
    case = made.case()
    before = made.verdict(case, "fail", why="late", isolation=isolation, elements=(Element("f(1)", passed=False, why="late"),))
    assert _is_news(msgspec.structs.replace(before, **fields), before) is is_news


def test_a_row_without_a_verdict_gets_one(crucible, ran):
    run = ran(FAMILY)
    (run.folder / "log.jsonl").write_bytes(unmarked(log(run)))
    ended = crucible("grade", str(run.folder))
    assert ended.err.splitlines()[0] == f"{run.folder.name}: {COUNT} rows marked again, {COUNT} verdicts changed"
    assert any(line.endswith(": unmarked -> pass") for line in ended.err.splitlines())
    assert all(row.is_settled for row in run.rows())


def test_a_row_without_a_reply_is_left_alone(crucible, configure):
    with endpoint.serving(lambda _: endpoint.status(400, {"error": {"message": "no"}})) as server:
        configure(server.url)
        assert crucible("run", "--cases", FAMILY).code == 1
    before = log(the_run())
    assert crucible("grade").err == f"{the_run().folder.name}: 0 rows marked again, 0 verdicts changed\n"
    assert log(the_run()) == before


def test_a_question_that_the_suite_no_longer_asks_is_marked_as_it_was_stored(crucible, ran):
    run = ran(FAMILY)
    path = run.folder / "cases.jsonl"
    before = log(run)
    path.write_text(path.read_text().replace('"hash":"', '"hash":"0'))
    assert crucible("grade").code == 0
    assert log(run) == before


def test_a_run_can_be_marked_wherever_it_lies(crucible, ran, tmp_path):
    run = ran(FAMILY)
    away = tmp_path / "mail" / "run"
    away.parent.mkdir()
    run.folder.rename(away)
    ended = crucible("grade", str(away), "--results", "untouched")
    assert (ended.code, ended.err) == (0, f"run: {COUNT} rows marked again, 0 verdicts changed\n")
    assert not Path("untouched").exists()


@pytest.mark.parametrize(
    ("words", "err"),
    [
        ([], "error: no runs in results\nhint: `crucibleforge run` makes one\n"),
        (["."], "error: . is no run folder\nhint: a run folder holds plan.json, cases.jsonl, log.jsonl\n"),
        (["none"], "error: none is no run folder\nhint: a run folder holds plan.json, cases.jsonl, log.jsonl\n"),
        (
            ["--config", "none.yaml"],
            "error: no such file: none.yaml\nhint: `crucibleforge config --init` writes a starter\n",
        ),
    ],
)
def test_what_is_not_there_is_one_line_and_a_hint(crucible, words, err):
    ended = crucible("grade", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", err)
    assert not Path("results").exists()


@pytest.mark.parametrize("file", ["plan.json", "cases.jsonl"])
@pytest.mark.parametrize("damage", ["{", "", '{"v":"1"}\n'])
def test_a_damaged_run_is_one_line_and_a_hint(crucible, ran, file, damage):
    run = ran(FAMILY)
    (run.folder / file).write_text(damage)
    ended = crucible("grade")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {run.folder}: ")
    assert len(ended.err.splitlines()) == 2


@pytest.mark.slow
def test_all_models_and_repeats_of_a_run_get_the_hidden_inputs_of_its_seed(crucible, configure):
    case = next(case for case in suite() if case.family == "coding/upset-cost")
    with endpoint.serving(oracle.answers()) as server:
        configure(server.url, "one", "two")
        assert crucible("run", "--models", "all", "--cases", case.id, "--repeats", "2").code == 0
    rows = the_run().rows()
    assert {(row.verdict.seed, row.verdict.outcome) for row in rows} == {(the_run().plan.seed, "pass")}
    assert len({tuple(element.name for element in row.verdict.elements) for row in rows}) == 1
    assert len(rows[0].verdict.elements) == len(with_hidden(case, the_run().plan.seed).expected) > len(case.expected)


def test_a_run_that_goes_on_keeps_its_seed(crucible, configure):
    with endpoint.serving(lambda _: endpoint.status(400, {"error": {"message": "no"}})) as server:
        configure(server.url)
        assert crucible("run", "--cases", FAMILY).code == 1
        seed = the_run().plan.seed
        assert crucible("run", "--cases", FAMILY).code == 1
    assert the_run().plan.seed == seed != ""


def test_the_server_is_never_asked(crucible, ran):
    run = ran(FAMILY)
    with endpoint.serving(lambda _: ()) as server:
        Path("models.yaml").write_text(f"providers: {{p: {{base_url: '{server.url}'}}}}\n")
        assert crucible("grade").code == 0
        assert crucible("report").code == 0
        assert server.connections == 0
    assert run.rows()
