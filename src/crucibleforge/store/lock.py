"""One live run per folder: an advisory lock that dies with its process, and says whose it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import portalocker

from crucibleforge.errors import FolderLocked


@contextmanager
def locked(folder: Path, name: str = ".lock") -> Iterator[None]:
    """Hold `folder` for this process; the lock file stays, only the lock on it goes.

    Raises:
        FolderLocked: a live process holds it, with its pid.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    with path.open("ab", buffering=0) as file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.exceptions.LockException:
            raise FolderLocked(folder, _pid(path)) from None
        with suppress(OSError):  # a full disk costs the number, not the lock
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        try:
            yield
        finally:
            portalocker.unlock(file)


def _pid(path: Path) -> int | None:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    return int(text) if text.isdecimal() else None
