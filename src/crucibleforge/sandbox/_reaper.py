"""Ends what a sandbox that died too early leaves behind.

Until bubblewrap has set itself up, killing its outer process does not reliably end its inner one: that one may wait
for ever for a parent that is gone (containers/bubblewrap#633, #700). So we become the parent of our orphans, and kill
and reap those that a sandbox left.

A stray is a child of ours in a process namespace below ours. Nothing that this process starts by `subprocess` can be
one: a child moves into such a namespace only by being forked into it, so it is a grandchild whose parent has died.
`NSpid` tells, because it is readable even for processes that hide their `exe` and `ns` (non-dumpable ones).
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

_PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h"""
_END_S = 1.0
"""What the kernel gets to take a killed namespace apart; 10 ms is the worst that was seen."""
_PAUSE_S = 0.001
_one_at_a_time = threading.Lock()


def adopt() -> None:
    """Become the parent of all our orphans, once for this process; where the system has no such thing, nothing."""
    _adopt(os.getpid())


@cache
def _adopt(_pid: int) -> None:
    # Not inherited by a fork, hence once for every process number.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def sweep() -> int:
    """Kill and reap every stray; how many there were.

    Call it when a sandbox's outer process has been reaped: by then the kernel has handed over its children.
    """
    # Only one thread reaps strays, so the number of one that was found cannot come to mean another process.
    with _one_at_a_time:
        strays = list(_strays())
        for pid in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + _END_S
        for pid in strays:
            _reap(pid, deadline)
    return len(strays)


def children(pid: int) -> list[int]:
    """The children of a process, zombies too; none if it is gone."""
    tasks = Path("/proc", str(pid), "task")
    try:
        lists = [(task / "children").read_text(encoding="ascii") for task in tasks.iterdir()]
        return [int(child) for children in lists for child in children.split()]
    except (FileNotFoundError, ProcessLookupError):  # the process or a thread of it is gone, or the kernel is unusual
        with suppress(psutil.Error):
            return [child.pid for child in psutil.Process(pid).children()]
        return []


def _strays() -> Iterator[int]:
    me = os.getpid()
    own_depth = _depth(me)
    return (pid for pid in children(me) if _depth(pid) > own_depth > 0)


def _depth(pid: int) -> int:
    """In how many process namespaces, seen from here, a process has a number; 0 if that cannot be known."""
    with suppress(OSError):
        for line in Path("/proc", str(pid), "status").read_bytes().splitlines():
            if line.startswith(b"NSpid:"):
                return len(line.split()) - 1
    return 0


def _reap(pid: int, deadline: float) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
            time.sleep(_PAUSE_S)
