"""`crucibleforge grade`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click
from msgspec import Struct

from crucibleforge.cli._options import (
    config_option,
    json_option,
    results_option,
    unsandboxed_option,
    verbose_option,
)
from crucibleforge.cli._sandboxed import executor, sandboxed
from crucibleforge.cli._screen import print_json, say
from crucibleforge.config import locate, results_folder
from crucibleforge.errors import InputError
from crucibleforge.programs import Program, Ran
from crucibleforge.run.grade import current, verdict
from crucibleforge.store.folder import Run, all_runs, load
from crucibleforge.store.lock import locked
from crucibleforge.store.log import opened
from crucibleforge.suite.expand import suite


class Graded(Struct, frozen=True):
    """What marking a run again came to: rows marked, and the ids of those whose verdict is another one now."""

    run: str
    marked: int
    changed: tuple[str, ...]


@click.command("grade")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_FOLDER]...")
@unsandboxed_option
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(  # noqa: N802
    runs: tuple[Path, ...],
    allow_unsandboxed: bool,
    results_path: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> int:
    """Mark stored replies again, without any model: all runs, or only those named.

    A verdict that stays the same writes nothing; one that changes is added, and the log keeps both.
    """
    results = results_folder(results_path, locate(config_path))
    chosen = [load(path) for path in runs] or list(all_runs(results))
    if not chosen:
        raise InputError(f"no runs in {results}", hint="`crucibleforge run` makes one")
    cases = [case for run in chosen for case in run.cases.values()]
    # Runs that were named may lie anywhere; each is locked on its own while it is marked.
    with sandboxed(cases, allow_unsandboxed) as sandbox, nullcontext() if runs else locked(results):
        graded = [_again(run, executor(sandbox)) for run in chosen]
    if as_json:
        print_json(graded)
    for one in graded:
        say(f"{one.run}: {one.marked} rows marked again, {len(one.changed)} verdicts changed")
        for name in one.changed:
            say(f"  {name}")
    return 0


def _again(run: Run, execute: Callable[[Program], Ran]) -> Graded:
    marked, changed = 0, []
    with opened(run.folder) as log:
        for row in run.rows():
            if row.attempt is None or row.attempt.failure or not row.attempt.replies:
                continue
            case = current(row.case, suite())
            made = verdict(case, row.attempt, execute)
            marked += 1
            if made != row.verdict:
                log.append(made)
                before = row.verdict.outcome if row.verdict else "unmarked"
                changed.append(f"{row.job.label} {case.id}: {before} -> {made.outcome}")
    return Graded(run.folder.name, marked, tuple(changed))
