"""Proves that a sandbox holds before any model's code runs in it, and fails closed.

Every probe of `_attacks` has to fail for the reason that our wall gives it: another error means that something else
stood in the way by chance, and something else may be gone tomorrow. And an honest program has to pass.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from dataclasses import replace
from pathlib import Path

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox._driven import Driven, Launch
from crucibleforge.sandbox._filter import forbidden

_ATTACKS = Path(__file__).with_name("_attacks.py").read_text(encoding="utf-8")
_HELD = {
    "read /etc/passwd": "ENOENT",
    "list /home": "ENOENT",
    "list /proc": "ENOENT",
    "list /sys": "ENOENT",
    "write": "nowhere",
    "touch a device": "EPERM",
    "open an AF_INET socket": "EPERM",
    "open an AF_UNIX socket": "EPERM",
    "open an AF_NETLINK socket": "EPERM",
    "open an AF_VSOCK socket": "EPERM",
    "connect to 127.0.0.1": "EPERM",
    "make a user namespace": "EPERM",
    "debug a process": "EPERM",
    "type into the terminal": "EPERM",
    "call what is forbidden": "none",
    "start a process": "EPERM",
    "start a program": "EPERM",
    "open a memory file": "EPERM",
    "allocate 1 GiB": "ENOMEM",
    "signal pid 1": "EPERM",
    "see other processes": "none",
    "see a process of the host": "ESRCH",
    "find the environment of the host": "absent",
    "become root": "EINVAL",
}
_NUMBERS = [2, 3]
_HONEST = {"awaited": 10, "threaded": 5}

PROBES = hashlib.sha256(f"{_ATTACKS}\n{sorted(_HELD.items())}".encode()).hexdigest()[:8]
"""Names the set of probes, and what each had to meet, that a sandbox has passed."""


def disproof(launch: Launch, *, home: str = "", writable: str = "nowhere", limits: Limits | None = None) -> str:
    """Why model code must not run in what this starts; "" when every probe failed as it should.

    Args:
        launch: the profile to be proved.
        home: the names that are in /home by right, those on the way to the interpreter.
        writable: where files can be made by right, and the size of that, such as `/tmp 64 MiB`.
        limits: the bounds of a program, None: the usual ones.
    """
    held = {**_HELD, "list /home": home or _HELD["list /home"], "write": writable}
    secret = secrets.token_hex(16)
    watched = replace(launch, environment=(*launch.environment, ("CRUCIBLEFORGE_CANARY", secret)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = {
            "port": listener.getsockname()[1],
            "canary": secret,
            "pid": os.getpid(),
            "calls": forbidden(os.uname().machine),
        }
        found = _found(Driven(watched, "self-test"), task, limits or Limits())
    if isinstance(found, str):
        return found
    wrong = [
        f"{name} ({found.get(name, 'not tried')}, not {held.get(name, 'known')})"
        for name in {**held, **found}
        if found.get(name) != held.get(name)
    ]
    return f"a program in it could {', '.join(wrong)}" if wrong else ""


def _found(sandbox: Driven, task: dict[str, object], limits: Limits) -> dict[str, str] | str:
    """The outcomes of the probes, or why it did not come to that."""
    calls = (Call(("honest", {"numbers": _NUMBERS})), Call(("hostile", task)))
    try:
        ran = sandbox.run(Program(_ATTACKS, "probe", calls), limits)
    except CrucibleError as error:
        return error.message
    if ran.broken:
        return ran.broken
    honest, hostile = ran.results
    if honest != Returned(_HONEST):
        return f"an honest program {_said(honest)}"
    if isinstance(hostile, Raised) or not isinstance(hostile.value, dict):
        return f"the probes {_said(hostile)}"
    return hostile.value


def _said(result: Returned | Raised) -> str:
    if isinstance(result, Raised):
        return f"ended with {result.kind}: {result.message}"
    return f"gave {str(result.value)[:200]}"
