"""How `bench-llm` goes: a bar with an ETA on a terminal, a line for each cell and check anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from crucibleforge.bench.measure import Progress as Moved
from crucibleforge.bench.record import Answer
from crucibleforge.cli._screen import duration, printable, say
from crucibleforge.report.markdown import plain
from crucibleforge.types import Served


class Lines:
    """For logs and pipes."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._cell = ""

    def opened(self, served: Served) -> None:
        """Say what answers."""
        say(_opened(self._label, served))

    def moved(self, progress: Moved) -> None:
        """Say which cell is begun."""
        if progress.sample is None and progress.cell != self._cell:
            self._cell = progress.cell
            left = f", about {duration(progress.left_s)} left" if progress.left_s else ""
            say(f"[{self._label}] {progress.cell}{left}")

    def asked(self, answer: Answer) -> None:
        """Say what came of a question."""
        say(f"[{self._label}] {_came(answer)}")

    def say(self, text: str) -> None:
        """A line."""
        say(f"[{self._label}] {text}")


class Bar:
    """A bar that ends with the last timed request; what the checks come to is printed above it."""

    def __init__(self, label: str, progress: Progress, task: TaskID) -> None:
        self._label = label
        self._progress = progress
        self._task = task
        self._done_s = 0.0
        self._took: float | None = None

    def opened(self, served: Served) -> None:
        """Say what answers."""
        self._print(_opened(self._label, served))

    def moved(self, progress: Moved) -> None:
        """Show which cell, which repeat, the last speed, and how long it may still take."""
        taken = progress.sample
        self._took = taken.decode.per_s if taken is not None and taken.decode is not None else self._took
        speed = f"{self._took:.0f} tok/s" if self._took else ""
        elapsed_s = self._progress.tasks[0].elapsed or 0.0
        self._progress.update(
            self._task,
            description=escape(f"{progress.cell} {progress.rep}/{progress.reps}"),
            completed=elapsed_s,
            total=elapsed_s + progress.left_s if progress.left_s else None,
            speed=speed,
            left=f"ETA {duration(progress.left_s)}" if progress.left_s else "",
        )

    def asked(self, answer: Answer) -> None:
        """Say what came of a question."""
        self._print(_came(answer))

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._print(text)

    def _print(self, text: str) -> None:
        self._progress.console.print(printable(text), markup=False, emoji=False, soft_wrap=True)


@contextmanager
def watching(label: str, console: Console | None = None) -> Iterator[Lines | Bar]:
    """Show how it goes on stderr, or on `console`, until the context is left."""
    console = console or Console(stderr=True, highlight=False, force_terminal=sys.stderr.isatty())
    if not console.is_terminal or console.is_dumb_terminal:
        yield Lines(label)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as progress:
        yield Bar(label, progress, progress.add_task("starting", total=None, speed="", left=""))


def _opened(label: str, served: Served) -> str:
    context = f", window {served.context_length:,} tokens" if served.context_length else ""
    slots = f", {served.slots} slots" if served.slots and served.slots > 1 else ""
    return f"[{label}] {plain(served.model or label)} on {plain(served.server)}{context}{slots}"


def _came(answer: Answer) -> str:
    if answer.failure:
        return f"{', '.join(answer.checks)}: no reply ({plain(answer.failure)})"
    return "; ".join(f"{one.key} {one.outcome}" for one in answer.judged)
