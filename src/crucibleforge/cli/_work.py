"""What `run` and `all` share: from options to a plan, and from a plan to a complete run."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from crucibleforge import machine
from crucibleforge.cli._board import gather, weights
from crucibleforge.cli._progress import Counts, shown
from crucibleforge.cli._sandboxed import executor, sandboxed
from crucibleforge.cli._screen import duration, print_json, say, table
from crucibleforge.cli._targets import resolve
from crucibleforge.config import BUILTIN, Config, load, load_profile, locate, merged, results_folder
from crucibleforge.errors import EndpointDown, InputError, Stopped
from crucibleforge.providers import _builtin
from crucibleforge.report.markdown import plain
from crucibleforge.run.owed import to_ask, to_mark
from crucibleforge.run.plan import Estimate, Settings, estimate, make
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.sandbox import Sandbox
from crucibleforge.store import folder
from crucibleforge.store.lock import locked
from crucibleforge.store.log import now, opened
from crucibleforge.suite.expand import revision, suite
from crucibleforge.suite.select import select
from crucibleforge.types import Case, RunPlan, Selection, Target


class Wanted(Struct, frozen=True, kw_only=True):
    """The options of `run` and `all` as they were given."""

    models: tuple[str, ...]
    selection: Selection
    repeats: int | None
    fresh: bool
    plan_only: bool
    yes: bool
    allow_unsandboxed: bool
    results_path: Path | None
    config_path: Path | None
    as_json: bool


class Prepared(Struct, frozen=True, kw_only=True):
    """Options made definite; nothing has been called or written yet."""

    config: Config
    results: Path
    targets: tuple[Target, ...]
    cases: tuple[Case, ...]
    selection: Selection
    repeats: int


class Done(Struct, frozen=True, kw_only=True):
    """How a run ended; `unfinished` tells for a target why it could not be finished."""

    run: str
    rows: int
    settled: int
    passed: int
    unfinished: dict[str, str]


def wanted(options: dict[str, Any]) -> Wanted:
    """The options that click hands over, typed."""
    selection = Selection(
        **{key: options.pop(key) for key in ("categories", "difficulty", "cases", "smoke", "profile")}
    )
    return Wanted(selection=selection, **options)


def prepare(want: Wanted) -> Prepared:
    """Read the configuration and find out what is meant.

    Raises:
        InputError: something that was named does not exist or cannot be used.
    """
    path = locate(want.config_path)
    config = load(path)
    selection, repeats = want.selection, config.defaults.repeats
    if selection.profile:
        profile = load_profile(selection.profile, path)
        selection, repeats = merged(selection, profile), profile.repeats or repeats
    weights(config)
    targets, cases = resolve(config, want.models), select(suite(), selection)
    for target in targets:
        _check_context(target, cases)
    return Prepared(
        config=config,
        results=results_folder(want.results_path, path),
        targets=targets,
        cases=cases,
        selection=selection,
        repeats=want.repeats or repeats,
    )


def _check_context(target: Target, cases: Sequence[Case]) -> None:
    """A case that does not fit is skipped; where none fits there is nothing to run."""
    least = min(case.needs.context_tokens for case in cases)
    if target.context_length is not None and target.context_length < least:
        raise InputError(
            f"no case fits into the {target.context_length:,} tokens of '{target.label}', the least needs {least:,}",
            hint="raise `context_length` in models.yaml, or leave it out to take what the server states",
        )


def show_plan(ready: Prepared, want: Wanted) -> None:
    """Print rows, tokens, minutes and cost; call nothing."""
    estimates = _estimates(ready)
    if want.as_json:
        print_json({"revision": revision(suite()), "cases": [case.id for case in ready.cases], "targets": estimates})
        return
    click.echo(f"suite {revision(suite())}: {len(ready.cases)} of {len(suite())} cases, {ready.repeats} repeat(s)")
    header = ["model", "rows", "prompt tokens", "reply tokens", "time", "cost", "at"]
    rows = [
        [
            made.label,
            str(made.rows),
            f"~{made.prompt_tokens:,}",
            f"<={made.completion_tokens:,}",
            f"<={duration(made.minutes * 60)}",
            "no price" if made.cost_usd is None else f"<=${made.cost_usd:.4f}",
            f"{made.tok_per_s:.0f} tok/s {'measured' if made.is_measured else 'assumed'}",
        ]
        for made in estimates
    ]
    click.echo(table(header, rows))
    say("plan only: nothing was called; every reply is taken to use its whole budget")


def carry(ready: Prepared, want: Wanted) -> Done:
    """Do what the plan owes, in a new run or in the one that the same command began.

    Raises:
        SandboxMissing: model code would run unprotected; nothing has been started.
        FolderLocked: a live run holds the results folder.
        EndpointDown: no model could be opened.
        Stopped: the user ended it; the message says what is kept and how to go on.
    """
    with sandboxed(ready.cases, want.allow_unsandboxed) as sandbox:
        _confirm(ready, want)
        with locked(ready.results):
            plan = _plan(ready, sandbox.isolation if sandbox else "not needed")
            found = None if want.fresh else folder.find(ready.results, plan.key)
            located = _located(ready, found)
            run = found or folder.create(ready.results, plan, ready.cases)
            try:
                return _carry(run, sandbox, located)
            finally:
                if not run.events()[0] and not found:
                    folder.discard(run)


def _plan(ready: Prepared, isolation: str) -> RunPlan:
    settings = Settings(
        suite=suite(),
        selection=ready.selection,
        repeats=ready.repeats,
        isolation=isolation,
        machine=machine.describe(),
        created=now(),
    )
    return make(ready.targets, ready.cases, settings)


def _carry(run: folder.Run, sandbox: Sandbox | None, located: dict[str, str]) -> Done:
    before = run.rows()
    owed = len(to_ask(before)) + len(to_mark(before))
    kept = len(before) - owed
    if owed and kept:
        say(f"continuing {run.folder}: {kept} of {len(before)} rows are kept")
    if not owed:
        say(f"nothing is owed: all {len(before)} rows of {run.folder} are done (`--fresh` asks anew)")
        return _done(run, {})
    with opened(run.folder) as log, shown(Counts(kept, len(before))) as watch:
        bench = Bench(
            run=run,
            log=log,
            execute=executor(sandbox),
            halt=sandbox.stop if sandbox else lambda: None,
            watch=watch,
            located=located,
        )
        number, unfinished = asyncio.run(_interruptible(carry_out(bench)))
    done = _done(run, unfinished)
    if number:
        place = f" in {run.folder}" if done.settled else ""
        stopped = Stopped(
            f"stopped: {done.settled} of {done.rows} rows are kept{place}", hint=f"`{_again()}` continues"
        )
        stopped.exit_code = 128 + number
        raise stopped
    if unfinished and not run.events()[0]:
        reasons = "; ".join(f"[{label}] {why}" for label, why in unfinished.items())
        raise EndpointDown(f"no model can be asked: {reasons}", hint="`crucibleforge status` shows every provider")
    return done


async def _interruptible(work: Coroutine[Any, Any, dict[str, str]]) -> tuple[int, dict[str, str]]:
    """Await `work`, ending it cleanly at a signal.

    Returns:
        The number of the signal, 0 for none, and what `work` gave.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    caught = 0

    def stop(number: int) -> None:
        nonlocal caught
        if caught:
            os._exit(128 + number)  # the second one means now; the log is durable at every row
        caught = number
        task.cancel()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and sys.platform != "win32":
            loop.add_signal_handler(getattr(signal, name), stop, int(getattr(signal, name)))
    try:
        return 0, await task
    except asyncio.CancelledError:
        if not caught:
            raise
        return caught, {}


def _done(run: folder.Run, unfinished: dict[str, str]) -> Done:
    rows = run.rows()
    return Done(
        run=str(run.folder),
        rows=len(rows),
        settled=sum(1 for row in rows if row.is_settled),
        passed=sum(1 for row in rows if row.verdict and row.verdict.outcome == "pass"),
        unfinished=unfinished,
    )


def conclude(done: Done) -> int:
    """Say what could not be finished; the exit code is 1 if anything could not."""
    for label, why in done.unfinished.items():
        say(f"[{label}] not finished: {plain(why)}")
    if done.settled < done.rows:
        say(f"{done.rows - done.settled} of {done.rows} rows are still owed; `{_again()}` asks them again")
    return 1 if done.unfinished or done.settled < done.rows else 0


def _estimates(ready: Prepared) -> list[Estimate]:
    speeds = {card.label: card.speed.tok_per_s for card in gather(ready.results, ready.config).cards if card.speed}
    return [estimate(target, ready.cases, ready.repeats, speeds.get(target.label)) for target in ready.targets]


def _confirm(ready: Prepared, want: Wanted) -> None:
    if want.yes or not any(target.price for target in ready.targets) or not sys.stdin.isatty():
        return
    most = sum(made.cost_usd or 0.0 for made in _estimates(ready))
    if most > 0:
        click.confirm(f"this run may cost up to ${most:.4f}; go on?", abort=True, err=True)


def _located(ready: Prepared, found: folder.Run | None) -> dict[str, str]:
    """Paths of model files that are not the user's own; fetches the built-in model if it is still to be asked."""
    if BUILTIN not in {target.label for target in ready.targets}:
        return {}
    if found and not any(row.job.label == BUILTIN for row in to_ask(found.rows())):
        return {}
    return {BUILTIN: str(_builtin.path(say=say))}


def _again() -> str:
    """The command that continues this one."""
    return shlex.join(["crucibleforge", *(word for word in sys.argv[1:] if word != "--fresh")])
