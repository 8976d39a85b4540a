"""Where a record goes: a file of its own, and nothing is overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from crucibleforge.bench.record import Record
from crucibleforge.errors import about
from crucibleforge.store.folder import write_atomically

FOLDER = Path("~/benchmarks")
_SLUG_CHARACTERS = 80
_OTHERS = re.compile(r"[^a-z0-9._]+")


def named(label: str, day: str) -> str:
    """`<model>-<date>.json`, of characters that every file system takes; `day` as 2026-11-29."""
    slug = _OTHERS.sub("-", label.lower())[:_SLUG_CHARACTERS].strip("-.") or "model"
    return f"{slug}-{day}.json"


def written(record: Record, place: Path, day: str) -> Path:
    """Write a record, whole or not at all, and give its path.

    Args:
        record: What was found out.
        place: A folder, or a file if it ends in `.json`; a name that is taken gets `-2`, `-3` and so on.
        day: The date for the name of a file in a folder.

    Raises:
        FolderUnusable: the folder cannot be made or written to.
    """
    place = place.expanduser()
    wanted = place if place.suffix == ".json" else place / named(record.subject.label, day)
    data = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    with about(wanted):
        wanted.parent.mkdir(parents=True, exist_ok=True)
        path = _reserved(wanted)
    try:
        write_atomically(path, data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _reserved(wanted: Path) -> Path:
    """The first name that is free, taken at once: two that end at the same time do not share one."""
    number, path = 1, wanted
    while True:
        try:
            path.open("xb").close()
        except FileExistsError:
            number += 1
            path = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        else:
            return path
