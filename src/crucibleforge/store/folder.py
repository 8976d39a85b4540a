"""The results folder: where runs lie, how one is made whole or not at all, how it is found again."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from crucibleforge.errors import FolderUnusable, about
from crucibleforge.store.fold import fold
from crucibleforge.store.log import read
from crucibleforge.types import Case, Event, Row, RunPlan

PLAN, CASES = "plan.json", "cases.jsonl"
_SLUG_CHARACTERS = 40


@dataclass(frozen=True)
class Run:
    """A run on disk, as it was planned."""

    folder: Path
    plan: RunPlan
    cases: dict[str, Case]

    def events(self) -> tuple[list[Event], list[str]]:
        """What its log holds so far, and a line about each row that cannot be read."""
        return read(self.folder)

    def rows(self) -> list[Row]:
        """Its rows as of now."""
        return fold(self.plan, self.cases, self.events()[0])


def create(results: Path, plan: RunPlan, cases: Sequence[Case]) -> Run:
    """Write plan and cases into a new run folder, which appears whole or not at all."""
    runs = results / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=".new-", dir=runs))
    try:
        _write(making / PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=2))
        _write(making / CASES, b"".join(msgspec.json.encode(case) + b"\n" for case in cases))
        making.chmod(0o755)
        folder = runs / plan.id
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return Run(folder, plan, {case.id: case for case in cases})


def discard(run: Run) -> None:
    """Remove a run folder in which nothing has happened."""
    shutil.rmtree(run.folder, ignore_errors=True)


def find(results: Path, key: str) -> Run | None:
    """The newest run with this plan key, or None."""
    for run in reversed(list(all_runs(results, f"*-{key}*"))):
        if run.plan.key == key:
            return run
    return None


def all_runs(results: Path, pattern: str = "*") -> Iterator[Run]:
    """Every run of a results folder, oldest first."""
    for folder in sorted((results / "runs").glob(pattern)):
        if (folder / PLAN).is_file() and not folder.name.startswith("."):
            yield load(folder)


def load(folder: Path) -> Run:
    """Read a run's plan and cases.

    Raises:
        FolderUnusable: this is no run folder, or one of its files is damaged or of a later version.
    """
    if not (folder / PLAN).is_file():
        raise FolderUnusable(f"{folder} is no run folder", hint="a run folder holds plan.json, cases.jsonl, log.jsonl")
    try:
        plan = msgspec.json.decode((folder / PLAN).read_bytes(), type=RunPlan)
        decoder = msgspec.json.Decoder(Case)
        cases = [decoder.decode(line) for line in (folder / CASES).read_bytes().splitlines()]
    except (msgspec.DecodeError, FileNotFoundError) as error:
        raise FolderUnusable(f"{folder}: {error}", hint="it may be damaged, or of a later version") from error
    by_id = {case.id: case for case in cases}
    if missing := [name for name in plan.case_hashes if name not in by_id]:
        raise FolderUnusable(f"{folder}: {CASES} lacks {missing[0]}", hint="the folder was damaged or edited")
    return Run(folder, plan, by_id)


def run_id(created: str, labels: Sequence[str], key: str) -> str:
    """`<utc>-<name>-<key>`: sorts by time, reads as what it is, is safe as a folder's name."""
    stamp = re.sub(r"[-:]", "", created).replace(".", "")
    name = labels[0] if len(labels) == 1 else f"{labels[0]}+{len(labels) - 1}"
    slug = re.sub(r"[^A-Za-z0-9._+-]+", "-", name)[:_SLUG_CHARACTERS]
    return f"{stamp}-{slug}-{key}"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file whole: a reader sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _write(temporary, data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    with about(path), path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
