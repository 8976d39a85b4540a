"""A bound on the memory and processes of a whole sandbox, where the kernel lets us set one.

Whether it does is proven by doing: a process is put in and must be refused a fork and be killed for its memory. Only
folders whose controllers are switched on already are used, so nothing changes for anybody else: version 2 below or
beside our own group, version 1 below our own. Scopes of systemd are left out; asking for one takes longer than a
program does.

Each sandbox gets a group of its own. Moving a process takes 10 ms on an idle machine, since the kernel waits for all
processors, so it happens while the driver starts; no text of a program is sent before it is done.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crucibleforge.sandbox._reaper import children

PROCESSES = 72
"""The 64 that a call may have, the driver, and some to spare."""
SPARE_BYTES = 64 * 1024 * 1024
"""For the driver and for what a program writes to its scratch folder, which is memory."""

_NAMES = itertools.count()
_NAME = re.compile(r"crucibleforge-(\d+)-(\d+)-(\d+)-\d+")
_KILLS = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
_PROOF_BYTES = 32 * 1024 * 1024
_PROOF_S = 3.0
_VICTIM = f"""
import os, sys
sys.stdin.readline()
try:
    if os.fork() == 0:
        os._exit(0)
except OSError:
    print("bounded", flush=True)
bytearray({4 * _PROOF_BYTES})
"""
_MOVE_S = 5.0
"""What a loaded machine gets to move a driver that is ready already; 10 ms are usual."""
_PAUSE_S = 0.001
_EMPTY_S = 0.5
"""What the kernel gets to take the last dead process out of a group."""


@dataclass(frozen=True)
class Ground:
    """Where groups can be made: the folders for memory and for processes, which are one in version 2."""

    memory: Path
    pids: Path
    version: int

    @property
    def bound(self) -> str:
        """Name of the file that bounds the memory."""
        return "memory.limit_in_bytes" if self.version == 1 else "memory.max"

    @property
    def kills(self) -> str:
        """Name of the file that has a line `oom_kill N`."""
        return "memory.oom_control" if self.version == 1 else "memory.events"

    def swap(self, memory_bytes: int) -> tuple[str, int]:
        """Name and content of the file that leaves no swap beyond this memory."""
        return ("memory.memsw.limit_in_bytes", memory_bytes) if self.version == 1 else ("memory.swap.max", 0)


def level() -> str:
    """`+cgroup` where sandboxes get a group, else nothing."""
    return "+cgroup" if usable() else ""


def usable() -> Ground | None:
    """Where groups really work here, None: nowhere."""
    found = ground()
    return found if isinstance(found, Ground) else None


@cache
def ground() -> Ground | str:
    """Where groups really work here, or why nowhere. Groups of processes of ours that were killed are removed."""
    why = "no cgroup with memory and pids"
    for candidate in grounds(_read("/proc/self/cgroup"), _read("/proc/self/mountinfo")):
        try:
            clear(candidate)
            failed = _disproof(candidate)
        except OSError as error:
            failed = f"{error.filename}: {error.strerror}"
        if not failed:
            return candidate
        why = failed
    return why


def grounds(own: str, mounts: str) -> list[Ground]:
    """Folders worth trying, best first.

    Args:
        own: the text of /proc/self/cgroup (cgroups(7)).
        mounts: the text of /proc/self/mountinfo (proc(5)).
    """
    paths = {name: path for _, names, path in _fields(own) for name in names.split(",")}
    found = {name: folder for name, path in paths.items() for folder in _mounted(mounts, name, path)}
    unified = (found[""], found[""].parent) if "" in found else ()
    chosen = [Ground(folder, folder, 2) for folder in unified if _hands_down(folder)]
    if "memory" in found and "pids" in found:
        chosen.append(Ground(found["memory"], found["pids"], 1))
    return chosen


def _fields(own: str) -> Iterator[list[str]]:
    return (line.split(":", 2) for line in own.splitlines() if line.count(":") >= 2)  # noqa: PLR2004 - three fields


def _mounted(mounts: str, name: str, path: str) -> Iterator[Path]:
    """The folder of this group where the hierarchy with this controller is mounted; controller "" is version 2."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        if kind != ("cgroup" if name else "cgroup2") or (name and name not in options.split(",")):
            continue
        if Path(path).is_relative_to(root) and ".." not in Path(path).parts:  # else it is out of our sight
            yield Path(point, Path(path).relative_to(root))


def _hands_down(folder: Path) -> bool:
    return {"memory", "pids"} <= set(_read(str(folder / "cgroup.subtree_control")).split())


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Group:
    """One group. Everything is bounded from the moment that a process is in it.

    Raises:
        OSError: the kernel refuses one.
    """

    def __init__(self, ground: Ground, processes: int = PROCESSES) -> None:
        self._ground = ground
        name = f"crucibleforge-{_namespace()}-{os.getpid()}-{_started(os.getpid())}-{next(_NAMES)}"
        self._memory, self._pids = ground.memory / name, ground.pids / name
        try:
            for folder in self._folders():
                folder.mkdir()
            _write(self._pids / "pids.max", processes)
        except OSError:
            self.remove()
            raise

    def limit(self, memory_bytes: int) -> None:
        """Bound the memory of all processes together, swap included where the kernel counts it."""
        _write(self._memory / self._ground.bound, memory_bytes)
        swap, swap_bytes = self._ground.swap(memory_bytes)
        with suppress(FileNotFoundError):
            _write(self._memory / swap, swap_bytes)

    def take(self, pid: int) -> None:
        """Move a process in; what it forks from now on is in as well."""
        for folder in self._folders():
            _write(folder / "cgroup.procs", pid)

    def kills(self) -> int:
        """How many processes the kernel has killed in here for want of memory."""
        counted = _KILLS.search((self._memory / self._ground.kills).read_text(encoding="ascii"))
        return int(counted[1]) if counted else 0

    def remove(self) -> None:
        """Give it back; what is still in it keeps it until the next `clear`."""
        for folder in self._folders():
            _remove(folder)

    def _folders(self) -> tuple[Path, ...]:
        return (self._memory,) if self._memory == self._pids else (self._memory, self._pids)


class Held:
    """The group of one driver that is about to start, and the thread that moves it in; where there is none, nothing."""

    def __init__(self, ground: Ground | None, outer: int) -> None:
        """Begin.

        Args:
            ground: where, None: nowhere.
            outer: a child of ours whose only child is, or will be, the driver.
        """
        self._ground = ground
        self._group: Group | None = None
        self._kills = 0
        self._trouble = OSError(errno.ESRCH, os.strerror(errno.ESRCH), "cgroup.procs")
        self._is_inside = False
        self._gone = threading.Event()
        self._mover = threading.Thread(target=self._move, args=(outer,), daemon=True)
        self._mover.start()

    def limit(self, memory_bytes: int) -> None:
        """Wait until the driver is inside, and bound its memory.

        Raises:
            OSError: the kernel refuses.
        """
        if self._ground is None:
            return
        self._mover.join(_MOVE_S)
        if self._group is None or not self._is_inside:
            raise self._trouble
        self._group.limit(memory_bytes + SPARE_BYTES)

    def has_killed(self) -> bool:
        """True when a process was killed for want of memory since this was asked last."""
        before, self._kills = self._kills, self._group.kills() if self._group else 0
        return self._kills > before

    def close(self) -> None:
        """Give the group back; call it when all processes of the sandbox are gone."""
        self._gone.set()
        self._mover.join()
        if self._group:
            self._group.remove()

    def _move(self, outer: int) -> None:
        if self._ground is None:
            return
        try:
            self._group = Group(self._ground)
            while not self._gone.is_set() and os.waitid(os.P_PID, outer, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if inner := children(outer):
                    self._group.take(inner[0])
                    self._is_inside = True
                    return
                self._gone.wait(_PAUSE_S)
        except OSError as error:
            self._trouble = error


def clear(ground: Ground) -> None:
    """Remove the groups that processes of ours left when they were killed, and kill what is still in them."""
    for folder in {ground.memory, ground.pids}:
        for group in folder.glob("crucibleforge-*"):
            if (found := _NAME.fullmatch(group.name)) and _is_stale(*map(int, found.groups())):
                for pid in map(int, _read(str(group / "cgroup.procs")).split()):
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
                _remove(group)


def _is_stale(namespace: int, pid: int, started: int) -> bool:
    return namespace == _namespace() and _started(pid) != started


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _EMPTY_S
    while True:
        try:
            return folder.rmdir()
        except FileNotFoundError:
            return None
        except OSError:  # a dead process is still being taken out
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE_S)


def _namespace() -> int:
    """The process namespace that our numbers belong to."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _started(pid: int) -> int:
    """When a process started, in ticks since boot (field 22 of proc_pid_stat(5)); 0 if there is none."""
    text = _read(f"/proc/{pid}/stat")
    return int(text.rpartition(")")[2].split()[19]) if text else 0


def _write(path: Path, value: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, str(value).encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(fd)


def _disproof(ground: Ground) -> str:
    """Why groups must not be relied on here; "" when one refused a fork and killed a hog."""
    group = Group(ground, processes=1)
    victim = subprocess.Popen(  # noqa: S603 - our own interpreter and text
        (sys.executable, "-I", "-S", "-c", _VICTIM), env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said = b""
    try:
        group.limit(_PROOF_BYTES)
        group.take(victim.pid)
        with suppress(subprocess.TimeoutExpired):
            said, _ = victim.communicate(b"\n", timeout=_PROOF_S)
        if victim.returncode != -signal.SIGKILL or not group.kills():
            return f"{ground.memory}: the bound on memory does not hold"
    finally:
        victim.kill()
        victim.communicate()
        group.remove()
    return "" if said == b"bounded\n" else f"{ground.pids}: the bound on processes does not hold"
