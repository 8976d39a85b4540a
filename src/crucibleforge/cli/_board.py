"""The board of a results folder: read every run, score, write the views."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from crucibleforge.cli._screen import say, table
from crucibleforge.config import Config
from crucibleforge.errors import UnknownName
from crucibleforge.report.markdown import plain, rendered, scoreboard
from crucibleforge.report.scorecard import Board, board
from crucibleforge.store.folder import all_runs, write_atomically
from crucibleforge.store.log import now
from crucibleforge.suite.expand import suite

MARKDOWN, JSON = "report.md", "report.json"


def gather(results: Path, config: Config) -> Board:
    """The board over all runs of a folder; rows that cannot be read are named on stderr."""
    runs = []
    for run in all_runs(results):
        for problem in run.events()[1]:
            say(f"warning: not read: {problem}")
        runs.append((run.plan, run.rows()))
    return board(runs, suite(), weights(config), now())


def weights(config: Config) -> dict[str, float]:
    """Weights of the categories that are not 1.

    Raises:
        UnknownName: a category that does not exist; its weight would count for nothing.
    """
    known = sorted({case.category for case in suite()})
    for name in config.scoring.weights:
        if name not in known:
            raise UnknownName("category in scoring.weights", name, known, hint=f"known: {', '.join(known)}")
    return config.scoring.weights


def write(made: Board, results: Path) -> None:
    """Write report.md and report.json, each whole or not at all."""
    write_atomically(results / MARKDOWN, rendered(made).encode())
    write_atomically(results / JSON, msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")


def show(made: Board, results: Path) -> None:
    """Print the scoreboard to stdout and say where the rest is."""
    header, rows = scoreboard(made)
    click.echo(table(header, [[plain(cell) for cell in row] for row in rows]))
    say(f"wrote {results / MARKDOWN} and {results / JSON}: categories with intervals, every failure with its reason")
