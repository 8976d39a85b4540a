from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Returned
from crucibleforge.sandbox._driven import Driven
from crucibleforge.sandbox._reaper import adopt, children, sweep
from crucibleforge.sandbox.bwrap import here

PROGRAM = Program("def f(x):\n    return x\n", "f", (Call((1,)),))
PR_GET_CHILD_SUBREAPER = 37
HIDDEN = "import ctypes, time\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nprint(flush=True)\ntime.sleep(60)"
ORPHAN = "import os, time\nif os.fork() == 0:\n    print(os.getpid(), flush=True)\n    time.sleep(60)\ntime.sleep(60)"


@pytest.fixture
def boxed():
    """Start a Python in a process namespace of its own, and wait until it says something."""
    started = []
    bubblewrap = here().bubblewraps[0].path

    def begin(text):
        command = (bubblewrap, "--unshare-user", "--unshare-pid", "--as-pid-1", "--bind", "/", "/", "--")
        outer = subprocess.Popen((*command, sys.executable, "-I", "-S", "-c", text), stdout=subprocess.PIPE)
        started.append(outer)
        outer.stdout.readline()
        return outer

    adopt()
    yield begin
    for outer in started:
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(outer.pid).children(recursive=True):
                process.kill()
        outer.kill()
        outer.wait()
        outer.stdout.close()
    sweep()


def orphaned(outer):
    """Kill the outer process only; the number of the inner one."""
    (inner,) = children(outer.pid)
    outer.kill()
    outer.wait()
    return inner


@pytest.mark.slow
def test_nothing_happens_before_a_sandbox_is_opened():
    script = (
        "import ctypes\n"
        "def now():\n"
        "    value = ctypes.c_int(-1)\n"
        f"    ctypes.CDLL(None).prctl({PR_GET_CHILD_SUBREAPER}, ctypes.byref(value), 0, 0, 0)\n"
        "    return value.value\n"
        "from crucibleforge.sandbox._reaper import adopt\n"
        "before = now()\nadopt()\nadopt()\nprint(before, now())"
    )
    assert subprocess.run((sys.executable, "-c", script), capture_output=True, check=True).stdout == b"0 1\n"


def test_an_orphan_of_a_sandbox_is_killed_and_reaped_even_if_it_hides(boxed):
    inner = orphaned(boxed(HIDDEN))
    assert inner in children(os.getpid())
    assert sweep() == 1
    assert inner not in children(os.getpid())


def test_a_dead_orphan_of_a_sandbox_is_reaped(boxed):
    inner = orphaned(boxed(HIDDEN))
    os.kill(inner, signal.SIGKILL)
    assert sweep() == 1
    assert inner not in children(os.getpid())


def test_a_sandbox_that_lives_is_left_alone(boxed):
    outer = boxed(HIDDEN)
    (inner,) = children(outer.pid)
    assert sweep() == 0
    assert psutil.Process(inner).ppid() == outer.pid


def test_children_and_orphans_that_are_no_sandboxes_are_left_alone(boxed):
    stray = orphaned(boxed(HIDDEN))
    innocent = subprocess.Popen((sys.executable, "-I", "-S", "-c", ORPHAN), stdout=subprocess.PIPE)
    grandchild = int(innocent.stdout.readline())
    other = subprocess.Popen((sys.executable, "-I", "-S", "-c", ORPHAN), stdout=subprocess.PIPE)
    orphan = int(other.stdout.readline())
    other.kill()
    other.wait()
    other.stdout.close()
    try:
        assert orphan in children(os.getpid())
        assert sweep() == 1
        assert stray not in children(os.getpid())
        assert innocent.poll() is None
        assert {psutil.Process(pid).status() for pid in (grandchild, orphan)} == {"sleeping"}
    finally:
        innocent.kill()
        innocent.wait()
        innocent.stdout.close()
        for pid in (grandchild, orphan):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def test_two_threads_may_sweep_at_once(boxed):
    strays = {orphaned(boxed(HIDDEN)) for _ in range(2)}
    found = []
    threads = [threading.Thread(target=lambda: found.append(sweep())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 2
    assert not strays & set(children(os.getpid()))


def test_children_of_a_process_that_is_gone_are_none():
    gone = subprocess.Popen(("true",))
    gone.wait()
    assert children(gone.pid) == []


def test_children_of_all_threads_are_found():
    begun = threading.Event()
    finish = threading.Event()
    started = []

    def begin():
        started.append(subprocess.Popen(("sleep", "60")))
        begun.set()
        finish.wait()

    thread = threading.Thread(target=begin)
    thread.start()
    begun.wait()
    try:
        assert started[0].pid in children(os.getpid())
    finally:
        started[0].kill()
        started[0].wait()
        finish.set()
        thread.join()


def marked(sandbox, mark):
    """The same sandbox, with a word on every command line by which its processes are known."""
    launch = sandbox._launch
    return Driven(replace(launch, argv=(*launch.argv, mark)), sandbox.isolation)


def bearing(mark):
    """Processes of this machine with that word on their command line."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if mark in process.cmdline():
                found.append(process.pid)
    return found


def kill_early(before, delay_s, struck):
    """Kill the first new child of ours so long after it is seen."""
    while not (new := set(children(os.getpid())) - before):
        time.sleep(0.0002)
    time.sleep(delay_s)
    with suppress(ProcessLookupError):
        os.kill(min(new), signal.SIGKILL)
        struck.append(min(new))


@pytest.mark.slow
def test_a_sandbox_killed_while_it_starts_leaves_no_process(sandbox):
    mark = f"canary-{os.getpid()}"
    box = marked(sandbox, mark)
    draw = random.Random(5)
    struck, before = [], zombies()
    for _ in range(30):
        seen = set(children(os.getpid()))
        killer = threading.Thread(target=kill_early, args=(seen, draw.uniform(0, 0.015), struck))
        killer.start()
        with suppress(CrucibleError):
            assert box.run(PROGRAM, Limits()).results == (Returned(1),)
        killer.join()
    assert len(struck) > 25
    assert bearing(mark) == []
    assert zombies() <= before


def zombies():
    return {child.pid for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE}


def mounts():
    return len(Path("/proc/self/mountinfo").read_text().splitlines())


@pytest.mark.slow
def test_a_hundred_gradings_leave_no_thing_behind(sandbox):
    me = psutil.Process()

    def held():
        return me.num_fds(), me.num_threads(), len(me.children(recursive=True))

    sandbox.run(PROGRAM, Limits())
    before, mounted = held(), mounts()
    for _ in range(100):
        assert sandbox.run(PROGRAM, Limits()).results == (Returned(1),)
    assert held() == before
    deadline = time.monotonic() + 5
    while mounts() > mounted and time.monotonic() < deadline:  # somebody else's come and go
        time.sleep(0.01)
    assert mounts() <= mounted
