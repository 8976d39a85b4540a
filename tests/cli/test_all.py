import json
import os
import pty
import re
from pathlib import Path

import endpoint
import oracle
import pytest

from crucibleforge.suite.expand import revision, scored, suite

SMOKE = [case for case in suite() if case.smoke]
TOTAL = len(scored(suite()))
FAMILY = "math/mod-ladder"
COUNT = sum(case.family == FAMILY for case in suite())
CANARY = "sk-canary-0123456789abcdef"
PASTED = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\nANSWER: <img src=x onerror=alert(1)> [click](http://evil.invalid) | `x` *y*"


def cells(line):
    return [cell.strip() for cell in re.split(r"\s{2,}", line)]


def written():
    return {path: path.read_bytes() for path in Path("results").rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_model_that_knows_every_answer_gets_100_and_a_rank(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("all")
    assert ended.code == 0
    (card,) = json.loads(Path("results/report.json").read_text())["cards"]
    assert card["failures"] == []
    assert card["overall"]["percent"] == 100
    assert (card["settled"], card["planned"], card["errors"], card["skipped"]) == (TOTAL, TOTAL, 0, 0)
    assert all(score["rate"]["passed"] == score["rate"]["total"] > 0 for score in card["categories"])
    header, _, row = ended.out.splitlines()
    assert cells(header) == ["#", "Model", "Overall", "Coding", "When answered", "Lost", "tok/s", "Suite", "Notes"]
    assert cells(row)[:2] == ["1", "fake"]
    assert re.fullmatch(r"100\.0 \([\d.]+ to 100\.0\)", cells(row)[2])
    assert revision(suite()) in row
    assert "partial" not in ended.out + Path("results/report.md").read_text()


def test_a_partial_run_has_neither_and_says_so(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("all", "--smoke")
    assert ended.code == 0
    row = ended.out.splitlines()[-1]
    assert cells(row)[:3] == ["-", "fake", "-"]
    note = f"partial ({len(SMOKE)}/{TOTAL} cases)"
    assert note in row
    assert note in Path("results/report.md").read_text()
    (card,) = json.loads(Path("results/report.json").read_text())["cards"]
    assert card["overall"] is None


def test_parts_that_cover_the_suite_make_a_total_together(crucible, configure):
    with endpoint.serving(oracle.answers(lambda case: case.category == "coding")) as no_coder:
        configure(no_coder.url)
        crucible("all", "--difficulty", "easy,medium")
        ended = crucible("all", "--difficulty", "hard", "--json")
    (card,) = json.loads(ended.out)["cards"]
    rates = {category["name"]: category["rate"] for category in card["categories"]}
    assert card["settled"] == sum(rate["total"] for rate in rates.values()) == TOTAL
    assert [name for name, rate in rates.items() if rate["passed"] < rate["total"]] == ["coding"]
    assert 70 < card["overall"]["percent"] < 100


def test_all_as_json_is_the_board_and_nothing_else(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("all", "--cases", FAMILY, "--json")
    board = json.loads(ended.out)
    assert board == json.loads(Path("results/report.json").read_text())
    assert (board["revision"], board["cards"][0]["label"]) == (revision(suite()), "fake")


def test_all_says_where_the_report_is(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("all", "--cases", FAMILY)
    assert ended.err.splitlines()[-1] == (
        "wrote results/report.md and results/report.json: categories with intervals, every failure with its reason"
    )


def test_the_same_command_again_only_builds_the_board(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    first = crucible("all", "--cases", FAMILY)
    again = crucible("all", "--cases", FAMILY)
    assert (again.code, again.out) == (0, first.out)
    assert len(oracle_endpoint.requests) == COUNT


def test_a_model_that_is_down_is_not_on_the_board_and_the_exit_says_so(crucible, configure, oracle_endpoint):
    more = "  - {name: dead, provider: down, model_id: m}\n"
    configure(oracle_endpoint.url, more=more, provider="  down: {base_url: 'http://127.0.0.1:1/v1'}\n")
    ended = crucible("all", "--cases", FAMILY)
    assert ended.code == 1
    assert [cells(line)[1] for line in ended.out.splitlines()[2:]] == ["fake"]
    assert "[dead] not finished: no server at http://127.0.0.1:1/v1 (connection refused)" in ended.err.splitlines()


@pytest.mark.slow
def test_the_better_model_comes_first(crucible, configure):
    no_coder = oracle.answers(lambda case: case.category == "coding")
    with endpoint.serving(no_coder) as better, endpoint.serving(lambda _: endpoint.text("I do not know.")) as worse:
        provider = f"  q: {{base_url: '{worse.url}'}}\n"
        configure(better.url, "zzz", provider=provider, more="  - {name: aaa, provider: q, model_id: fake}\n")
        ended = crucible("all")
    assert [cells(line)[:2] for line in ended.out.splitlines()[2:]] == [["1", "zzz"], ["2", "aaa"]]


def test_what_a_model_writes_reaches_neither_terminal_nor_report_raw(crucible, configure):
    def pasted(_request):
        return endpoint.stream(endpoint.chat([{"content": PASTED}], "stop", 9, PASTED))

    with endpoint.serving(pasted, lambda: endpoint.listing(PASTED, owned_by=PASTED)) as server:
        configure(server.url)
        ended = crucible("all", "--smoke")
        again = crucible("report", "--json")
    report = Path("results/report.md").read_text()
    assert "http://evil.invalid" in report  # it is there, and harmless
    for shown in (ended.out, ended.err, again.out, report):
        assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert "<img" not in report
    assert re.search(r"(?<!\\)\[click", report) is None


def test_a_backslash_before_a_mark_does_not_free_it(crucible, configure):
    link = "ANSWER: \\[click](http://evil.invalid)"
    with endpoint.serving(lambda _: endpoint.stream(endpoint.chat([{"content": link}], "stop", 9, "m"))) as server:
        configure(server.url)
        crucible("all", "--smoke")
    lines = [line for line in Path("results/report.md").read_text().splitlines() if "click" in line]
    assert lines
    assert [line for line in lines if len(re.search(r"(\\*)\[click", line)[1]) % 2 == 0] == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda: endpoint.status(400, {"error": {"message": f"bad key {CANARY}"}}),
        lambda: endpoint.status(401, f"denied: Bearer {CANARY}".encode()),
        lambda: endpoint.stream([{"error": {"message": f"key {CANARY}", "code": 400}}]),
        lambda: endpoint.status(200, b"x", Content_Type=f"text/{CANARY}"),
        lambda: endpoint.status(400, {"error": {"message": "x" * (300 - len(CANARY) // 2) + CANARY}}),
    ],
    ids=["in an error", "in a refusal", "within a stream", "in a header", "across the cut of a long message"],
)
def test_a_key_that_a_server_repeats_is_written_nowhere(crucible, configure, monkeypatch, broken):
    monkeypatch.setenv("CANARY_KEY", CANARY)
    with endpoint.serving(lambda _: broken()) as server:
        configure(server.url + "\n    api_key_env: CANARY_KEY")
        ended = crucible("all", "--cases", FAMILY, "-vv")
    assert any(CANARY in head for head in server.headers)
    assert ended.code == 1
    part = CANARY[: len(CANARY) // 2 - 1]
    assert part not in ended.out + ended.err
    assert [path for path, data in written().items() if part.encode() in data] == []


def test_a_key_in_a_header_that_a_server_repeats_is_written_nowhere(crucible, configure, monkeypatch):
    monkeypatch.setenv("CANARY_KEY", CANARY)
    with endpoint.serving(lambda _: endpoint.status(400, {"error": {"message": f"bad key {CANARY}"}})) as server:
        configure(server.url + "\n    headers: {X-Api-Key: '${CANARY_KEY}'}")
        ended = crucible("all", "--cases", FAMILY)
    assert any(CANARY in head for head in server.headers)
    assert CANARY not in ended.out + ended.err
    assert [path for path, data in written().items() if CANARY.encode() in data] == []


def test_a_key_is_written_nowhere_by_a_run_that_works(crucible, configure, monkeypatch, oracle_endpoint):
    monkeypatch.setenv("CANARY_KEY", CANARY)
    configure(oracle_endpoint.url + "\n    api_key_env: CANARY_KEY")
    ended = crucible("all", "--cases", FAMILY)
    assert all(CANARY in head for head in oracle_endpoint.headers)
    assert CANARY not in ended.out + ended.err
    assert [path for path, data in written().items() if CANARY.encode() in data] == []


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["colour", "no colour", "dumb"])
def test_on_a_terminal_there_is_a_bar_with_an_eta(start, configure, oracle_endpoint, environment):
    configure(oracle_endpoint.url)
    ours, theirs = pty.openpty()
    env = {"TERM": "xterm-256color", "COLUMNS": "120", "NO_COLOR": ""} | environment
    process = start("all", "--cases", FAMILY, env=env, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # how a terminal says that its last user is gone
        pass
    out = process.stdout.read()
    os.close(ours)
    assert process.wait(10) == 0
    words = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert cells(out.splitlines()[-1])[:2] == ["-", "fake"]
    assert "\x1b" not in out
    has_bar = "TERM" not in environment
    assert bool(re.search(rf"fake .* {COUNT}/{COUNT} {COUNT}/{COUNT} passed .*ETA +[-0-9]", words)) is has_bar
    assert (f"[fake] {COUNT}/{COUNT} " in words) is not has_bar
    assert bool(re.search(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])", shown)) is (environment == {})
    assert shown.count(b"\x1b[?25h") == shown.count(b"\x1b[?25l")


@pytest.mark.slow
def test_without_configuration_the_builtin_model_is_measured(crucible, builtin_gguf):
    ended = crucible("all", "--cases", f"{FAMILY}/L1.1")
    assert ended.code == 0
    row = ended.out.splitlines()[-1]
    assert cells(row)[:3] == ["-", "builtin", "-"]
    assert f"partial (1/{TOTAL} cases)" in row
    assert ended.err.startswith("[builtin] SmolLM2-135M-Instruct-Q4_1 on llama.cpp (xllamacpp ")
