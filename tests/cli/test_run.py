import json
import shutil
from pathlib import Path

import endpoint
import msgspec
import oracle
import pytest

from crucibleforge.run.order import length
from crucibleforge.suite.expand import revision, suite

FAMILY = "math/mod-ladder"
CASES = [case for case in suite() if case.family == FAMILY]


def test_run_tells_each_row_on_stderr_and_nothing_on_stdout(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("run", "--cases", FAMILY)
    ordered = sorted(CASES, key=length, reverse=True)  # the longest expected is asked first
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.splitlines() == [
        "[fake] fake on openai",
        *(f"[fake] {place}/{len(CASES)} {case.id}: pass" for place, case in enumerate(ordered, start=1)),
        f"{len(CASES)} of {len(CASES)} rows passed; `crucibleforge report` builds the board",
    ]


def test_run_writes_a_run_and_no_report(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FAMILY)
    (run,) = Path("results/runs").iterdir()
    assert sorted(path.name for path in run.iterdir()) == [".lock", "cases.jsonl", "log.jsonl", "plan.json"]
    assert sorted(path.name for path in Path("results").iterdir()) == [".lock", "runs"]


def test_run_as_json_says_how_it_ended(crucible, configure):
    with endpoint.serving(oracle.answers(lambda case: case.level == "hard")) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FAMILY, "--json")
    (run,) = Path("results/runs").iterdir()
    right = sum(case.level != "hard" for case in CASES)
    assert ended.code == 0
    assert json.loads(ended.out) == {
        "run": str(run),
        "rows": len(CASES),
        "settled": len(CASES),
        "passed": right,
        "unfinished": {},
    }


def test_a_wrong_answer_is_no_error_of_the_run(crucible, configure):
    with endpoint.serving(oracle.answers(lambda _: True)) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FAMILY)
    assert ended.code == 0
    assert ended.err.splitlines()[-1].startswith(f"0 of {len(CASES)} rows passed")


@pytest.mark.parametrize("option", ["--smoke", "--plan", "--fresh", "--yes"])
def test_a_word_after_models_is_not_taken_for_a_flag(crucible, option):
    ended = crucible("run", "--models", "builtin", option, "stray")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: Got unexpected extra argument (stray)\nhint: `crucibleforge run --help`\n"


def test_a_plan_tells_rows_tokens_time_and_cost_and_calls_nothing(crucible, configure, oracle_endpoint):
    price = "  - {name: paid, provider: p, model_id: m, price: {input: 1, output: 10}}\n"
    configure(oracle_endpoint.url, more=price)
    ended = crucible("run", "--plan", "--cases", FAMILY, "--repeats", "2")
    assert ended.code == 0
    assert ended.err == "plan only: nothing was called; every reply is taken to use its whole budget\n"
    lines = ended.out.splitlines()
    assert lines[0] == f"suite {revision(suite())}: {len(CASES)} of {len(suite())} cases, 2 repeat(s)"
    assert lines[1].split() == ["model", "rows", "prompt", "tokens", "reply", "tokens", "time", "cost", "at"]
    most = 2 * sum(case.dialogue.max_tokens * case.dialogue.max_rounds for case in suite() if case.family == FAMILY)
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[3:]]
    assert [row[:2] + row[3:4] for row in cells] == [
        [label, str(2 * len(CASES)), f"<={most:,}"] for label in ("fake", "paid")
    ]
    assert cells[0][5] == "no price"
    assert cells[1][5].startswith("<=$0.")
    assert cells[0][6] == "30 tok/s assumed"
    assert (oracle_endpoint.connections, Path("results").exists()) == (0, False)


def test_a_plan_as_json_holds_the_same(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("all", "--plan", "--cases", FAMILY, "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert (found["revision"], found["cases"]) == (
        revision(suite()),
        [case.id for case in suite() if case.family == FAMILY],
    )
    (target,) = found["targets"]
    assert (target["label"], target["rows"], target["is_measured"], target["cost_usd"]) == (
        "fake",
        len(CASES),
        False,
        None,
    )
    assert min(target["prompt_tokens"], target["completion_tokens"], target["minutes"]) > 0
    assert (oracle_endpoint.connections, Path("results").exists()) == (0, False)


def test_a_plan_for_replies_from_a_file_shows_no_time(crucible):
    Path("there.jsonl").write_text("")
    words = ("run", "--plan", "--cases", FAMILY, "--models", "replies:there.jsonl")
    cells = [cell.strip() for cell in crucible(*words).out.splitlines()[3].split("  ") if cell.strip()]
    assert (cells[0], cells[4:]) == ("there", ["none", "no price", "read from a file"])
    assert json.loads(crucible(*words, "--json").out)["targets"][0]["minutes"] is None


def test_a_plan_for_the_builtin_model_fetches_nothing(crucible, monkeypatch, tmp_path):
    monkeypatch.setenv("CRUCIBLEFORGE_CACHE", str(tmp_path / "cache"))
    assert crucible("run", "--plan").code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_plan_takes_the_speed_of_an_earlier_run(crucible, configure):
    def timed(_request):
        return endpoint.stream(
            endpoint.chat([{"content": f"{n} "} for n in range(20)], "stop", 20, "fake"), delay_s=0.001
        )

    with endpoint.serving(timed) as server:
        configure(server.url)
        crucible("run", "--cases", FAMILY)
        (target,) = json.loads(crucible("run", "--plan", "--json").out)["targets"]
    assert target["is_measured"]
    assert target["tok_per_s"] > 30


def test_a_model_that_is_down_keeps_no_other_from_being_finished(crucible, configure, oracle_endpoint, refusing_url):
    more = "  - {name: dead, provider: down, model_id: m}\n  - {name: last, provider: p, model_id: fake}\n"
    configure(oracle_endpoint.url, more=more, provider=f"  down: {{base_url: '{refusing_url}'}}\n")
    ended = crucible("run", "--cases", FAMILY, "--json")
    assert ended.code == 1
    done = json.loads(ended.out)
    reason = done["unfinished"]["dead"].replace("connect call failed", "connection refused")
    assert reason == f"no server at {refusing_url} (connection refused)"
    assert (done["rows"], done["settled"], done["passed"]) == (3 * len(CASES), 2 * len(CASES), 2 * len(CASES))
    assert f"[dead] not finished: no server at {refusing_url} (connection refused)" in ended.err.splitlines()
    assert f"{len(CASES)} of {3 * len(CASES)} rows are still owed; `" in ended.err


def test_where_every_model_is_down_nothing_is_written(crucible, configure, refusing_url):
    configure(refusing_url, "one", "two")
    ended = crucible("run", "--cases", FAMILY)
    reason = f"no server at {refusing_url} (connection refused)"
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: no model can be asked: [one] {reason}; [two] {reason}\n"
        "hint: `crucibleforge status` shows every provider\n"
    )
    assert list(Path("results/runs").iterdir()) == []


def test_a_folder_can_be_carried_away_and_goes_on_elsewhere(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FAMILY)
    shutil.move("results", "moved")
    ended = crucible("run", "--cases", FAMILY, "--results", "moved")
    assert "nothing is owed" in ended.err
    assert len(oracle_endpoint.requests) == len(CASES)


def test_the_plan_of_a_run_names_no_secret(crucible, configure, oracle_endpoint, monkeypatch):
    monkeypatch.setenv("CANARY_KEY", "sk-canary")
    configure(oracle_endpoint.url + "\n    api_key_env: CANARY_KEY\n    headers: {X-Api-Key: '${CANARY_KEY}'}")
    crucible("run", "--cases", FAMILY)
    assert any("X-Api-Key: sk-canary" in head and "Bearer sk-canary" in head for head in oracle_endpoint.headers)
    (run,) = Path("results/runs").iterdir()
    text = (run / "plan.json").read_text()
    assert "sk-canary" not in text
    assert msgspec.json.decode(text)["targets"][0]["headers"] == {"X-Api-Key": "${CANARY_KEY}"}
