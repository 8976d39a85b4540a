from __future__ import annotations

import os
import signal
import subprocess
import sys

import msgspec
import psutil
import pytest
from waiting import wait_for

from crucibleforge.providers._llamacpp_child import Settings, Started

SETTINGS = Settings(path="/m.gguf", alias="tiny", context_length=512, slots=3)
MODULE = "crucibleforge.providers._llamacpp_child"

FAKE = """
import os, types
__version__ = "9.9"
class CommonParams:
    def __init__(self):
        self.model = types.SimpleNamespace()
class Server:
    def __init__(self, params):
        os.write(1, b"native noise\\n")
        print(vars(params), vars(params.model), flush=True)
        if params.model.path == "bad":
            raise RuntimeError("it will not")
        self.listening_address = "http://127.0.0.1:4321"
"""


@pytest.fixture
def start(tmp_path):
    """Start the child with a stand-in for xllamacpp, and end it after the test."""
    started = []

    def begin(llama=FAKE, parent=None, settings=SETTINGS):
        (tmp_path / "xllamacpp.py").write_text(llama)
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, str(parent or os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )
        started.append(child)
        child.stdin.write(msgspec.json.encode(settings) + b"\n")
        child.stdin.flush()
        return child

    yield begin
    for child in started:
        with child:
            child.kill()


def said(child):
    return msgspec.json.decode(child.stdout.readline(), type=Started)


def test_it_says_one_line_whatever_native_code_prints_and_ends_when_stdin_does(start):
    child = start()
    assert said(child) == Started(port=4321, version="9.9")
    out, noise = child.communicate(timeout=10)
    assert (out, child.returncode) == (b"", 0)
    assert noise.startswith(b"native noise\n")


def test_every_slot_gets_the_whole_window_on_loopback_only(start):
    child = start()
    said(child)
    _, noise = child.communicate(timeout=10)
    for expected in (
        b"'n_ctx': 1536",
        b"'n_parallel': 3",
        b"'hostnames': ['127.0.0.1']",
        b"'port': 0",
        b"'model_alias': {'tiny'}",
        b"'use_jinja': True",
        b"'ui': False",
        b"{'path': '/m.gguf'}",
    ):
        assert expected in noise


def test_ctrl_c_is_left_to_the_parent(start):
    child = start()
    said(child)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=10)
    assert child.returncode == 0


def test_terminate_ends_it(start):
    child = start()
    said(child)
    child.terminate()
    assert child.wait(10) == -signal.SIGTERM


def test_a_server_that_will_not_start_is_an_answer(start):
    child = start(settings=msgspec.structs.replace(SETTINGS, path="bad"))
    assert said(child) == Started(error="it will not")
    assert child.wait(10) == 1


def test_no_llama_is_told_from_a_broken_one(start):
    missing = "raise ModuleNotFoundError(\"No module named 'xllamacpp'\", name='xllamacpp')"
    assert said(start(missing)) == Started(error="No module named 'xllamacpp'", missing=True)
    assert said(start("raise ImportError('libgomp.so.1 is not there')")) == Started(error="libgomp.so.1 is not there")


def test_a_child_of_another_parent_ends_before_it_reads(start):
    child = start(parent=os.getppid())
    out, _ = child.communicate(timeout=10)
    assert (out, child.returncode) == (b"", 1)


LOADING_WITH_THE_LOCK_HELD = """
import ctypes, os, pathlib
__version__ = "0"
class CommonParams:
    def __init__(self):
        self.model = type("", (), {})()
class Server:
    def __init__(self, params):
        pathlib.Path(params.model.path).write_text(str(os.getpid()))
        ctypes.PyDLL(None).sleep(60)
"""

PARENT = """
import os, subprocess, sys
command = [sys.executable, "-P", "-m", sys.argv[1], str(os.getpid())]
child = subprocess.Popen(command, stdin=subprocess.PIPE)
child.stdin.write(sys.argv[2].encode() + b"\\n")
child.stdin.flush()
child.wait()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_a_killed_parent_ends_it_even_while_the_interpreter_lock_is_held(tmp_path):
    (tmp_path / "xllamacpp.py").write_text(LOADING_WITH_THE_LOCK_HELD)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    settings = msgspec.json.encode(msgspec.structs.replace(SETTINGS, path=str(tmp_path / "pid"))).decode()
    command = [sys.executable, "-c", PARENT, MODULE, settings]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}) as parent:
        pid = int(wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        child = psutil.Process(pid)
        parent.kill()
        wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 2.0)
