"""What `run` and `all` share: from options to a plan, and from a plan to a complete run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from crucibleforge import machine
from crucibleforge.cli._board import gather, weights
from crucibleforge.cli._carry import Done, perform
from crucibleforge.cli._sandboxed import sandboxed
from crucibleforge.cli._screen import duration, print_json, say, table
from crucibleforge.cli._targets import is_builtin, placing, resolve
from crucibleforge.config import BUILTIN, Config, load, load_profile, locate, merged, results_folder
from crucibleforge.errors import InputError
from crucibleforge.providers import _builtin
from crucibleforge.run.budget import Budget
from crucibleforge.run.owed import to_ask
from crucibleforge.run.plan import Estimate, Settings, estimate, make
from crucibleforge.store import folder
from crucibleforge.store.lock import locked
from crucibleforge.store.log import now
from crucibleforge.suite.expand import revision, suite
from crucibleforge.suite.form import resolved
from crucibleforge.suite.select import select
from crucibleforge.types import Case, RunPlan, Selection, Target


class Wanted(Struct, frozen=True, kw_only=True):
    """The options of `run` and `all` as they were given."""

    models: tuple[str, ...]
    selection: Selection
    form: str
    repeats: int | None
    max_cost: float | None
    max_minutes: float | None
    fresh: bool
    plan_only: bool
    yes: bool
    allow_unsandboxed: int
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
    form: str
    repeats: int


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
    form = resolved(want.form)
    targets, cases = resolve(config, want.models), select(suite(form), selection)
    if form != want.form:
        say(f"a fresh form; `--form {form}` asks it again")
    for target in targets:
        _check_context(target, cases)
    return Prepared(
        config=config,
        results=results_folder(want.results_path, path),
        targets=targets,
        cases=cases,
        selection=selection,
        form=form,
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
        print_json(
            {"revision": revision(suite(ready.form)), "cases": [case.id for case in ready.cases], "targets": estimates}
        )
        return
    click.echo(
        f"suite {revision(suite(ready.form))}: {len(ready.cases)} of {len(suite())} cases, {ready.repeats} repeat(s)"
    )
    header = ["model", "rows", "prompt tokens", "reply tokens", "time", "cost", "at"]
    rows = [
        [
            made.label,
            str(made.rows),
            f"~{made.prompt_tokens:,}",
            f"<={made.completion_tokens:,}",
            "none" if made.minutes is None else f"<={duration(made.minutes * 60)}",
            "no price" if made.cost_usd is None else f"<=${made.cost_usd:.4f}",
            _speed(made),
        ]
        for made in estimates
    ]
    click.echo(table(header, rows))
    say("plan only: nothing was called; every reply is taken to use its whole budget")


def _speed(made: Estimate) -> str:
    if made.minutes is None:
        return "read from a file"
    return f"{made.tok_per_s:.0f} tok/s {'measured' if made.is_measured else 'assumed'}"


def carry(ready: Prepared, want: Wanted) -> Done:
    """Do what the plan owes, in a new run or in the one that the same command began.

    Raises:
        SandboxMissing: model code would run unprotected; nothing has been started.
        FolderLocked: a live run holds the results folder.
        EndpointDown: no model could be opened.
        Stopped: the user ended it; the message says what is kept and how to go on.
    """
    with sandboxed(ready.cases, want.allow_unsandboxed, want.config_path) as sandbox:
        _confirm(ready, want)
        with locked(ready.results):
            plan = _plan(ready, sandbox.isolation if sandbox else "not needed")
            found = None if want.fresh else folder.find(ready.results, plan.key)
            placed = _placed(ready, found)
            run = found or folder.create(ready.results, plan, ready.cases)
            try:
                return perform(run, sandbox, placed, Budget(max_cost_usd=want.max_cost, max_minutes=want.max_minutes))
            finally:
                if not run.events()[0] and not found:
                    folder.discard(run)


def _plan(ready: Prepared, isolation: str) -> RunPlan:
    settings = Settings(
        suite=suite(ready.form),
        selection=ready.selection,
        form=ready.form,
        repeats=ready.repeats,
        isolation=isolation,
        machine=machine.describe(),
        created=now(),
    )
    return make(ready.targets, ready.cases, settings)


def _estimates(ready: Prepared) -> list[Estimate]:
    speeds = {card.label: card.speed.tok_per_s for card in gather(ready.results, ready.config).cards if card.speed}
    return [estimate(target, ready.cases, ready.repeats, speeds.get(target.label)) for target in ready.targets]


def _confirm(ready: Prepared, want: Wanted) -> None:
    if want.yes or not any(target.price for target in ready.targets) or not sys.stdin.isatty():
        return
    most = sum(made.cost_usd or 0.0 for made in _estimates(ready))
    if most > 0:
        click.confirm(f"this run may cost up to ${most:.4f}; go on?", abort=True, err=True)


def _placed(ready: Prepared, found: folder.Run | None) -> Callable[[Target], Target]:
    """Gives the built-in model its file, which is fetched if that model is still to be asked."""
    is_meant = any(map(is_builtin, ready.targets))
    is_owed = found is None or any(row.job.label == BUILTIN for row in to_ask(found.rows()))
    return placing(_builtin.path(say=say) if is_meant and is_owed else None)
