"""The driver: what runs inside a sandbox, forks one child a call, and lets only that child touch the code.

Started as `python -P -s -S -B -c <this text>`, so it may use the standard library only. It has a conversation with the
host over its stdin and stdout, one JSON object a line:

    out  {"ready": 1}
    in   {"source": str, "entry": str, "form": str, "containers": [str], "limits": {...}, "filter": base64,
          "play": str}
    in   {"n": nonce, "args": [...], "cpu_s": float}      one a call, the next only after the answer
    out  CPU {"n": nonce, "value": ...}  or  CPU {"n": nonce, "raised": [kind, message, at, step]}
         or  CPU {"n": nonce, "broken": reason}

`play` is the text of our `_play.py`, `filter` the seccomp program that every child puts on. CPU is the call's CPU time
in microseconds, 15 digits. The end of stdin ends the driver, at any moment; where it is pid 1 the kernel then ends
everything else in there. A child answers over a private pipe. The driver passes on at most one line of it, unread,
and puts its own measure of the CPU time before it: a child that forges a line has forged an answer, which still has
to be right. Nothing a child does reaches the driver's stdout or stderr, so text on stderr is trouble of the sandbox
and never of the program.
"""

from __future__ import annotations

import binascii
import gc
import json
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

READY = 1
STACK_BYTES = 64 * 1024 * 1024
FILE_BYTES = 16 * 1024 * 1024
OPEN_FILES = 64
ENVELOPE_BYTES = 4096
"""What a line may hold beyond the value: nonce, keys, a cut message."""
CONFINED = b"+"
"""A child's first byte: from here on the code is to blame for what happens."""
CONFINE_S = 60.0
"""How long a loaded machine may take to confine a child; a millisecond is usual."""
TURNS = 10
"""At each end of the wall time a child goes on that took this part of its CPU time since the last one: it runs, but
seldom gets its turn. So it gets that many times its wall time at most, and one that only waits gets it once."""

# Bound before the code can replace them.
_dumps, _write, _exit = json.dumps, os.write, os._exit


def main() -> None:
    """Say ready, read the task, answer calls until stdin ends."""
    _withdraw()
    lines = _Lines()
    _send(1, json.dumps({"ready": READY}).encode())
    if (first := lines.read()) is None:
        return
    task = _Task(json.loads(first))
    gc.freeze()
    while (line := lines.read()) is not None:
        cpu_s, answer = _answered(task, json.loads(line))
        _send(1, b"%015d %b" % (round(cpu_s * 1e6), answer))


def _withdraw() -> None:
    """Put the driver out of the children's reach: no environment, no signals, no debugger."""
    os.environ.clear()
    # Pid 1 is deaf to signals from its own namespace unless it has a handler for them, and Python sets this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        import ctypes  # noqa: PLC0415 - some builds of Python lack it

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: no ptrace, no /proc/<pid>/mem
    except (ImportError, OSError, AttributeError):
        pass


def _seal(program: bytes) -> Callable[[], None]:
    """What puts this seccomp program on the process that calls it, for good; nothing where it is empty."""
    if not program:
        return lambda: None
    import ctypes  # noqa: PLC0415 - as above, but then there is no sandbox

    class SockFprog(ctypes.Structure):  # of seccomp(2)
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    whole = SockFprog(len(program) // 8, program)

    def seal() -> None:
        # PR_SET_NO_NEW_PRIVS, without which only root may, then PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
        if prctl(38, 1, None, 0, 0) or prctl(22, 2, ctypes.addressof(whole), 0, 0):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return seal


class _Lines:
    """Lines of stdin without read-ahead that a child could inherit: the host sends one and waits."""

    def __init__(self) -> None:
        self._held = b""

    def read(self) -> bytes | None:
        """The next line, None at the end of stdin."""
        parts = [self._held]
        while b"\n" not in parts[-1]:
            block = os.read(0, 1 << 16)
            if not block:
                return None
            parts.append(block)
        line, _, self._held = b"".join(parts).partition(b"\n")
        return line


def _send(fd: int, line: bytes) -> None:
    left = memoryview(line + b"\n")
    while left:
        left = left[_write(fd, left) :]


class _Task:
    """What the host has sent, as every child needs it. Made before the first of them: the code can reach none of it."""

    def __init__(self, sent: dict[str, Any]) -> None:
        self.limits = sent["limits"]
        self._seal = _seal(binascii.a2b_base64(sent["filter"]))
        self._sent = sent
        self._play: dict[str, Any] = {"__name__": "play"}
        exec(sent["play"], self._play)  # noqa: S102 - our own text

    def confine(self, cpu_s: float, writer: int) -> None:
        """Take from this process what the code must not have."""
        _confine({**self.limits, "cpu_s": cpu_s}, writer)
        self._seal()

    def answer(self, call: dict[str, Any]) -> bytes:
        """Run the code; give the line that says what came of it."""
        line: bytes = self._play["answer"](self._sent, call)
        return line


def _answered(task: _Task, call: dict[str, Any]) -> tuple[float, bytes]:
    """The CPU seconds and the one line of one call, whatever the child does."""
    limits = {**task.limits, "cpu_s": call["cpu_s"]}
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(task, call, writer)
    os.close(writer)
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(0, 0)  # only its hanging up
    _await_confined(poll, reader, child)
    most = limits["answer_bytes"] + ENVELOPE_BYTES
    said, in_time = _listen(poll, reader, most, _Watch(child, limits["cpu_s"], limits["wall_s"]))
    status, cpu_s = _end(child)
    said += _rest(reader, most - len(said))
    os.close(reader)
    return cpu_s, _verdict(call["n"], said, _limit(limits, in_time, cpu_s, len(said) > most), status)


def _await_confined(poll: select.poll, reader: int, child: int) -> None:
    """Wait until the code begins; only then does its wall time. Trouble ends the driver, with a word on stderr."""
    first = os.read(reader, 1) if _is_readable(poll, CONFINE_S) else b""
    if first != CONFINED:
        _end(child)
        said = first + _rest(reader, ENVELOPE_BYTES)
        sys.exit(f"a call could not be confined: {said.decode(errors='replace') or 'its process ended'}")


def _is_readable(poll: select.poll, seconds: float) -> bool:
    """Wait for the child to speak or to end; if the host goes first, so do we."""
    ready = [fd for fd, _ in poll.poll(seconds * 1000 + 1)]
    if 0 in ready:
        _exit(0)
    return bool(ready)


def _limit(limits: dict[str, Any], in_time: bool, cpu_s: float, is_long: bool) -> tuple[str, str] | None:
    """The limit that a call ran into, in words; None: into none."""
    if cpu_s >= limits["cpu_s"]:
        return "time limit", f"more than {limits['cpu_s']:.3g} s of CPU"
    if not in_time:
        return "time limit", f"more than {limits['wall_s']:.3g} s"
    return ("output limit", f"more than {limits['answer_bytes']} bytes") if is_long else None


def _verdict(nonce: str, said: bytes, limit: tuple[str, str] | None, status: int) -> bytes:
    if limit:
        return _raised(nonce, *limit)
    if b"\n" not in said:
        ended = (
            f"by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"with status {os.WEXITSTATUS(status)}"
        )
        return _raised(nonce, "exit", f"ended {ended} before it answered")
    line, _, extra = said.partition(b"\n")
    return line if not extra else _line(nonce, "broken", "the program broke the protocol: more than one answer")


class _Watch:
    """The time of a child. Its CPU time decides; its wall time is for what only waits."""

    def __init__(self, child: int, cpu_s: float, wall_s: float, now: Callable[[], float] = time.monotonic) -> None:
        # The scheduler's clock of another process (clock_getcpuclockid(3)); it needs no /proc.
        self._clock = (~child << 3) | 2
        self._cpu_s = cpu_s
        self._wall_s = wall_s
        self._used_s = 0.0
        self._now = now
        self._turn = now() + wall_s

    def left_s(self) -> float:
        """How long a single thread can go on before it must be looked at again; not above 0: it is late."""
        now, used_s = self._now(), self._cpu()
        if now >= self._turn:
            if used_s - self._used_s < self._cpu_s / TURNS:
                return 0.0
            self._used_s, self._turn = used_s, now + self._wall_s
        return min(self._cpu_s - used_s, self._turn - now)

    def _cpu(self) -> float:
        try:
            return time.clock_gettime(self._clock)
        except OSError:  # not on this system; the kernel's own limit is left, and what the child took in the end
            return 0.0


def _listen(poll: select.poll, reader: int, most: int, watch: _Watch) -> tuple[bytes, bool]:
    """What the child said up to a line's end, its own end or beyond `most`; False when it was too late for that."""
    said = bytearray()
    while (left_s := watch.left_s()) > 0:
        if not _is_readable(poll, left_s):
            continue
        block = os.read(reader, 1 << 16)
        said += block
        if not block or b"\n" in block or len(said) > most:
            return bytes(said), True
    return bytes(said), False


def _end(child: int) -> tuple[int, float]:
    """Kill the child and all it left behind; its wait status and the CPU seconds it took."""
    is_init = os.getpid() == 1
    # From pid 1 this reaches every process of the namespace but itself, in one step that no fork can outrun.
    os.kill(-1 if is_init else child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    while is_init:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return status, usage.ru_utime + usage.ru_stime


def _rest(reader: int, most: int) -> bytes:
    """What is left in the pipe, up to one byte more than `most`; does not wait for writers that live on."""
    os.set_blocking(reader, False)
    said = bytearray()
    while len(said) <= most:
        try:
            block = os.read(reader, 1 << 16)
        except BlockingIOError:
            break
        if not block:
            break
        said += block
    return bytes(said)


def _line(nonce: str, key: str, value: Any) -> bytes:
    return _dumps({"n": nonce, key: value}).encode()


def _raised(nonce: str, kind: str, message: str) -> bytes:
    return _line(nonce, "raised", [kind, message, "", 0])


def _be_child(task: _Task, call: dict[str, Any], writer: int) -> NoReturn:
    """Everything after `confine` is in the code's power; it ends by answering or by dying."""
    try:
        # Made beforehand: when this is needed, there is no memory to make it.
        out_of_memory = _raised(call["n"], "memory limit", f"more than {task.limits['memory_bytes']} bytes") + b"\n"
        try:
            task.confine(call["cpu_s"], writer)
        except Exception as error:  # noqa: BLE001 - whatever it is, the code must not run
            _write(writer, str(error).encode())
            _exit(1)
        _write(writer, CONFINED)
        try:
            _send(writer, task.answer(call))
        except MemoryError:
            _write(writer, out_of_memory)
    finally:
        # The code's threads, exit handlers and open files get no further turn.
        _exit(0)


def _confine(limits: dict[str, Any], writer: int) -> None:
    # Opened here: flags and locks of an open file that calls share would carry news from one to the next.
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, writer)
    os.closerange(writer + 1, 256)
    # Behind the driver's watch. The kernel counts this one in ticks, so it gets a second more.
    cpu_s = math.ceil(limits["cpu_s"]) + 1
    bounds = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_AS: (limits["memory_bytes"],) * 2,
        # Honest code may ask for more; the bound on memory holds for the stack too.
        resource.RLIMIT_STACK: (STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[1]),
        resource.RLIMIT_FSIZE: (FILE_BYTES,) * 2,
        resource.RLIMIT_NOFILE: (OPEN_FILES,) * 2,
        resource.RLIMIT_CORE: (0, 0),
    }
    if limits["processes"]:
        bounds[resource.RLIMIT_NPROC] = (limits["processes"],) * 2
    for name, (soft, hard) in bounds.items():
        most = resource.getrlimit(name)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)  # noqa: PLW2901 - only root may raise them
        resource.setrlimit(name, (soft, hard))


if __name__ == "__main__":
    main()
