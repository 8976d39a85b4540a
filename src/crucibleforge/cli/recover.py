"""`crucibleforge recover`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
import msgspec

from crucibleforge.cli._carry import Done, conclude, perform
from crucibleforge.cli._options import (
    config_option,
    json_option,
    listed,
    results_option,
    unsandboxed_option,
    verbose_option,
)
from crucibleforge.cli._sandboxed import sandboxed
from crucibleforge.cli._screen import print_json, say
from crucibleforge.cli._targets import is_builtin, placing
from crucibleforge.config import locate, results_folder
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.providers import _builtin
from crucibleforge.run.budget import Budget
from crucibleforge.run.owed import lost
from crucibleforge.store.folder import Run, all_runs, load
from crucibleforge.store.lock import locked
from crucibleforge.types import Row, Target


@click.command("recover")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_FOLDER]...")
@listed("--models", "Only these labels.", "LIST")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Stop before it costs more.", metavar="USD")
@unsandboxed_option
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(  # noqa: N802, PLR0913 - the constant by which the lazy group finds a verb, and its options
    *,
    runs: tuple[Path, ...],
    models: tuple[str, ...],
    max_cost: float | None,
    allow_unsandboxed: int,
    results_path: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> int:
    """Ask again only for answers that were lost to reasoning: in all runs, or in those named.

    Each such row gets a new attempt in its own run; the log keeps both.
    """
    results = results_folder(results_path, locate(config_path))
    chosen = [load(path) for path in runs] or list(all_runs(results))
    _check(chosen, models)

    def owed(rows: Iterable[Row]) -> list[Row]:
        return [row for row in lost(rows) if not models or row.job.label in models]

    found = [(run, rows) for run in chosen if (rows := owed(run.rows()))]
    done = []
    for run, rows in found:
        say(f"{run.folder}: {len(rows)} rows were lost to reasoning")
        with (
            sandboxed(run.cases.values(), allow_unsandboxed, config_path) as sandbox,
            locked(run.folder.parent.parent),
        ):
            done.append(perform(run, sandbox, _ready(run, rows), Budget(max_cost_usd=max_cost), owed))
    if as_json:
        print_json(done)
    elif not found:
        say("no row was lost to reasoning")
    return _conclude(done)


def _ready(run: Run, rows: list[Row]) -> Callable[[Target], Target]:
    """Gives the targets of these rows their file, and recovery, whatever they were told when the run was planned."""
    labels = {row.job.label for row in rows}
    is_owed = any(is_builtin(target) and target.label in labels for target in run.plan.targets)
    placed = placing(_builtin.path(say=say) if is_owed else None)

    def ready(target: Target) -> Target:
        return msgspec.structs.replace(placed(target), thinking=msgspec.structs.replace(target.thinking, recovery=True))

    return ready


def _check(runs: list[Run], models: tuple[str, ...]) -> None:
    if not runs:
        raise InputError("no runs to recover", hint="`crucibleforge run` makes one")
    known = [target.label for run in runs for target in run.plan.targets]
    for name in models:
        if name not in known:
            raise UnknownName("model", name, known, hint="none of these runs has it")


def _conclude(done: list[Done]) -> int:
    return max((conclude(one) for one in done), default=0)
