"""What runs inside an instance of the wasm sandbox, before and after the code; see `_wasm_child`.

Its text is handed to the Python in there, which has no sockets, and so no pipe by which asyncio's loop could wake
itself. Nothing but the loop's own thread can want that in there, so a loop that never wakes up early is whole.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from typing import Any


class _Silent:
    """An end of a pipe through which nothing comes."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        return self._number

    def setblocking(self, _flag: bool) -> None:
        pass

    def close(self) -> None:
        pass

    def send(self, data: bytes) -> int:
        return len(data)


class _Sleeper(selectors._BaseSelectorImpl):  # noqa: SLF001 - all but the waiting
    """Waits for time alone."""

    def select(self, timeout: float | None = None) -> list[Any]:
        time.sleep(1e6 if timeout is None else max(timeout, 0))
        return []


def main() -> None:
    """Say that the code begins, run it, say what came of it, and end without another turn for the code."""
    import _host  # type: ignore[import-not-found]  # noqa: PLC0415 - only there

    task, call = json.loads(sys.stdin.buffer.read())
    os.environ.clear()
    socket.socketpair = lambda *_: (_Silent(1000), _Silent(1001))  # type: ignore[assignment]
    selectors.DefaultSelector = _Sleeper  # type: ignore[assignment,misc]
    # Of 32 bits in there; programs take it for infinity, which theirs is on every machine they were written for.
    sys.maxsize = 2**63 - 1
    play: dict[str, Any] = {"__name__": "play"}
    exec(task["play"], play)  # noqa: S102 - our own text
    say, end = _host.call, os._exit
    say(b"+")
    try:
        line = play["answer"](task, call)
    except MemoryError:
        line = b"-"
    say(line)
    end(0)


if __name__ == "__main__":
    main()
