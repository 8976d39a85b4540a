"""With an engine that we wrote: it takes the words of docker and podman, and runs the driver without any container."""

from __future__ import annotations

import json
import sys

import pytest

from crucibleforge.config import SandboxEntry
from crucibleforge.errors import CrucibleError, SandboxMissing, Stopped
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox.container import _PROVEN, SANDBOX, Contained, Engine, open_container

# Every word to an engine starts a process.
pytestmark = pytest.mark.slow

IMAGE = "python:3.12-slim"
ENGINE = """#!PYTHON -IS
import json, os, pathlib, sys
home = pathlib.Path(__file__).parent
words = sys.argv[1:]
with open(home / "calls", "a") as calls:
    calls.write(json.dumps({"words": words, "environment": dict(os.environ)}) + "\\n")
if words[0] == "version":
    VERSION
elif words[:2] == ["image", "inspect"]:
    sys.exit(words[2] != "python:3.12-slim")
elif words[0] == "run":
    (home / "left").write_text("abc123\\ndef456\\n")
    RUN
elif words[0] == "ps":
    print((home / "left").read_text() if (home / "left").exists() else "")
elif words[0] == "rm":
    (home / "left").unlink()
"""
DRIVER = "at = words.index('python:3.12-slim'); os.execv(sys.executable, [sys.executable, *words[at + 1:]])"
CANNED = """
    print('{"ready": 1}', flush=True)
    sys.stdin.readline()
    nonce = json.loads(sys.stdin.readline())["n"]
    print("000000000000001", json.dumps({"n": nonce, "value": FOUND}), flush=True)
"""
GOOD = _PROVEN | {"python": [3, 12]}


@pytest.fixture
def engine(tmp_path):
    def write(run=DRIVER, version="print('27.1')", name="docker"):
        text = ENGINE.replace("PYTHON", sys.executable).replace("VERSION", version).replace("RUN", run)
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return Engine(name, str(path), IMAGE)

    return write


def canned(**found):
    return CANNED.replace("FOUND", repr(GOOD | found))


def calls(tmp_path):
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


def run(engine, source, *inputs, **options):
    program = Program(source, "f", tuple(Call(args) for args in inputs or ((),)), **options)
    return Contained(engine, "fake").run(program, Limits())


def test_a_program_goes_through_the_whole_protocol(engine):
    ran = run(engine(), "def f(x):\n    return 6 // x", (2,), (0,))
    assert ran.results[0] == Returned(3)
    assert ran.results[1].kind == "ZeroDivisionError"
    assert ran.isolation == "fake"


@pytest.mark.parametrize(
    ("name", "own"), [("docker", ()), ("podman", ("--read-only-tmpfs=false", "--http-proxy=false"))]
)
def test_a_container_gets_all_that_keeps_a_program_in(engine, tmp_path, name, own):
    run(engine(name=name), "def f():\n    return 1")
    words = calls(tmp_path)[0]["words"]
    before = words[: words.index(IMAGE)]
    label = before[before.index("--label") + 1]
    assert tuple(before) == (
        *("run", "--rm", "--interactive", "--pull", "never", "--label", label, "--network", "none", "--ipc", "none"),
        *("--read-only", *own, "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65534:65534"),
        *("--pids-limit", "64", "--memory", "640m", "--memory-swap", "640m", "--env", "PYTHONHASHSEED=0"),
        *("--hostname", "sandbox", "--entrypoint", "python", "--workdir", "/"),
    )
    assert words[words.index(IMAGE) + 1 :][:5] == ["-P", "-s", "-S", "-B", "-c"]


def test_only_a_program_that_may_write_gets_a_folder_and_for_each_call_a_container(engine, tmp_path):
    source = "import os\ndef f():\n    return os.getpid()"
    run(engine(), source, (), (), scratch=True)
    runs = [call["words"] for call in calls(tmp_path) if call["words"][0] == "run"]
    assert len(runs) == 2
    for words in runs:
        assert words[words.index("--tmpfs") :][:4] == [
            "--tmpfs",
            "/scratch:rw,nosuid,nodev,size=64m,mode=1777",
            "--workdir",
            "/scratch",
        ]


def test_the_program_is_in_no_command_line_and_the_users_environment_in_none_either(engine, tmp_path, monkeypatch):
    monkeypatch.setenv("CANARY_API_KEY", "canary-value")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    run(engine(), "def f():\n    return 'marked-source'")
    for call in calls(tmp_path):
        assert "marked-source" not in str(call["words"])
        assert "canary" not in str(call)
        assert call["environment"]["DOCKER_HOST"] == "unix:///nowhere"


def test_whatever_a_run_leaves_is_killed_and_removed_by_its_own_label(engine, tmp_path):
    sandbox = Contained(engine(), "fake")
    sandbox.run(Program("def f():\n    return 1", "f", (Call(()),)), Limits())
    started, *after = [call["words"] for call in calls(tmp_path)]
    label = started[started.index("--label") + 1]
    assert after == [
        ["ps", "--all", "--quiet", "--filter", f"label={label}"],
        ["kill", "abc123", "def456"],
        ["rm", "--force", "abc123", "def456"],
    ]
    assert label not in str(Contained(engine(), "another")._driven._launch)


def test_where_nothing_is_left_nothing_is_killed(engine, tmp_path):
    run(engine(run="(home / 'left').unlink(); " + DRIVER), "def f():\n    return 1")
    assert [call["words"][0] for call in calls(tmp_path)] == ["run", "ps"]


@pytest.mark.parametrize(
    "source", ["def f():\n    while True: pass", "def f(:", "import os\ndef f():\n    os._exit(0)"]
)
def test_a_container_is_removed_however_the_program_ended(engine, tmp_path, source):
    Contained(engine(), "fake").run(Program(source, "f", (Call((), cpu_s=0.05),)), Limits())
    assert calls(tmp_path)[-1]["words"][0] == "rm"


def test_a_container_is_removed_when_the_engine_fails(engine, tmp_path):
    with pytest.raises(CrucibleError) as failed:
        run(engine(run="sys.exit('no space left')"), "def f():\n    return 1")
    assert failed.value.message == "the sandbox failed: no space left"
    assert calls(tmp_path)[-1]["words"][0] == "rm"


def test_after_a_stop_no_container_starts(engine, tmp_path):
    sandbox = Contained(engine(), "fake")
    sandbox.stop()
    with pytest.raises(Stopped):
        sandbox.run(Program("def f():\n    return 1", "f", (Call(()),)), Limits())
    assert "run" not in [call["words"][0] for call in calls(tmp_path)]


def test_an_engine_that_keeps_a_program_in_is_taken_and_named(engine):
    sandbox = open_container(engine(run=canned()))
    assert sandbox.isolation == "container (docker 27.1, python:3.12-slim), uid 65534, python 3.12"


@pytest.mark.parametrize(("name", "found"), [(name, "something else") for name in _PROVEN])
def test_whatever_the_proof_finds_amiss_refuses_the_engine(engine, name, found):
    with pytest.raises(SandboxMissing) as missing:
        open_container(engine(run=canned(**{name: found})))
    assert missing.value.message == (
        f"no sandbox: python:3.12-slim in docker does not work here: {name}: something else"
    )


def test_a_python_that_is_too_old_is_refused(engine):
    with pytest.raises(SandboxMissing, match=r"its Python is 3\.10$"):
        open_container(engine(run=canned(python=[3, 10])))


def test_the_proof_finds_that_there_is_no_container_around_it(engine):
    with pytest.raises(SandboxMissing) as missing:
        open_container(engine())
    for name in ("pid 1", "writable"):
        assert f"{name}: " in missing.value.message


@pytest.mark.parametrize(
    ("changed", "message", "hint"),
    [
        (
            {"version": "sys.exit('Cannot connect to the daemon')"},
            "no sandbox: docker does not work here: Cannot connect to the daemon",
            "`docker info` shows what is wrong",
        ),
        (
            {"version": "pass"},
            "no sandbox: docker does not work here: no version",
            "`docker info` shows what is wrong",
        ),
        (
            {"run": "sys.exit('no such thing')"},
            "no sandbox: python:3.12-slim in docker does not work here: the sandbox failed: no such thing",
            "take an image with a `python` of 3.11 or newer, and an engine that can bound processes",
        ),
    ],
)
def test_what_is_wrong_with_an_engine_is_said(engine, changed, message, hint):
    with pytest.raises(SandboxMissing) as missing:
        open_container(engine(**changed))
    assert (missing.value.message, missing.value.hint) == (message, hint)


def test_an_image_is_never_fetched_unasked(engine):
    found = engine()
    with pytest.raises(SandboxMissing) as missing:
        open_container(Engine(found.name, found.path, "python:3.13"))
    assert missing.value.message == "no sandbox: docker has no image python:3.13"
    assert missing.value.hint == "`docker pull python:3.13`"


def test_the_one_that_is_configured_is_looked_for_on_the_path(engine, tmp_path, monkeypatch):
    engine(run=canned(), name="podman")
    monkeypatch.setenv("PATH", str(tmp_path))
    opened = SANDBOX.open(SandboxEntry(container="podman", image=IMAGE))
    assert opened.isolation.startswith("container (podman 27.1, ")
    with pytest.raises(SandboxMissing, match=r"^no sandbox: docker was not found$"):
        SANDBOX.open(SandboxEntry(container="docker", image=IMAGE))


def test_without_a_word_in_the_configuration_no_engine_is_asked(engine, tmp_path, monkeypatch):
    engine()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxMissing, match=r"^no sandbox: no container is configured$"):
        SANDBOX.open()
    assert not (tmp_path / "calls").exists()


def test_an_engine_that_hangs_up_on_the_proof_is_refused(engine):
    with pytest.raises(SandboxMissing, match="does not work here"):
        open_container(engine(run=canned().replace('print("000', 'sys.exit(3); print("000')))


def test_a_raised_result_is_no_proof(engine):
    answer = canned().replace('"value": ', '"raised": ["E", "m", "", 0], "x": ').replace(', "x": ' + repr(GOOD), "")
    with pytest.raises(SandboxMissing) as missing:
        open_container(engine(run=answer))
    assert str(Raised("E", "m")) in missing.value.message
