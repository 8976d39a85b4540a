"""How a run goes: a bar with an ETA on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from crucibleforge.cli._screen import say
from crucibleforge.report.markdown import plain
from crucibleforge.stats.rates import decode_rate
from crucibleforge.types import Adapted, Attempt, Served, Target, Verdict

_SHOWN_CHARACTERS = 100


class Counts:
    """What both ways of showing share: rows done, passes among them, the speed of the last reply."""

    def __init__(self, kept: int, total: int) -> None:
        self.done = kept
        self.total = total
        self.passed = 0
        self.seen = 0
        self.tok_per_s: float | None = None

    def asked(self, attempt: Attempt) -> None:
        """Note the speed of the last reply that has one."""
        for reply in attempt.replies:
            self.tok_per_s = decode_rate(reply) or self.tok_per_s

    def marked(self, verdict: Verdict) -> None:
        """Count a row as done."""
        self.done += 1
        self.seen += 1
        self.passed += verdict.outcome == "pass"

    def speed(self) -> str:
        """`92 tok/s`, or nothing while there is none."""
        return f"{self.tok_per_s:.0f} tok/s" if self.tok_per_s else ""


class Lines:
    """A line a row, for logs and pipes."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def opened(self, target: Target, served: Served) -> None:
        """Say what answers."""
        say(_opened(target, served))

    def asked(self, attempt: Attempt) -> None:
        """Say that a request failed; a reply is told when it is marked."""
        self.counts.asked(attempt)
        if attempt.failure:
            say(f"[{attempt.job.label}] {attempt.job.case_id}: {plain(attempt.failure.message)}")

    def adapted(self, event: Adapted) -> None:
        """Say what was learnt about a target."""
        say(_learnt(event))

    def marked(self, verdict: Verdict) -> None:
        """Say what became of a row."""
        self.counts.marked(verdict)
        why = f" ({plain(verdict.why)[:_SHOWN_CHARACTERS]})" if verdict.why else ""
        place = f"{self.counts.done}/{self.counts.total}"
        tail = f", {self.counts.speed()}" if self.counts.tok_per_s else ""
        say(f"[{verdict.job.label}] {place} {verdict.job.case_id}: {verdict.outcome}{why}{tail}")


class Bar:
    """A bar that stays, with what fails printed above it."""

    def __init__(self, counts: Counts, progress: Progress, task: TaskID) -> None:
        self.counts = counts
        self._progress = progress
        self._task = task

    def opened(self, target: Target, served: Served) -> None:
        """Say what answers."""
        self._print(_opened(target, served))
        self._progress.update(self._task, description=escape(target.label))

    def asked(self, attempt: Attempt) -> None:
        """Show the speed; print a failure."""
        self.counts.asked(attempt)
        if attempt.failure:
            self._print(f"{attempt.job.case_id}: {plain(attempt.failure.message)}")
        self._update()

    def adapted(self, event: Adapted) -> None:
        """Say what was learnt about a target."""
        self._print(_learnt(event))

    def marked(self, verdict: Verdict) -> None:
        """Move on by one row."""
        self.counts.marked(verdict)
        self._update()

    def _print(self, text: str) -> None:
        self._progress.console.print(text, markup=False, emoji=False, soft_wrap=True)

    def _update(self) -> None:
        self._progress.update(
            self._task,
            completed=self.counts.done,
            passed=f"{self.counts.passed}/{self.counts.seen} passed",
            speed=self.counts.speed(),
        )


@contextmanager
def shown(counts: Counts, console: Console | None = None) -> Iterator[Lines | Bar]:
    """Show a run's progress on stderr, or on `console`, until the context is left."""
    # Without `force_terminal` rich would draw into a pipe where FORCE_COLOR is set, as in many CI systems.
    console = console or Console(stderr=True, highlight=False, force_terminal=sys.stderr.isatty())
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(counts)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[passed]}"),
        TextColumn("{task.fields[speed]}"),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=counts.total, completed=counts.done, passed="", speed="")
        yield Bar(counts, progress, task)


def _learnt(event: Adapted) -> str:
    return f"[{event.label}] {plain(event.what)}"


def _opened(target: Target, served: Served) -> str:
    context = f", context {served.context_length:,} tokens" if served.context_length else ""
    slots = f", {served.slots} slots" if served.slots and served.slots > 1 else ""
    return f"[{target.label}] {plain(served.model or target.model_id)} on {plain(served.server)}{context}{slots}"
