"""Carry out what a run owes: progress on the screen, signals ended cleanly, a word on what is left."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from msgspec import Struct

from crucibleforge.cli._progress import Counts, shown
from crucibleforge.cli._sandboxed import executor
from crucibleforge.cli._screen import say
from crucibleforge.errors import EndpointDown, Stopped
from crucibleforge.report.markdown import plain
from crucibleforge.run.budget import Budget
from crucibleforge.run.owed import to_ask, to_mark
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.sandbox import Sandbox
from crucibleforge.store import folder
from crucibleforge.store.log import opened
from crucibleforge.suite.expand import CANONICAL_NAME
from crucibleforge.suite.form import FRESH
from crucibleforge.types import Row, Target

Result = TypeVar("Result")


class Done(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run ended; `unfinished` tells for a target why it could not be finished, `form` what was asked."""

    run: str
    rows: int
    settled: int
    passed: int
    unfinished: dict[str, str]
    form: str = CANONICAL_NAME


def perform(
    run: folder.Run,
    sandbox: Sandbox | None,
    ready: Callable[[Target], Target],
    budget: Budget,
    owed: Callable[[Iterable[Row]], list[Row]] = to_ask,
) -> Done:
    """Ask and mark what a run owes, showing how it goes.

    Args:
        run: The run folder, its lock not held yet.
        sandbox: Runs programs; None when no case needs it.
        ready: Makes a target of the plan fit for opening.
        budget: What it may cost and how long it may take.
        owed: Picks the rows to ask.

    Raises:
        EndpointDown: no model could be opened.
        Stopped: the user ended it; the message says what is kept and how to go on.
    """
    before = run.rows()
    open_rows = len(owed(before)) + len(to_mark(before))
    kept = len(before) - open_rows
    if open_rows and kept:
        say(f"continuing {run.folder}: {kept} of {len(before)} rows are kept")
    if not open_rows:
        say(f"nothing is owed: all {len(before)} rows of {run.folder} are done (`--fresh` asks anew)")
        return _done(run, {})
    with opened(run.folder) as log, shown(Counts(kept, len(before))) as watch:
        bench = Bench(
            run=run,
            log=log,
            execute=executor(sandbox),
            halt=sandbox.stop if sandbox else lambda: None,
            watch=watch,
            ready=ready,
            budget=budget,
            owed=owed,
        )
        number, ended = asyncio.run(interruptible(carry_out(bench)))
    unfinished = ended or {}
    done = _done(run, unfinished)
    if number:
        place = f" in {run.folder}" if done.settled else ""
        stopped = Stopped(
            f"stopped: {done.settled} of {done.rows} rows are kept{place}", hint=f"`{_again(done.form)}` continues"
        )
        stopped.exit_code = 128 + number
        raise stopped
    if unfinished and not run.events()[0]:
        reasons = "; ".join(f"[{label}] {why}" for label, why in unfinished.items())
        raise EndpointDown(f"no model can be asked: {reasons}", hint="`crucibleforge status` shows every provider")
    return done


async def interruptible(work: Coroutine[Any, Any, Result]) -> tuple[int, Result | None]:
    """Await `work`, ending it cleanly at a signal.

    Returns:
        The number of the signal, 0 for none, and what `work` gave; None where it was ended.
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
        number = getattr(signal, name, None)
        # What is ignored stays so: `nohup` means that the closing terminal is no reason to stop.
        if number is not None and sys.platform != "win32" and signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop, int(number))
    try:
        return 0, await task
    except asyncio.CancelledError:
        if not caught:
            raise
        return caught, None


def _done(run: folder.Run, unfinished: dict[str, str]) -> Done:
    rows = run.rows()
    return Done(
        run=str(run.folder),
        rows=len(rows),
        settled=sum(1 for row in rows if row.is_settled),
        passed=sum(1 for row in rows if row.verdict and row.verdict.outcome == "pass"),
        unfinished=unfinished,
        form=run.plan.form,
    )


def conclude(done: Done) -> int:
    """Say what could not be finished; the exit code is 1 if anything could not."""
    for label, why in done.unfinished.items():
        say(f"[{label}] not finished: {plain(why)}")
    if done.settled < done.rows:
        say(f"{done.rows - done.settled} of {done.rows} rows are still owed; `{_again(done.form)}` asks them again")
    return 1 if done.unfinished or done.settled < done.rows else 0


def _again(form: str) -> str:
    """The command that continues this one: a new form would be another run."""
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    for place, word in enumerate(words):
        if word == f"--form={FRESH}":
            words[place] = f"--form={form}"
        elif word == FRESH and place and words[place - 1] == "--form":
            words[place] = form
    return shlex.join(["crucibleforge", *words])
