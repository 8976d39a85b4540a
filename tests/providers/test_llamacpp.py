from __future__ import annotations

import asyncio
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import msgspec
import platformdirs
import psutil
import pytest
from waiting import wait_for

from crucibleforge.chat import Message, Request
from crucibleforge.errors import InputError, Trouble
from crucibleforge.gguf import Gguf
from crucibleforge.providers import Probe, _builtin
from crucibleforge.providers._llamacpp_child import Settings
from crucibleforge.providers.llamacpp import PROVIDER, LlamaCpp, _reason, _settings
from crucibleforge.types import Served, Target

REQUEST = Request(messages=(Message("user", "Count: 1, 2, 3,"),), tools=(), max_tokens=16)


@pytest.fixture(scope="session")
def model():
    root = os.environ.get("CRUCIBLEFORGE_TEST_CACHE") or platformdirs.user_cache_path("crucibleforge")
    return _builtin.cached(_builtin.SMOLLM2, Path(root) / "models", _builtin.tools(), print)


def target(path, **more):
    known = {"label": "tiny", "provider": "here", "kind": "llamacpp", "model_id": "smol"}
    return Target(path=str(path), extra_body={"ignore_eos": True}, **known | more)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.fixture
def stub(tmp_path):
    """A file with a valid header of an architecture that nobody serves."""
    path = tmp_path / "stub.gguf"
    entry = text("general.architecture") + struct.pack("<I", 8) + text("nonesuch")
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entry + bytes(64))
    return path


def program(code):
    """A child that does something else."""
    return (sys.executable, "-c", f"import os, signal, sys, time\nsys.stdin.readline()\n{code}")


def children():
    """Those that live: a sandbox makes this process the parent of other tests' orphans, whose remains stay with it.

    A pool of processes, which other tests use, leaves the tracker of multiprocessing behind.
    """
    live = psutil.Process().children(recursive=True)
    return {
        child.pid
        for child in live
        if child.is_running() and child.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in str(child.cmdline())
    }


def refusal(provider, wanted):
    """The error with which a target does not open; its child is gone by then."""

    async def opened():
        async with provider.open(wanted):
            raise AssertionError("it opened")

    before = children()
    with pytest.raises(InputError) as caught:
        asyncio.run(opened())
    assert children() == before
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.slow
def test_a_model_is_served_as_asked_for_and_leaves_no_process(model):
    async def asked():
        async with PROVIDER.open(target(model, concurrency=2, context_length=1024)) as session:
            replies = await asyncio.gather(session.ask(REQUEST), session.ask(REQUEST))
            return session.served, replies, children()

    before = children()
    served, replies, during = asyncio.run(asked())
    assert len(during - before) == 1
    assert children() == before
    assert served.server.startswith("llama.cpp (xllamacpp 20")
    assert msgspec.structs.replace(served, server="") == Served("", model="smol", context_length=1024, slots=2)
    for reply in replies:
        assert reply.text
        assert reply.served_model == "smol"
        assert reply.usage.completion_tokens == 16
        assert reply.finish == "length"


@pytest.mark.slow
def test_the_window_is_the_models_own_when_none_is_asked_for(model):
    async def opened():
        async with PROVIDER.open(target(model)) as session:
            return session.served

    assert asyncio.run(opened()).context_length == 8192


@pytest.mark.slow
def test_a_server_that_is_killed_says_so_in_the_trouble(model):
    async def asked():
        async with PROVIDER.open(target(model)) as session:
            (pid,) = children()
            idle_s = psutil.Process(pid).cpu_times().user
            long = asyncio.create_task(session.ask(msgspec.structs.replace(REQUEST, max_tokens=4000)))
            await asyncio.to_thread(wait_for, lambda: psutil.Process(pid).cpu_times().user > idle_s + 0.2)
            os.kill(pid, signal.SIGKILL)
            for asking in (long, asyncio.create_task(session.ask(REQUEST))):
                with pytest.raises(Trouble) as caught:
                    await asking
                assert caught.value.kind == "transport"
                assert caught.value.message == "the embedded llama.cpp was ended by SIGKILL"

    asyncio.run(asked())
    assert not children()


@pytest.mark.slow
def test_an_exception_inside_ends_the_server(model):
    async def failing():
        async with PROVIDER.open(target(model)):
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        asyncio.run(failing())
    assert not children()


PARENT = """
import asyncio, sys
from crucibleforge.providers.llamacpp import PROVIDER
from crucibleforge.types import Target
async def main():
    target = Target(label="t", provider="p", kind="llamacpp", model_id="m", path=sys.argv[1])
    async with PROVIDER.open(target):
        print("open", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["loading", "open"])
def test_the_server_dies_with_a_killed_parent(model, moment):
    with subprocess.Popen([sys.executable, "-c", PARENT, str(model)], stdout=subprocess.PIPE) as parent:
        (child,) = wait_for(psutil.Process(parent.pid).children)
        if moment == "open":
            assert parent.stdout.readline() == b"open\n"
        parent.kill()
        wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 2.0)


@pytest.mark.slow
def test_an_interrupt_ends_parent_and_server(model):
    command = [sys.executable, "-c", PARENT, str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout.readline() == b"open\n"
        (child,) = psutil.Process(parent.pid).children()
        os.killpg(parent.pid, signal.SIGINT)
        _, words = parent.communicate(timeout=10)
        assert not child.is_running()
    assert words.rstrip().endswith(b"KeyboardInterrupt")


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.05, 0.3])
def test_a_cancelled_start_leaves_no_server(model, after_s):
    async def cancelled():
        async with asyncio.timeout(after_s), PROVIDER.open(target(model)):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())
    assert not children()


@pytest.mark.slow
def test_a_file_with_its_tail_cut_off_is_refused_in_one_line(model, tmp_path):
    path = tmp_path / "cut.gguf"
    with model.open("rb") as whole:
        path.write_bytes(whole.read(8_000_000))
    error = refusal(PROVIDER, target(path))
    needed = model.stat().st_size
    assert error.message == f"{path} is a corrupt GGUF file: its tensors need {needed} bytes and it has 8000000"
    assert error.hint == "fetch the file again, and compare its checksum"


@pytest.mark.slow
def test_an_unknown_architecture_is_named(stub):
    error = refusal(PROVIDER, target(stub))
    assert error.message.endswith("unknown model architecture: 'nonesuch'")


@pytest.mark.parametrize(
    ("wanted", "trained", "window"),
    [
        (None, None, 8192),
        (None, 131_072, 8192),
        (None, 2048, 2048),
        (32_768, 8192, 8192),
        (1024, 8192, 1024),
        (99, None, 99),
    ],
)
def test_the_window_is_what_is_wanted_as_far_as_the_model_was_trained(wanted, trained, window):
    gguf = Gguf(3, "llama", "", trained, None, 1)
    settings = _settings(target("m.gguf", context_length=wanted, concurrency=4), gguf)
    assert settings == Settings(path="m.gguf", alias="smol", context_length=window, slots=4)


def test_a_target_without_a_model_id_is_served_under_its_label():
    gguf = Gguf(3, "llama", "", None, None, 1)
    assert _settings(target("m.gguf", model_id=""), gguf).alias == "tiny"


def test_a_file_that_is_no_gguf_starts_no_child(tmp_path):
    path = tmp_path / "page.gguf"
    path.write_bytes(b"<html>")
    error = refusal(LlamaCpp(program=("/no/such/program",)), target(path))
    assert error.message == f"{path} is not a GGUF file: it begins with b'<htm'"


def test_llama_that_is_not_installed_is_named_with_its_command(stub):
    code = """print('{"error": "no module", "missing": true}', flush=True); sys.stdin.read()"""
    error = refusal(LlamaCpp(program=program(code)), target(stub))
    assert (error.message, error.hint) == (
        "the embedded llama.cpp is not installed",
        "`pip install 'crucibleforge[local]'`",
    )


def test_a_child_that_dies_while_loading_is_quoted(stub):
    code = "os.write(2, b'0.00.1 E ggml: \\x1b[1mhm\\n' * 9999); os.kill(os.getpid(), signal.SIGABRT)"
    error = refusal(LlamaCpp(program=program(code)), target(stub))
    expected = f"{stub} cannot be loaded: the embedded llama.cpp was ended by SIGABRT: ggml: ?[1mhm"
    assert error.message == expected


def test_a_child_that_the_kernel_killed_hints_at_memory(stub):
    error = refusal(LlamaCpp(program=program("os.kill(os.getpid(), signal.SIGKILL)")), target(stub))
    assert error.message == f"{stub} cannot be loaded: the embedded llama.cpp was ended by SIGKILL"
    assert error.hint == "lower `context_length` or `concurrency`, or choose a smaller model"


def test_a_child_that_does_not_load_in_time_is_ended(stub):
    error = refusal(LlamaCpp(start_s=0.05, program=program("sys.stdin.read()")), target(stub))
    assert error.message == f"the embedded llama.cpp did not load {stub} within 0 s"


@pytest.mark.slow
def test_a_child_that_ignores_everything_is_killed(stub):
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    refusal(LlamaCpp(start_s=0.3, program=program(code)), target(stub))


LOG = """0.00.028 E llama_model_load: error loading model: tensor 'x' is cut
0.00.029 E llama_model_load_from_file_impl: failed to load model
0.00.045 E srv          init: exiting due to model loading error
"""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", ""),
        ("\n \n", ""),
        (LOG, "tensor 'x' is cut"),
        ("0.1.2 E a: insufficient memory (9 MB)\n0.1.3 E srv init: exiting", "a: insufficient memory (9 MB)"),
        ("x.cpp:1: GGML_ASSERT(n > 0) failed\nno debugger", "x.cpp:1: GGML_ASSERT(n > 0) failed"),
        ("one\ntwo\n", "two"),
        ("y" * 999, "y" * 300),
    ],
)
def test_the_telling_line_of_a_log_is_found(words, reason):
    assert _reason(words) == reason


def test_a_probe_looks_at_the_file_and_loads_nothing(stub, tmp_path):
    assert asyncio.run(PROVIDER.probe(target(stub))) == Probe("up", models=("smol",))
    gone = asyncio.run(PROVIDER.probe(target(tmp_path / "gone.gguf")))
    assert gone == Probe("down", detail=f"no such file: {tmp_path}/gone.gguf")
    assert not children()
