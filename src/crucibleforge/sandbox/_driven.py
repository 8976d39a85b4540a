"""Sandboxes that work by our driver: start one, hold the conversation, end it. See `_driver` for the protocol.

Every program gets a driver of its own, which forks for every call; one that needs a folder gets one for every call.
The clock, the nonces and the verdict stay out here, and so do the expected answers: a `Program` has no place for them.

Call `run` from one long-lived thread: bubblewrap's `--die-with-parent` follows the thread that started it, so a
thread that ends takes its sandbox along.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from crucibleforge.errors import CrucibleError, Stopped
from crucibleforge.programs import Call, Limits, Program, Raised, Ran
from crucibleforge.sandbox._answers import Answer, Breach, Broken, decode, is_ready
from crucibleforge.sandbox._cgroup import Ground, Held
from crucibleforge.sandbox._patience import Patience
from crucibleforge.sandbox._reaper import adopt, sweep

DRIVER = Path(__file__).with_name("_driver.py").read_text(encoding="utf-8")
PLAY = Path(__file__).with_name("_play.py").read_text(encoding="utf-8")
FLAGS = ("-P", "-s", "-S", "-B", "-c")
"""Isolated, as by `-I`, but for `HASH_SEED`, which `-I` would pass over."""
HASH_SEED = ("PYTHONHASHSEED", "0")
"""Fixed, so that a program which leans on the order of a set gets the same verdict each time it is marked."""

FILTER = "{filter}"
"""The word in a command that stands for the number of an open file with the outer filter."""
_TICK_S = 0.05
"""How late `stop` may be noticed."""
_READY_S = 20.0
"""A loaded machine may take this long to start a Python."""
_START_S = 2.0
"""Nothing is killed before it is ready, unless this has passed: an early kill can leave half a sandbox behind."""
_END_S = 0.2
"""What a driver gets to end by itself once its stdin has ended; 5 ms are usual."""
TURNS = 10
_SPARE_S = 65.0
"""The driver keeps the time of a call, which is `TURNS` times its wall time at most; this long after that, which is
also enough to begin one, it counts as gone."""
_PEEK_S = 0.001
_ENVELOPE_BYTES = 8192
_COMPLAINT_BYTES = 65536
_TRIES = 2
"""Who was killed together with its sandbox gets a second chance: memory may be short for another's fault."""
_TOO_MUCH = Raised("memory limit", "all its processes together took too much")
_KILLED = Raised("memory limit", "its sandbox was killed, and once more when tried again")


@dataclass(frozen=True)
class Launch:
    """How to start a driver.

    `uid` is the user and group to drop to, None to stay. `processes` bounds the number of processes and threads of a
    call, 0: no bound. With `scratch` it starts in an empty folder that is deleted afterwards, else in `/`.
    `environment` is all that it finds there. `scratch_argv` starts one that has an empty folder of its own to write
    to, for programs that need it. Both filters are seccomp programs, as the kernel takes them, empty: none. The outer
    one is handed over as an open file whose number stands for the word `{filter}` in the command; the inner one is put
    on by every call, as the last thing before it touches the code. `ground` is where a group is made that bounds it;
    then the driver is the only child of what the command starts.
    """

    argv: tuple[str, ...]
    uid: int | None = None
    processes: int = 0
    scratch: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    scratch_argv: tuple[str, ...] = ()
    outer_filter: bytes = b""
    inner_filter: bytes = b""
    ground: Ground | None = None


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
        answers: list[Answer] = []
        patience = Patience()
        try:
            with closing(_Drivers(self._launch, program, limits, lambda: self._stopped)) as drivers:
                for call in program.calls:
                    if refusal := patience.refusal(call):
                        answers.append(Answer(refusal, 0.0))
                        continue
                    answer = drivers.ask(call)
                    if isinstance(answer.result, Broken):
                        return Ran((), self.isolation, answer.result.reason)
                    patience.note(call, answer.result)
                    answers.append(answer)
        except Breach as breach:
            return Ran((), self.isolation, f"the program broke the protocol: {breach}")
        results = tuple(answer.result for answer in answers if not isinstance(answer.result, Broken))
        return Ran(results, self.isolation, cpu_s=tuple(answer.cpu_s for answer in answers))

    def stop(self) -> None:
        """End what runs now, and whatever is asked for later; safe in any thread and in a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Nothing outlives a run."""


class _Drivers:
    """The drivers of one program: one for all of its calls, or one for each if it may write to a folder."""

    def __init__(self, launch: Launch, program: Program, limits: Limits, is_stopped: Callable[[], bool]) -> None:
        if program.scratch and not (launch.scratch or launch.scratch_argv):
            raise _no_start("it has no folder to give to a program")
        self._launch = replace(launch, argv=launch.scratch_argv) if program.scratch and launch.scratch_argv else launch
        self._program = program
        self._limits = limits
        self._is_stopped = is_stopped
        self._held = ExitStack()
        self._session: _Session | None = None

    def ask(self, call: Call) -> Answer:
        """The program's answer to one input.

        Raises:
            Breach: the program broke the protocol.
        """
        for _ in range(_TRIES):
            session = self._session or self._started()
            try:
                answer = session.call(call.args, self._limits.cpu_s if call.cpu_s is None else call.cpu_s)
            except Breach as breach:
                self.close()
                if session.complaint:
                    raise _no_start(session.complaint) from breach
                if not session.was_killed:
                    raise
                continue
            if self._program.scratch:
                self.close()
            return answer
        return Answer(_KILLED, 0.0)

    def close(self) -> None:
        """End the driver that is there."""
        self._session = None
        self._held.close()

    def _started(self) -> _Session:
        folder = self._held.enter_context(self._folder())
        session = self._held.enter_context(closing(_Session(self._launch, folder, self._is_stopped)))
        session.greet()
        session.load(self._program, self._limits)
        self._session = session
        return session

    def _folder(self) -> AbstractContextManager[str]:
        if self._launch.scratch:
            return TemporaryDirectory(prefix="crucibleforge-", ignore_cleanup_errors=True)
        return nullcontext("/")


def _no_start(reason: str) -> CrucibleError:
    return CrucibleError(
        f"the sandbox failed: {reason}", hint="`crucibleforge status` shows which sandbox this machine can use"
    )


class _Session:
    """One driver, and the conversation with it. Every wait is bounded and notices a stop."""

    def __init__(self, launch: Launch, folder: str, is_stopped: Callable[[], bool]) -> None:
        self.complaint = ""
        self.was_killed = False
        self._is_stopped = is_stopped
        self._launch = launch
        self._is_ready = self._is_gone = False
        self._answer_bytes = 0
        self._wall_s = 0.0
        if is_stopped():
            raise Stopped("stopped")
        adopt()
        try:
            with _opened(launch.outer_filter) as filters:
                self._driver = subprocess.Popen(  # noqa: S603 - the command is ours; the program is not in it
                    [str(filters[0]) if filters and word == FILTER else word for word in launch.argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    pass_fds=filters,
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
        self._held = Held(launch.ground, self._driver.pid)

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
        task = {
            "source": program.source,
            "entry": program.entry,
            "form": program.form,
            "containers": program.containers,
            "limits": {**msgspec.structs.asdict(limits), "processes": self._launch.processes},
            "filter": base64.b64encode(self._launch.inner_filter).decode(),
            "play": PLAY,
        }
        try:
            self._held.limit(limits.memory_bytes)
            self._send(task, self._deadline())
        except (OSError, Breach) as error:  # nothing of the program has run yet, so it is not to blame
            raise _no_start(str(error)) from error

    def call(self, args: tuple[Any, ...], cpu_s: float) -> Answer:
        """The program's answer to one input, for which it has so much CPU time.

        Raises:
            Breach: what came back is no answer.
            Stopped: somebody called `stop`.
        """
        nonce = secrets.token_hex(8)
        deadline = self._deadline()
        self._send({"n": nonce, "args": args, "cpu_s": cpu_s}, deadline)
        answer = decode(self._receive(self._answer_bytes + _ENVELOPE_BYTES, deadline), nonce)
        return replace(answer, result=_TOO_MUCH) if self._held.has_killed() else answer

    def close(self) -> None:
        """End the driver and all below it; keep what it complained of, and whether somebody else has killed it."""
        assert self._driver.stdin
        if self._driver.returncode is not None:
            return
        self._driver.stdin.close()
        self._drain(_END_S if self._is_ready else _START_S)
        self.was_killed = self._is_gone and _was_killed(self._driver.pid)
        # Not reaped yet, so the number still means this group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._driver.pid, signal.SIGKILL)
        self._drain(_END_S)
        if self._driver.wait() or not self._is_ready:
            sweep()
        self._held.close()
        self.complaint = _last_line(self._stderr)
        for stream in (self._driver.stdout, self._driver.stderr):
            assert stream
            stream.close()

    def _deadline(self) -> float:
        return time.monotonic() + self._wall_s * TURNS + _SPARE_S

    def _send(self, message: dict[str, Any], deadline: float) -> None:
        left = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        while left:
            self._wait(self._stdin, select.POLLOUT, deadline)
            try:
                left = left[os.write(self._stdin, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._gone() from None

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
                raise self._gone()
            said += block
        line, _, extra = said.partition(b"\n")
        if extra:
            raise Breach("it said more than was asked for")
        return bytes(line)

    def _gone(self) -> Breach:
        self._is_gone = True
        return Breach("it ended early")

    def _wait(self, fd: int, event: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(fd, event)
        while not self._is_stopped():
            has_ended = self._has_ended()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Breach("no answer in time")
            if poll.poll(min(left_s, _TICK_S) * 1000):
                return
            if has_ended:  # and has left a stray behind that holds the pipes
                raise self._gone()
        raise Stopped("stopped")

    def _drain(self, seconds: float) -> None:
        """Read stdout to its end, which comes when all who hold it have gone; strays do not count."""
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            has_ended = self._has_ended()
            if poll.poll(min(left_s, _TICK_S) * 1000):
                if not os.read(self._stdout, 1 << 16):
                    return
            elif has_ended:
                return

    def _has_ended(self) -> bool:
        """True when what we started has ended; it is not reaped."""
        return os.waitid(os.P_PID, self._driver.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _unblocked(stream: Any) -> int:
    fd: int = stream.fileno()
    os.set_blocking(fd, False)
    return fd


@contextmanager
def _opened(program: bytes) -> Iterator[tuple[int, ...]]:
    """A file with a seccomp program to be handed over; nothing where it is empty."""
    if not program:
        yield ()
        return
    fd = os.memfd_create("filter")
    try:
        os.write(fd, program)
        os.lseek(fd, 0, os.SEEK_SET)
        yield (fd,)
    finally:
        os.close(fd)


def _was_killed(pid: int) -> bool:
    """True for a child of ours that ended by SIGKILL, or says by its status that its own child did.

    Nobody in a sandbox can kill its pid 1, so it was the kernel, for want of memory. Leaves the child to be reaped.
    """
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        if ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            return ended.si_status in (signal.SIGKILL, 128 + signal.SIGKILL)
        time.sleep(_PEEK_S)
    return False


def _last_line(fd: int) -> str:
    try:
        text = os.read(fd, _COMPLAINT_BYTES).decode(errors="replace").strip()
    except BlockingIOError:  # somebody still holds the other end, and has said nothing
        return ""
    return text.splitlines()[-1] if text else ""
