"""What `run` and `all` share: what is refused before anything starts, how a run is stopped and taken up again."""

import json
import re
import signal
import socket
import threading
from pathlib import Path
from time import perf_counter

import endpoint
import oracle
import pytest

from crucibleforge.store.folder import all_runs
from crucibleforge.store.lock import locked
from crucibleforge.suite.expand import scored, suite
from crucibleforge.types import Attempt, Verdict

CATEGORIES = ", ".join(sorted({case.category for case in suite()}))
FEW = "math/mod-ladder"
COUNT = sum(case.family == FEW for case in suite())
CODE = next(case for case in suite() if case.family == "coding/upset-cost")
LEAST = min(case.needs.context_tokens for case in suite() if case.family == FEW)


def run_folders():
    return [path for path in Path("results/runs").glob("*") if path.is_dir()]


def the_run():
    (run,) = all_runs(Path("results"))
    return run


def attempts(run):
    return [event for event in run.events()[0] if isinstance(event, Attempt)]


def verdicts(run):
    return [event for event in run.events()[0] if isinstance(event, Verdict)]


# What is refused before anything starts.


@pytest.mark.parametrize("verb", ["run", "all"])
@pytest.mark.parametrize(
    ("words", "err"),
    [
        (
            ["--config", "none.yaml"],
            "error: no such file: none.yaml\nhint: `crucibleforge config --init` writes a starter\n",
        ),
        (
            ["--models", "fakke"],
            "error: unknown model 'fakke'\nhint: did you mean `fake`? labels stand in models.yaml; a .gguf file is named by its path\n",
        ),
        (
            ["--categories", "maths"],
            f"error: unknown category 'maths'\nhint: did you mean `math`? known: {CATEGORIES}\n",
        ),
        (
            ["--difficulty", "easi"],
            "error: unknown difficulty 'easi'\nhint: did you mean `easy`? known: easy, medium, hard, reserve\n",
        ),
        (["--cases", "zzz"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
        (["--form", "a b"], "error: 'a b' is no form\nhint: `canonical`, `fresh`, or a key of letters, digits and `._-`\n"),
        (["--profile", "quik"], "error: unknown profile 'quik'\nhint: did you mean `quick`? known: quick\n"),
        (
            ["--smoke", "--difficulty", "hard"],
            "error: no case fits all of the filters\nhint: `crucibleforge cases list` shows what there is\n",
        ),
        (
            ["--results", "/sys/x"],
            "error: /sys/x: operation not permitted\nhint: choose a folder that you may write with `--results DIR`\n",
        ),
        (
            ["--results", "/dev/null/x"],
            "error: /dev/null/x: not a directory\nhint: check the path and its permissions\n",
        ),
        (["--results", "models.yaml"], "error: models.yaml: file exists\nhint: check the path and its permissions\n"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_a_hint(crucible, configure, oracle_endpoint, verb, words, err):
    configure(oracle_endpoint.url)
    before = sorted(Path().rglob("*"))
    ended = crucible(verb, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.replace("permission denied", "operation not permitted") == err
    assert sorted(Path().rglob("*")) == before
    assert oracle_endpoint.connections == 0


def test_a_broken_configuration_is_one_line_and_a_hint(crucible, configure):
    configure("http://h/v1", more="modells: []\n")
    ended = crucible("run")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: models.yaml: unknown key 'modells'\nhint: did you mean `models`?\n"


@pytest.mark.parametrize("verb", ["run", "all", "report"])
def test_a_weight_of_no_category_is_refused(crucible, configure, oracle_endpoint, verb):
    configure(oracle_endpoint.url, more="scoring: {weights: {maths: 2}}\n")
    ended = crucible(verb)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: unknown category in scoring.weights 'maths'\nhint: did you mean `math`? known: {CATEGORIES}\n"
    )
    assert oracle_endpoint.connections == 0


def test_a_context_in_which_no_case_fits_is_refused(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url, more="defaults: {context_length: 100}\n")
    ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: no case fits into the 100 tokens of 'fake', the least needs {LEAST:,}\n"
        "hint: raise `context_length` in models.yaml, or leave it out to take what the server states\n"
    )
    assert (oracle_endpoint.connections, Path("results").exists()) == (0, False)


def test_a_case_that_does_not_fit_is_skipped_and_said_to_be(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url, more=f"defaults: {{context_length: {LEAST}}}\n")
    ended = crucible("all", "--cases", FEW)
    skipped = [case for case in suite() if case.family == FEW and case.needs.context_tokens > LEAST]
    assert ended.code == 0
    assert len(scored(skipped)) > 0
    assert f"{len(scored(skipped))} skipped: context too small" in ended.out
    assert len(oracle_endpoint.requests) == COUNT - len(skipped)


def test_a_model_needs_its_key(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url + "\n    api_key_env: NO_SUCH_KEY")
    ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "error: provider 'p' needs an API key and $NO_SUCH_KEY is not set\nhint: `export NO_SUCH_KEY=...`\n"
    )
    assert (oracle_endpoint.connections, run_folders()) == (0, [])


def test_a_server_that_is_down_is_told_at_once_and_leaves_no_run(crucible, configure, refusing_url):
    configure(refusing_url)
    began = perf_counter()
    ended = crucible("run")
    assert perf_counter() - began < 5
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: no server at {refusing_url} (connection refused)\n"
        "hint: start the server or mend `base_url`; `crucibleforge status` shows every provider\n"
    )
    assert run_folders() == []


@pytest.mark.slow
def test_a_server_that_accepts_and_says_nothing_is_down(crucible, configure):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        configure(url)
        began = perf_counter()
        ended = crucible("run", "--cases", FEW)
        assert perf_counter() - began < 5.5
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines()[0] == f"error: no server at {url} (it did not answer in time)"
    assert run_folders() == []


def test_a_name_that_no_server_has_is_down(crucible, configure):
    configure("http://nowhere.invalid/v1")
    ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: no server at http://nowhere.invalid/v1 (")
    assert len(ended.err.splitlines()) == 2


def test_a_server_that_speaks_no_http_is_one_line(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: [(endpoint.Send, b"\x1b[31mSSH-2.0\r\n\r\n")]) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: no server at {server.url} (")
    assert "\x1b" not in ended.err
    assert len(ended.err.splitlines()) == 2


def test_a_refused_key_is_one_line_and_leaves_no_run(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: endpoint.status(401, {"error": "no"})) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        f"error: {server.url} wants an API key; set `api_key_env` of the provider (HTTP 401)\n"
        "hint: `crucibleforge status` shows every provider\n"
    )
    assert run_folders() == []


def test_a_folder_in_use_names_who_uses_it(crucible, configure, start, oracle_endpoint):
    def never(_request):
        yield endpoint.Wait, 60.0

    with endpoint.serving(never) as server:
        configure(server.url)
        live = start("run", "--cases", FEW)
        assert live.stderr.readline() == "[fake] fake on openai\n"
        for verb in ("run", "all", "grade"):
            ended = crucible(verb)
            assert (ended.code, ended.out) == (2, "")
            assert ended.err == (
                f"error: results is in use by a live run (process {live.pid})\n"
                "hint: wait for it, stop it with Ctrl-C, or use another folder with `--results DIR`\n"
            )
        live.send_signal(signal.SIGINT)
        assert live.wait(5) == 130
    assert len(run_folders()) == 1


def test_a_lock_without_its_holder_holds_nobody(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    with locked(Path("results")):
        pass
    assert Path("results/.lock").read_text()
    assert crucible("run", "--cases", FEW).code == 0


# Taking up and ending.


def test_a_run_that_is_done_asks_nothing_again(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    assert crucible("run", "--cases", FEW).code == 0
    asked, log = len(oracle_endpoint.requests), (the_run().folder / "log.jsonl").read_bytes()
    connections = oracle_endpoint.connections
    ended = crucible("run", "--cases", FEW)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        f"nothing is owed: all {COUNT} rows of {the_run().folder} are done (`--fresh` asks anew)\n"
        f"{COUNT} of {COUNT} rows passed; `crucibleforge report` builds the board\n"
    )
    assert (asked, connections) == (COUNT, oracle_endpoint.connections)
    assert len(oracle_endpoint.requests) == asked
    assert (the_run().folder / "log.jsonl").read_bytes() == log


def test_fresh_asks_anew_in_a_run_of_its_own(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FEW)
    crucible("run", "--cases", FEW, "--fresh")
    assert len(oracle_endpoint.requests) == 2 * COUNT
    assert len(run_folders()) == 2


def test_another_price_or_concurrency_is_the_same_run(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FEW)
    configure(oracle_endpoint.url + "\n    concurrency: 3\n    timeout: 5")
    assert "nothing is owed" in crucible("run", "--cases", FEW).err
    assert len(oracle_endpoint.requests) == COUNT


def test_another_sampling_is_another_run(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FEW)
    Path("models.yaml").write_text(
        Path("models.yaml").read_text().replace("model_id: fake", "model_id: fake, sampling: {temperature: 1}")
    )
    crucible("run", "--cases", FEW)
    assert len(run_folders()) == 2


def test_what_failed_is_owed_and_asked_again(crucible, configure):
    right, first = oracle.answers(), []

    def once_broken(request):
        if len(first) < 2:
            first.append(request)
            return endpoint.status(404, {"error": {"message": "not today"}})
        return right(request)

    with endpoint.serving(once_broken) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FEW)
        assert ended.code == 1
        assert f"2 of {COUNT} rows are still owed; `" in ended.err
        again = crucible("run", "--cases", FEW)
    assert again.code == 0
    assert again.err.splitlines()[0] == f"continuing {the_run().folder}: {COUNT - 2} of {COUNT} rows are kept"
    assert len(server.requests) == COUNT + 2


def test_a_server_that_keeps_failing_is_given_up_and_told(crucible, configure):
    with endpoint.serving(lambda _: endpoint.status(400, {"error": {"message": "no \x1b[31mred\x9b1m"}})) as server:
        configure(server.url)
        ended = crucible("run", "--cases", FEW)
    # The first refusal is asked without each parameter in turn, the next two are what they are.
    assert (ended.code, len(server.requests)) == (1, 4 + 3)
    assert "[fake] not finished: the server answered HTTP 400: no [31mred 1m" in ended.err.splitlines()
    assert not {"\x1b", "\x9b"} & set(ended.err)


def test_repeats_are_asked_each(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("run", "--cases", f"{FEW}/L1.1", "--repeats", "3", "--json")
    assert json.loads(ended.out)["rows"] == 3
    assert len(oracle_endpoint.requests) == 3


def test_a_row_that_cannot_be_read_is_named_and_asked_again(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", FEW)
    path = the_run().folder / "log.jsonl"
    last = attempts(the_run())[-1].job.case_id.encode()
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if last not in line]
    path.write_bytes(b"".join([*lines, b"{garbage}\n"]))
    assert crucible("run", "--cases", FEW).code == 0
    assert len(oracle_endpoint.requests) == COUNT + 1
    assert f"warning: not read: {path} line {len(lines) + 1}: " in crucible("report").err


@pytest.mark.slow
def test_a_fresh_form_is_another_run_whose_key_is_said_and_kept_and_goes_on_with_it(crucible, configure):
    first = next(case for case in suite() if case.family == FEW)
    with endpoint.serving(lambda _: endpoint.text("I do not know.")) as server:
        configure(server.url)
        assert crucible("run", "--cases", first.id).code == 0
        ended = crucible("run", "--cases", first.id, "--form", "fresh")
        canonical, fresh = all_runs(Path("results"))
        key = fresh.plan.form
        assert (ended.code, canonical.plan.form) == (0, "canonical")
        assert re.fullmatch("[0-9a-f]{32}", key)
        assert ended.err.splitlines()[0] == f"a fresh form; `--form {key}` asks it again"
        assert list(fresh.cases) == [first.id]
        assert fresh.cases[first.id].hash != first.hash
        again = crucible("run", "--cases", first.id, "--form", key)
        assert again.err.splitlines()[0].startswith(f"nothing is owed: all 1 rows of {fresh.folder} are done")
        assert (len(server.requests), len(run_folders())) == (2, 2)
        assert crucible("grade").err.splitlines() == [
            f"{run.folder.name}: 1 rows marked again, 0 verdicts changed" for run in (canonical, fresh)
        ]
    shown = [line.split("  ")[1].strip() for line in crucible("report").out.splitlines()[2:]]
    assert shown == ["fake", f"fake [form {key}]"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_run_soon_and_the_same_command_finishes_it(start, configure, crucible, number, code):
    right, third, is_slow = oracle.answers(), threading.Event(), [True]

    def slow(request):
        if is_slow[0] and len(server.requests) == 3:
            third.set()
            yield endpoint.Wait, 60.0
        yield from right(request)

    with endpoint.serving(slow) as server:
        configure(server.url)
        process = start("run", "--cases", FEW, "--fresh")
        assert third.wait(20)
        while not process.stderr.readline().startswith(f"[fake] 2/{COUNT} "):
            assert process.poll() is None
        began = perf_counter()
        process.send_signal(number)
        out, err = process.communicate(timeout=10)
        assert perf_counter() - began < 2
        assert (process.returncode, out) == (code, "")
        assert err.splitlines() == [
            f"error: stopped: 2 of {COUNT} rows are kept in {the_run().folder}",
            f"hint: `crucibleforge run --cases {FEW}` continues",
        ]
        assert [attempt.failure for attempt in attempts(the_run())] == [None, None]
        is_slow[0] = False
        again = crucible("run", "--cases", FEW)
    assert again.code == 0
    assert again.err.splitlines()[0] == f"continuing {the_run().folder}: 2 of {COUNT} rows are kept"
    assert (len(server.requests), len(attempts(the_run())), len(verdicts(the_run()))) == (COUNT + 1, COUNT, COUNT)


@pytest.mark.slow
def test_a_signal_before_the_first_reply_keeps_nothing_and_says_so(start, configure):
    asked = threading.Event()

    def silence():
        asked.set()
        yield endpoint.Wait, 60.0

    with endpoint.serving(lambda _: (), silence) as server:
        configure(server.url)
        process = start("run", "--cases", FEW)
        assert asked.wait(20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=2)
    assert (process.returncode, out) == (130, "")
    assert err == f"error: stopped: 0 of {COUNT} rows are kept\nhint: `crucibleforge run --cases {FEW}` continues\n"
    assert run_folders() == []


@pytest.mark.slow
def test_a_signal_ends_a_program_that_would_never_end(start, configure, crucible):
    second = threading.Event()
    # It sleeps, as a busy one would soon be out of CPU time.
    forever = "```python\nimport time\n\n\ndef ENTRY(*_):\n    time.sleep(10**6)\n```"
    entries = {oracle.first_message(case): case.grading.settings.get("entry") for case in suite()}

    def looping(request):
        if len(server.requests) > 1:
            second.set()
            yield endpoint.Wait, 60.0
        entry = entries[next(one["content"] for one in request["messages"] if one["role"] == "user")]
        yield from endpoint.stream(endpoint.chat([{"content": forever.replace("ENTRY", entry)}], "stop", 9, "fake"))

    with endpoint.serving(looping) as server:
        configure(server.url)
        process = start("run", "--cases", f"{CODE.family}/L1.1,{CODE.family}/L2.1")
        assert second.wait(20)  # the first reply is in the log, and being marked
        began = perf_counter()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        assert perf_counter() - began < 2
    assert process.returncode == 130
    assert "error: stopped: 0 of 2 rows are kept" in err
    assert (len(attempts(the_run())), verdicts(the_run())) == (1, [])


@pytest.mark.slow
def test_a_reply_without_its_verdict_is_marked_and_not_asked_again(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    crucible("run", "--cases", CODE.id)
    path = the_run().folder / "log.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"".join(line for line in whole.splitlines(keepends=True) if b'"type":"verdict"' not in line))
    assert crucible("run", "--cases", CODE.id).code == 0
    assert len(oracle_endpoint.requests) == 1
    assert path.read_bytes() == whole


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_ignored(start, configure):
    right, asked, go_on = oracle.answers(), threading.Event(), threading.Event()

    def waiting(request):
        asked.set()
        go_on.wait(20)
        return right(request)

    with endpoint.serving(waiting) as server:
        configure(server.url)
        program = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)\nfrom crucibleforge.cli.main import main; main()"
        process = start("run", "--cases", FEW, program=program)
        assert asked.wait(20)
        process.send_signal(signal.SIGHUP)
        go_on.set()
        process.communicate(timeout=30)
    assert process.returncode == 0
