from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Raised
from crucibleforge.sandbox._cgroup import Ground, Group, Held, clear, ground, grounds, level
from crucibleforge.sandbox._driven import Driven

MIB = 1 << 20
PROGRAM = Program("def f():\n    return 1\n", "f", (Call(()),))
V1_OWN = "8:pids:/\n4:memory:/jobs/7\n9:name=systemd:/\n0::/\n"
V1_MOUNTS = (
    "30 25 0:26 / /cg/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "31 25 0:27 / /cg/pids rw,relatime - cgroup cgroup rw,pids\n"
    "32 25 0:28 / /cg/unified rw,relatime - cgroup2 cgroup2 rw\n"
    "33 25 0:29 / /cg/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
)
HOG = f"import sys\nsys.stdin.readline()\nblock = bytearray({64 * MIB})\nsys.stdin.readline()\n"
FORKS = "import os, sys\nsys.stdin.readline()\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\n"
WAITS = "import sys\nsys.stdin.readline()\n"


@pytest.fixture(scope="module")
def place():
    found = ground()
    if isinstance(found, str):
        pytest.skip(f"no cgroup can be made here: {found}")
    return found


@pytest.fixture
def group(place):
    made = Group(place, processes=1)
    yield made
    made.remove()
    assert not made._memory.exists()
    assert not made._pids.exists()


@pytest.fixture
def start():
    """Start this text as a Python that waits for a line before it does what it does."""
    started = []

    def begin(text, *wrapper):
        command = (*wrapper, sys.executable, "-I", "-S", "-c", text)
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


CROWD = """
import os, signal

def f():
    for _ in range(3):
        if os.fork() == 0:
            block = bytearray(100 << 20)
            signal.pause()
    os.wait()
    return "one is gone"
"""


def dead_number():
    process = subprocess.Popen(("true",))
    process.wait()
    return process.pid


def until(claim):
    deadline = time.monotonic() + 2
    while not claim() and time.monotonic() < deadline:
        time.sleep(0.001)
    return claim()


def test_version_1_is_used_below_our_own_groups():
    assert grounds(V1_OWN, V1_MOUNTS) == [Ground(Path("/cg/memory/jobs/7"), Path("/cg/pids"), 1)]


def test_a_mount_of_a_part_of_the_hierarchy_is_understood():
    mounts = V1_MOUNTS.replace("0:26 / /cg/memory", "0:26 /jobs /cg/memory")
    assert grounds(V1_OWN, mounts) == [Ground(Path("/cg/memory/7"), Path("/cg/pids"), 1)]


@pytest.mark.parametrize("own", ["4:memory:/elsewhere\n8:pids:/\n", "4:memory:/../..\n8:pids:/\n", "8:pids:/\n", ""])
def test_groups_out_of_sight_are_not_tried(own):
    assert grounds(own, V1_MOUNTS.replace("0:26 / /cg/memory", "0:26 /jobs /cg/memory")) == []


@pytest.mark.parametrize(
    ("own", "parent", "chosen"),
    [
        ("cpu memory pids", "memory pids", ["user/session", "user"]),
        ("", "memory pids", ["user"]),
        ("memory", "pids", []),
    ],
)
def test_version_2_is_used_where_both_controllers_are_switched_on(tmp_path, own, parent, chosen):
    (tmp_path / "user" / "session").mkdir(parents=True)
    (tmp_path / "user" / "session" / "cgroup.subtree_control").write_text(own)
    (tmp_path / "user" / "cgroup.subtree_control").write_text(parent)
    mounts = f"32 25 0:28 / {tmp_path} rw,relatime - cgroup2 cgroup2 rw\n"
    assert grounds("0::/user/session\n", mounts) == [Ground(tmp_path / name, tmp_path / name, 2) for name in chosen]


def test_a_folder_that_is_no_cgroup_is_refused_and_left_as_it_was(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        Group(Ground(tmp_path, tmp_path, 2))
    assert error.value.filename.endswith("/pids.max")
    assert list(tmp_path.iterdir()) == []


def test_the_level_names_a_cgroup_only_where_one_was_proven():
    assert level() == ("+cgroup" if isinstance(ground(), Ground) else "")


def test_a_hog_is_killed_and_counted(group, start):
    hog = start(HOG)
    group.limit(16 * MIB)
    group.take(hog.pid)
    assert group.kills() == 0
    hog.communicate(b"\n")
    assert (hog.returncode, group.kills()) == (-signal.SIGKILL, 1)


def test_who_stays_within_the_bound_is_left_alone(group, start):
    hog = start(HOG)
    group.limit(256 * MIB)
    group.take(hog.pid)
    hog.communicate(b"\n\n")
    assert (hog.returncode, group.kills()) == (0, 0)


def test_a_fork_beyond_the_bound_fails(group, start):
    forks = start(FORKS)
    group.take(forks.pid)
    forks.communicate(b"\n")
    assert forks.returncode == 1


def test_a_driver_is_held_before_it_is_given_anything(place, start):
    outer = start(WAITS, "sh", "-c", '"$@" <&0; exit $?', "sh")
    held = Held(place, outer.pid)
    held.limit(16 * MIB)
    inside = (held._group._memory / "cgroup.procs").read_text().split()
    assert inside == Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
    assert (held._group._pids / "cgroup.procs").read_text().split() == inside
    outer.communicate(b"\n")
    held.close()
    assert not held._group._memory.exists()


def test_a_driver_that_never_came_is_trouble_and_not_a_wait_for_ever(place, start):
    outer = start(WAITS)
    outer.kill()
    held = Held(place, outer.pid)
    with pytest.raises(ProcessLookupError):
        held.limit(16 * MIB)
    held.close()


def test_processes_that_take_too_much_together_end_at_the_memory_limit(place, sandbox):
    forking = Driven(replace(sandbox._launch, inner_filter=b"", ground=place), "may fork")
    ran = forking.run(Program(CROWD, "f", (Call(()),) * 2), Limits(memory_bytes=128 * MIB))
    assert ran.results == (Raised("memory limit", "all its processes together took too much"),) * 2


def test_a_sandbox_gives_its_group_back(place, sandbox):
    sandbox.run(PROGRAM, Limits())
    assert not [folder for folder in place.memory.iterdir() if f"-{os.getpid()}-" in folder.name]


def test_a_group_that_cannot_be_made_fails_the_sandbox_and_not_the_program(tmp_path, sandbox):
    ungrouped = Driven(replace(sandbox._launch, ground=Ground(tmp_path, tmp_path, 2)), "no group")
    with pytest.raises(CrucibleError) as error:
        ungrouped.run(PROGRAM, Limits())
    assert error.value.message.startswith("the sandbox failed: [Errno 2] No such file or directory")


def test_what_a_killed_process_left_is_removed_with_all_that_is_in_it(place, start):
    space = Path("/proc/self/ns/pid").stat().st_ino
    left = {folder / f"crucibleforge-{space}-{dead_number()}-1-0" for folder in (place.memory, place.pids)}
    waits = start(WAITS)
    for folder in left:
        folder.mkdir()
        (folder / "cgroup.procs").write_text(str(waits.pid))
    clear(place)
    assert waits.wait() == -signal.SIGKILL
    assert until(lambda: clear(place) or not any(folder.exists() for folder in left))


def test_groups_of_the_living_and_of_others_are_kept(place, group):
    kept = [place.memory / "crucibleforge-1-1-1-0", place.memory / f"crucibleforge-other-{os.getpid()}"]
    for folder in kept:
        folder.mkdir()
    try:
        clear(place)
        assert all(folder.exists() for folder in (*kept, group._memory))
    finally:
        for folder in kept:
            with suppress(FileNotFoundError):
                folder.rmdir()
