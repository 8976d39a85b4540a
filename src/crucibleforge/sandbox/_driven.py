"""Sandboxes that work by our driver: start one, hold the conversation, end it. See `_driver` for the protocol.

Every program gets a driver of its own, which forks for every call. The clock, the nonces and the verdict stay out
here, and so do the expected answers: a `Program` has no place for them.

Call `run` from one long-lived thread: bubblewrap's `--die-with-parent` follows the thread that started it, so a
thread that ends takes its sandbox along.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from crucibleforge.errors import CrucibleError, Stopped
from crucibleforge.programs import Limits, Program, Raised, Ran, Returned
from crucibleforge.sandbox._answers import Breach, Broken, decode, is_ready

DRIVER = Path(__file__).with_name("_driver.py").read_text(encoding="utf-8")
FLAGS = ("-P", "-s", "-S", "-B", "-c")
"""Isolated, as by `-I`, but for `HASH_SEED`, which `-I` would pass over."""
HASH_SEED = ("PYTHONHASHSEED", "0")
"""Fixed, so that a program which leans on the order of a set gets the same verdict each time it is marked."""

_TICK_S = 0.05
"""How late `stop` may be noticed."""
_READY_S = 20.0
"""A loaded machine may take this long to start a Python."""
_START_S = 2.0
"""Nothing is killed before it is ready, unless this has passed: an early kill can leave half a sandbox behind."""
_END_S = 0.2
"""What a driver gets to end by itself once its stdin has ended; 5 ms are usual."""
_SPARE_S = 5.0
"""The driver keeps the time of a call; this long after that it counts as gone."""
_ENVELOPE_BYTES = 8192
_COMPLAINT_BYTES = 65536
_LATE_CALLS = 3
_NOT_TRIED = Raised("time limit", "not tried: three calls before it ran out of time")


@dataclass(frozen=True)
class Launch:
    """How to start a driver.

    `uid` is the user and group to drop to, None to stay. `processes` bounds the number of processes and threads of a
    call, 0: no bound. With `scratch` it starts in an empty folder that is deleted afterwards, else in `/`.
    `environment` is all that it finds there.
    """

    argv: tuple[str, ...]
    uid: int | None = None
    processes: int = 0
    scratch: bool = False
    environment: tuple[tuple[str, str], ...] = ()


def as_user(uid: int | None) -> dict[str, Any]:
    """Arguments of `Popen` that drop to a user and its group, and out of all others; none for None."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


class Driven:
    """A `Sandbox` that starts one driver a program."""

    def __init__(self, launch: Launch, isolation: str) -> None:
        self.isolation = isolation
        self._launch = launch
        self._stopped = False

    def run(self, program: Program, limits: Limits) -> Ran:
        """Give every call to the program, in order; see `Sandbox.run`."""
        with self._folder() as folder:
            session = _Session(self._launch, folder, lambda: self._stopped)
            try:
                with closing(session):
                    session.greet()
                    session.load(program, limits)
                    results = _results(session, program)
            except Breach as breach:
                if session.complaint:
                    raise _no_start(session.complaint) from breach
                results = Broken(f"the program broke the protocol: {breach}")
        if isinstance(results, Broken):
            return Ran((), self.isolation, results.reason)
        return Ran(results, self.isolation)

    def stop(self) -> None:
        """End what runs now, and whatever is asked for later; safe in any thread and in a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Nothing outlives a run."""

    def _folder(self) -> AbstractContextManager[str]:
        if self._launch.scratch:
            return TemporaryDirectory(prefix="crucibleforge-", ignore_cleanup_errors=True)
        return nullcontext("/")


def _results(session: _Session, program: Program) -> tuple[Returned | Raised, ...] | Broken:
    results: list[Returned | Raised] = []
    late = 0
    for call in program.calls:
        answer = _NOT_TRIED if late == _LATE_CALLS else session.call(call.args)
        if isinstance(answer, Broken):
            return answer
        if isinstance(answer, Raised) and answer.kind == "time limit" and answer is not _NOT_TRIED:
            late += 1
        results.append(answer)
    return tuple(results)


def _no_start(reason: str) -> CrucibleError:
    return CrucibleError(
        f"the sandbox failed: {reason}", hint="`crucibleforge status` shows which sandbox this machine can use"
    )


class _Session:
    """One driver, and the conversation with it. Every wait is bounded and notices a stop."""

    def __init__(self, launch: Launch, folder: str, is_stopped: Callable[[], bool]) -> None:
        self.complaint = ""
        self._is_stopped = is_stopped
        self._processes = launch.processes
        self._is_ready = False
        self._answer_bytes = 0
        self._wall_s = 0.0
        if is_stopped():
            raise Stopped("stopped")
        try:
            self._driver = subprocess.Popen(  # noqa: S603 - the command is ours; the program is not in it
                launch.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=dict(launch.environment),
                cwd=folder,
                start_new_session=True,
                **as_user(launch.uid),
            )
        except OSError as error:
            raise _no_start(f"{error.filename or launch.argv[0]}: {error.strerror}") from error
        self._stdin, self._stdout, self._stderr = (
            _unblocked(stream) for stream in (self._driver.stdin, self._driver.stdout, self._driver.stderr)
        )

    def greet(self) -> None:
        """Wait for the driver.

        Raises:
            CrucibleError: it does not come up, or something else does.
        """
        try:
            line = self._receive(_ENVELOPE_BYTES, time.monotonic() + _READY_S)
        except Breach:
            self.close()
            raise _no_start(self.complaint or "its driver did not start") from None
        if not is_ready(line):
            raise _no_start("its driver speaks another protocol")
        self._is_ready = True

    def load(self, program: Program, limits: Limits) -> None:
        """Hand over the code; nothing of it runs before the first call."""
        self._answer_bytes, self._wall_s = limits.answer_bytes, limits.wall_s
        bounds = {**msgspec.structs.asdict(limits), "processes": self._processes}
        self._send({"source": program.source, "entry": program.entry, "limits": bounds}, self._deadline())

    def call(self, args: tuple[Any, ...]) -> Returned | Raised | Broken:
        """The program's answer to one input.

        Raises:
            Breach: what came back is no answer.
            Stopped: somebody called `stop`.
        """
        nonce = secrets.token_hex(8)
        deadline = self._deadline()
        self._send({"n": nonce, "args": args}, deadline)
        return decode(self._receive(self._answer_bytes + _ENVELOPE_BYTES, deadline), nonce)

    def close(self) -> None:
        """End the driver and all below it, and keep what it complained of in `complaint`."""
        assert self._driver.stdin
        if self._driver.returncode is not None:
            return
        self._driver.stdin.close()
        self._drain(_END_S if self._is_ready else _START_S)
        # Not reaped yet, so the number still means this group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._driver.pid, signal.SIGKILL)
        self._drain(_END_S)
        self._driver.wait()
        self.complaint = _last_line(self._stderr)
        for stream in (self._driver.stdout, self._driver.stderr):
            assert stream
            stream.close()

    def _deadline(self) -> float:
        return time.monotonic() + self._wall_s + _SPARE_S

    def _send(self, message: dict[str, Any], deadline: float) -> None:
        left = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        while left:
            self._wait(self._stdin, select.POLLOUT, deadline)
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise Breach("it ended early") from None

    def _receive(self, most: int, deadline: float) -> bytes:
        """One line without its end; more than one, or more than `most` bytes, is a breach."""
        said = bytearray()
        block = b""
        while b"\n" not in block:
            if len(said) > most:
                raise Breach("its answer is too long")
            self._wait(self._stdout, select.POLLIN, deadline)
            block = os.read(self._stdout, 1 << 16)
            if not block:
                raise Breach("it ended early")
            said += block
        line, _, extra = said.partition(b"\n")
        if extra:
            raise Breach("it said more than was asked for")
        return bytes(line)

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        while not self._is_stopped():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Breach("no answer in time")
            if poll.poll(min(left_s, _TICK_S) * 1000):
                return
        raise Stopped("stopped")

    def _drain(self, seconds: float) -> None:
        """Read stdout to its end, which comes when the last process that holds it has gone."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            if poll.poll(left_s * 1000) and not os.read(self._stdout, 1 << 16):
                return


def _unblocked(stream: Any) -> int:
    fd: int = stream.fileno()
    os.set_blocking(fd, False)
    return fd


def _last_line(fd: int) -> str:
    try:
        text = os.read(fd, _COMPLAINT_BYTES).decode(errors="replace").strip()
    except BlockingIOError:  # somebody still holds the other end, and has said nothing
        return ""
    return text.splitlines()[-1] if text else ""
