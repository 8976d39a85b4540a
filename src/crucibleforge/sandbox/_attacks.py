"""What the self-test runs inside a sandbox: hostile probes, each of which must fail, and a program that must not.

The host hands this text to the driver as if a model had written it. A probe that got through does no harm: it writes
one empty file and removes it, asks for memory that it never touches, aims at a process that cannot be.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import socket
from collections.abc import Callable
from typing import Any

ATTACH = 16
"""PTRACE_ATTACH (linux/ptrace.h)."""
NEW_USER = 0x10000000
"""CLONE_NEWUSER (linux/sched.h)."""
TIOCSTI = 0x5412
PATH_OF_PROGRAM = 31
"""AT_EXECFN (linux/auxvec.h): the end of the block that holds arguments and environment."""
NETLINK, VSOCK = 16, 40
NOBODYS_PID = 0x3FFFFFFF
"""Above every pid that Linux gives (PID_MAX_LIMIT is 2^22)."""
MEMORY_BYTES = 1 << 30
MOST_FOLDERS = 3000
"""A sandbox has a few hundred; a whole machine is not to be walked."""
ENVIRONMENT_BYTES = 4096
"""The canary, the seed of the hashes and a few words of bubblewrap's fit in several times."""
LOW_PIDS = range(1, 100)
"""Those of a young namespace, or of the services of a machine."""


def probe(part: str, task: dict[str, Any]) -> dict[str, Any]:
    """All that the host asks for: `hostile` with a task, or `honest` with numbers."""
    return hostile(task) if part == "hostile" else honest(task["numbers"])


def hostile(task: dict[str, Any]) -> dict[str, str]:
    """The outcome of every probe: the name of the error it met, or what it got.

    `task` holds what the host has put up to be found: `port` of a listener, `canary` in the environment, `pid` of a
    process; and `calls`, the numbers by name of all system calls that have to be refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def ask(name: str, *args: int) -> int:
        done: int = getattr(libc, name)(*map(ctypes.c_long, args))
        if done == -1:
            raise OSError(ctypes.get_errno(), name)
        return done

    probes: dict[str, Callable[[], Any]] = {
        "read /etc/passwd": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "list /home": lambda: " ".join(sorted(entry.name for entry in os.scandir("/home"))),
        "list /proc": lambda: os.scandir("/proc").close(),
        "list /sys": lambda: os.scandir("/sys").close(),
        "write": writable,
        "touch a device": lambda: os.utime("/dev/null"),
        "open an AF_INET socket": lambda: socket.socket(socket.AF_INET),
        "open an AF_UNIX socket": lambda: socket.socket(socket.AF_UNIX),
        "open an AF_NETLINK socket": lambda: socket.socket(NETLINK, socket.SOCK_RAW),
        "open an AF_VSOCK socket": lambda: socket.socket(VSOCK),
        "connect to 127.0.0.1": lambda: socket.create_connection(("127.0.0.1", task["port"]), timeout=1),
        "make a user namespace": lambda: ask("unshare", NEW_USER),
        "debug a process": lambda: ask("ptrace", ATTACH, NOBODYS_PID, 0, 0),
        "type into the terminal": lambda: fcntl.ioctl(0, TIOCSTI, b"\n"),
        "call what is forbidden": lambda: allowed(ask, task["calls"]),
        "start a process": fork,
        "start a program": lambda: os.execv("/nonexistent", ("x",)),  # noqa: S606 - it must not be started
        "open a memory file": lambda: os.memfd_create("x"),
        "allocate 1 GiB": lambda: mmap.mmap(-1, MEMORY_BYTES).close(),
        "signal pid 1": lambda: os.kill(1, 0),
        "see other processes": others,
        "see a process of the host": lambda: canary_process(task["pid"]),
        "find the environment of the host": lambda: canary(task["canary"]),
        "become root": lambda: os.setuid(0),
    }
    return {name: outcome(action) for name, action in probes.items()}


def outcome(action: Callable[[], Any]) -> str:
    """The name of the error that this met, its text when it got one, else `done`."""
    try:
        got = action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return got if isinstance(got, str) else "done"


def writable() -> str:
    """The folders in which a file can be made, with their sizes; `nowhere` when all are read-only."""
    found = []
    for number, (folder, names, _) in enumerate(os.walk("/")):
        if number == MOST_FOLDERS:
            found.append(f"more than {MOST_FOLDERS} folders")
            break
        if folder == "/":
            names[:] = [name for name in names if name not in {"proc", "sys"}]
        path = f"{folder}/crucibleforge-probe"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except OSError as error:
            if error.errno != errno.EROFS:
                found.append(f"{folder} {errno.errorcode.get(error.errno or 0, '')}")
            continue
        os.unlink(path)  # noqa: PTH108 - pathlib is not needed and slow to load
        space = os.statvfs(folder)
        found.append(f"{folder} {space.f_blocks * space.f_frsize >> 20} MiB")
    return ", ".join(found[:5]) or "nowhere"


def allowed(ask: Callable[..., int], calls: dict[str, int]) -> str:
    """Which of these system calls did not meet EPERM; `none` when all did."""

    def met(number: int) -> str:
        # Minus one is a bad pointer, a bad descriptor and a bad flag, so what got through would do nothing.
        return outcome(lambda: ask("syscall", number, -1, -1, -1, -1, -1, -1))

    return " ".join(name for name, number in calls.items() if met(number) != "EPERM") or "none"


def fork() -> None:
    """Make a child that ends at once."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def others() -> str:
    """Low pids, other than the driver's and our own, that belong to somebody; `none` when all are free."""

    def is_taken(pid: int) -> bool:
        return outcome(lambda: os.getpgid(pid)) != "ESRCH"

    return " ".join(str(pid) for pid in LOW_PIDS if pid not in {1, os.getpid()} and is_taken(pid)) or "none"


def canary_process(pid: int) -> int:
    """The process group of a process of the host."""
    if pid in {1, os.getpid()}:  # its number means somebody else in here
        raise ProcessLookupError(errno.ESRCH, "not visible")
    return os.getpgid(pid)


def canary(text: str) -> str:
    """Whether this stands where the kernel put the environment that the driver was started with; `absent` is the hope.

    The driver clears what Python and C see of it, but the block itself stays on its stack.
    """
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype, getauxval.argtypes = ctypes.c_ulong, (ctypes.c_ulong,)
    end = getauxval(PATH_OF_PROGRAM)
    return "found" if text.encode() in ctypes.string_at(end - ENVIRONMENT_BYTES, ENVIRONMENT_BYTES) else "absent"


def honest(numbers: list[int]) -> dict[str, Any]:
    """What decent solutions use, and what a wall that is too narrow would break first."""
    import asyncio  # noqa: PLC0415 - slow to load, and the attacks do without
    import threading  # noqa: PLC0415 - as above
    from dataclasses import asdict, dataclass  # noqa: PLC0415 - as above

    @dataclass
    class Sums:
        awaited: int
        threaded: int

    async def double(number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    async def doubled() -> int:
        return sum(await asyncio.gather(*map(double, numbers)))

    total: list[int] = []
    threads = [threading.Thread(target=total.append, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return asdict(Sums(asyncio.run(doubled()), sum(total)))
