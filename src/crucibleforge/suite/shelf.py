"""The canonical cases in the user's cache: drawing them takes many seconds, reading them a fraction of one.

What lies there is taken only if it is, case for case, what the lock states. Hashes, needs and the rest are derived anew
from what is read, so it does not matter who wrote it. Nothing here is ever an error: without a shelf, cases are drawn.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import platformdirs

from crucibleforge.errors import UnknownName
from crucibleforge.families._build import complete
from crucibleforge.suite.lock import rendered
from crucibleforge.types import RUNGS, Case

_OURS = re.compile(r"core-[0-9a-f]{16}\.jsonl")
_MOST_BYTES = 1 << 28


def cache() -> Path:
    """The folder for what can be made again."""
    return Path(os.environ.get("CRUCIBLEFORGE_CACHE") or platformdirs.user_cache_path("crucibleforge"))


def kept(lock: str) -> dict[str, tuple[Case, ...]]:
    """The locked cases by family, the easy ones first; empty unless each of them is there and as it was locked."""
    try:
        cases = _read(_place(lock))
        if rendered(cases) != lock:
            return {}
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError, UnknownName):
        return {}
    families: dict[str, tuple[Case, ...]] = {}
    for case in sorted(cases, key=_order):
        families[case.family] = (*families.get(case.family, ()), case)
    return families


def keep(lock: str, cases: Iterable[Case]) -> None:
    """Put the cases of locked families there if they are the locked ones, in the place of what lay there before."""
    locked = {line.split(" ", 1)[0].rsplit("/", 1)[0] for line in lock.splitlines()}
    chosen = [case for case in cases if case.family in locked]
    if not chosen or rendered(chosen) != lock:
        return
    path = _place(lock)
    try:
        _write(path, b"".join(msgspec.json.encode(case) + b"\n" for case in chosen))
        for old in path.parent.iterdir():
            if _OURS.fullmatch(old.name) and old != path:
                old.unlink()
    except OSError:
        return  # a full or read-only disk, another process that was quicker: the next one draws again


def _read(path: Path) -> Sequence[Case]:
    # A pipe would be waited for, and a file without end would be read to no end.
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return ()
    decoder = msgspec.json.Decoder(Case)
    read = (decoder.decode(line) for line in path.read_bytes().splitlines())
    return [complete(one.id, one.dialogue, one.expected, one.grading) for one in read]


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all; not synced, as a torn file is not the lock's and is drawn again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made, name = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
    try:
        with open(made, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _order(case: Case) -> tuple[int, int]:
    return RUNGS.index(case.rung), int(case.id.rpartition(".")[2])


def _place(lock: str) -> Path:
    return cache() / f"core-{sha256(lock.encode()).hexdigest()[:16]}.jsonl"
