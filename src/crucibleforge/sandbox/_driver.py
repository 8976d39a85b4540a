"""The driver: what runs inside a sandbox, forks one child a call, and lets only that child touch the code.

Started as `python -P -s -S -B -c <this text>`, so it may use the standard library only. It has a conversation with the
host over its stdin and stdout, one JSON object a line:

    out  {"ready": 1}
    in   {"source": str, "entry": str, "limits": {...}}
    in   {"n": nonce, "args": [...]}         one a call, the next only after the answer
    out  {"n": nonce, "value": ...}  or  {"n": nonce, "raised": [kind, message]}  or  {"n": nonce, "broken": reason}

The end of stdin ends the driver, at any moment; where it is pid 1 the kernel then ends everything else in there.
A child answers over a private pipe. The driver passes on at most one line of it, unread: a child that forges one
has forged an answer, which still has to be right. Nothing a child does reaches the driver's stdout or stderr, so
text on stderr is trouble of the sandbox and never of the program.
"""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import select
import signal
import sys
import time
from types import ModuleType
from typing import Any, NoReturn

READY = 1
NAME = "answer"  # of the module; anything but `__main__`
FILE = "<answer>"
STACK_BYTES = 64 * 1024 * 1024
FILE_BYTES = 16 * 1024 * 1024
OPEN_FILES = 64
ENVELOPE_BYTES = 4096
"""What a line may hold beyond the value: nonce, keys, a cut message."""
MESSAGE_LENGTH = 300
RECURSION = 1000
DIGITS = 4300

# Bound before the code can replace them.
_dumps, _write, _exit = json.dumps, os.write, os._exit


class Broken(Exception):  # noqa: N818 - it is a finding, not an error of ours
    """The code never came to the call, and why."""


def main() -> None:
    """Say ready, read the task, answer calls until stdin ends."""
    _withdraw()
    null = os.open(os.devnull, os.O_RDWR)
    lines = _Lines()
    _send(1, json.dumps({"ready": READY}).encode())
    if (first := lines.read()) is None:
        return
    task = json.loads(first)
    gc.freeze()
    while (line := lines.read()) is not None:
        _send(1, _answer(task, json.loads(line), null))


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


def _answer(task: dict[str, Any], call: dict[str, Any], null: int) -> bytes:
    """One line for one call, whatever the child does."""
    limits = task["limits"]
    deadline = time.monotonic() + limits["wall_s"]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _be_child(task, call, writer, null)
    os.close(writer)
    most = limits["answer_bytes"] + ENVELOPE_BYTES
    said, in_time = _listen(reader, most, deadline)
    status, cpu_s = _end(child)
    said += _rest(reader, most - len(said))
    os.close(reader)
    if not in_time:
        return _raised(call["n"], "time limit", f"more than {limits['wall_s']:g} s")
    if len(said) > most:
        return _raised(call["n"], "output limit", f"more than {limits['answer_bytes']} bytes")
    if b"\n" not in said:
        return _raised(call["n"], *_cause_of_death(status, cpu_s, limits["cpu_s"]))
    line, _, extra = said.partition(b"\n")
    return line if not extra else _line(call["n"], "broken", "the program broke the protocol: more than one answer")


def _listen(reader: int, most: int, deadline: float) -> tuple[bytes, bool]:
    """What the child said up to a line's end, its own end or `most`; False when it was too late for that."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(0, 0)  # only its hanging up
    said = bytearray()
    while (left_s := deadline - time.monotonic()) > 0:
        for fd, _ in poll.poll(left_s * 1000 + 1):
            if fd == 0:
                _exit(0)
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


def _cause_of_death(status: int, cpu_s: float, most_cpu_s: int) -> tuple[str, str]:
    """Kind and message for a child that ended without an answer."""
    killer = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if killer == signal.SIGXCPU or (killer == signal.SIGKILL and cpu_s >= most_cpu_s):
        return "time limit", f"more than {most_cpu_s} s of CPU"
    if killer:
        return "exit", f"ended by signal {killer} before it answered"
    return "exit", f"ended with status {os.waitstatus_to_exitcode(status)} before it answered"


def _line(nonce: str, key: str, value: Any) -> bytes:
    return _dumps({"n": nonce, key: value}, allow_nan=False, default=_refuse).encode()


def _raised(nonce: str, kind: str, message: str) -> bytes:
    return _line(nonce, "raised", [kind[:MESSAGE_LENGTH], message[:MESSAGE_LENGTH]])


def _refuse(value: Any) -> NoReturn:
    name = type(value).__name__
    article = "an" if name[:1].lower() in set("aeiou") else "a"
    raise TypeError(f"returned {article} {name}, not JSON")


def _be_child(task: dict[str, Any], call: dict[str, Any], writer: int, null: int) -> NoReturn:
    """Everything in here is in the code's power; it ends by answering or by dying."""
    try:
        nonce = call["n"]
        # Made beforehand: when this is needed, there is no memory to make it.
        out_of_memory = _raised(nonce, "memory limit", f"more than {task['limits']['memory_bytes']} bytes") + b"\n"
        _confine(task["limits"], writer, null)
        try:
            _send(writer, _outcome(task, call))
        except MemoryError:
            _write(writer, out_of_memory)
    finally:
        # The code's threads, exit handlers and open files get no further turn.
        _exit(0)


def _confine(limits: dict[str, Any], writer: int, null: int) -> None:
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, writer)
    os.closerange(writer + 1, 256)
    cpu_s = math.ceil(limits["cpu_s"])
    bounds = {
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
        resource.RLIMIT_AS: (limits["memory_bytes"],) * 2,
        resource.RLIMIT_STACK: (STACK_BYTES,) * 2,
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


def _outcome(task: dict[str, Any], call: dict[str, Any]) -> bytes:
    nonce = call["n"]
    try:
        function = _load(task["source"], task["entry"])
    except Broken as broken:
        return _line(nonce, "broken", str(broken)[:MESSAGE_LENGTH])
    try:
        line = _encode(nonce, function(*call["args"]))
    except MemoryError:
        raise
    except SystemExit:
        return _raised(nonce, "exit", "asked to exit before it answered")
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its result
        return _raised(nonce, type(error).__name__, _text(error))
    most = task["limits"]["answer_bytes"]
    if len(line) > most + ENVELOPE_BYTES // 2:
        return _raised(nonce, "output limit", f"more than {most} bytes")
    return line


def _encode(nonce: str, value: Any) -> bytes:
    # Back to what the host decodes with, in case the code has moved them.
    sys.setrecursionlimit(RECURSION)
    sys.set_int_max_str_digits(DIGITS)
    return _line(nonce, "value", value)


def _load(source: str, entry: str) -> Any:
    """Run the code as a module and give the function `entry` of it."""
    module = ModuleType(NAME)
    sys.modules[NAME] = module  # dataclasses, typing and pickle look it up
    try:
        code = compile(source.removeprefix("\ufeff"), FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Broken(f"syntax error in line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise Broken(f"syntax error: {_text(error)}") from error
    try:
        exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    except MemoryError:
        raise
    except SystemExit:  # `sys.exit(main())` at the end of a script; its functions are defined
        pass
    except BaseException as error:
        raise Broken(f"{type(error).__name__}: {_text(error)} (line {_where(error)})") from error
    function = module.__dict__.get(entry)
    if not callable(function):
        raise Broken(f"no function '{entry}' in the code")
    return function


def _text(error: BaseException) -> str:
    """The error's message; its `__str__` may be the code's own."""
    try:
        return str(str(error)[:MESSAGE_LENGTH])
    except BaseException:  # noqa: BLE001 - as above
        return ""


def _where(error: BaseException) -> int:
    """The line of the code at which the error passed last."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


if __name__ == "__main__":
    main()
