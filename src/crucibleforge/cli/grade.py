"""`crucibleforge grade`: stored replies again, or one program by hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from crucibleforge.cli._by_hand import Wanted, by_hand
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
from crucibleforge.types import Verdict


class Graded(Struct, frozen=True):
    """What marking a run again came to: rows marked, and the ids of those whose verdict is another one now."""

    run: str
    marked: int
    changed: tuple[str, ...]


@click.command("grade")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_FOLDER]...")
@click.option("--case", "case_id", default="", help="Mark a program against this case instead.", metavar="ID")
@click.option("--code", default="", help="The program, or a whole reply with fences; `-` is stdin.", metavar="FILE")
@click.option("--seed", default="", help="Draw the hidden inputs from this seed, not a fresh one.", metavar="HEX")
@unsandboxed_option
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(runs: tuple[Path, ...], case_id: str, code: str, seed: str, **options: Any) -> int:  # noqa: N802
    """Mark stored replies again, without any model: all runs, or only those named. Or mark one program by hand.

    A verdict that stays the same writes nothing; one that changes is added, and the log keeps both.

    With `--case` and `--code` nothing is stored; exit code 0: it passes, 1: it does not.
    """
    if not (case_id or code or seed):
        return _stored(runs, **options)
    if runs:
        raise InputError(f"{runs[0]}: a run folder and a program by hand do not go together")
    wanted = Wanted(case_id, code, seed)
    return by_hand(wanted, options["allow_unsandboxed"], options["config_path"], options["as_json"])


def _stored(
    runs: tuple[Path, ...],
    allow_unsandboxed: int,
    results_path: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> int:
    results = results_folder(results_path, locate(config_path))
    chosen = [load(path) for path in runs] or list(all_runs(results))
    if not chosen:
        raise InputError(f"no runs in {results}", hint="`crucibleforge run` makes one")
    cases = [case for run in chosen for case in run.cases.values()]
    # Runs that were named may lie anywhere; each is locked on its own while it is marked.
    with sandboxed(cases, allow_unsandboxed, config_path) as sandbox, nullcontext() if runs else locked(results):
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
            case = current(row.case, suite(run.plan.form))
            made = verdict(case, row.attempt, execute, run.plan)
            marked += 1
            if row.verdict is None or _is_news(made, row.verdict):
                log.append(made)
                before = row.verdict.outcome if row.verdict else "unmarked"
                changed.append(f"{row.job.label} {case.id}: {before} -> {made.outcome}")
    return Graded(run.folder.name, marked, tuple(changed))


def _is_news(made: Verdict, before: Verdict) -> bool:
    # The words about a program may hold times, which are others each time that it runs; where it ran is no news either.
    return made != before and not (made.isolation and _wordless(made) == _wordless(before))


def _wordless(verdict: Verdict) -> Verdict:
    elements = tuple(msgspec.structs.replace(element, why="") for element in verdict.elements)
    return msgspec.structs.replace(verdict, why="", elements=elements, isolation="")
