"""The board of a results folder: read every run, score, write the views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from crucibleforge.cli._screen import say, table
from crucibleforge.config import Config
from crucibleforge.errors import UnknownName
from crucibleforge.report.board import board
from crucibleforge.report.markdown import plain, rendered, scoreboard
from crucibleforge.report.scorecard import Alarm, Board, Scorecard, Source
from crucibleforge.store.fold import fold
from crucibleforge.store.folder import all_runs, write_atomically
from crucibleforge.store.log import now
from crucibleforge.suite.expand import CANONICAL_NAME, scored, suite
from crucibleforge.types import Adapted, Case

Named = TypeVar("Named", Scorecard, Alarm)

MARKDOWN, JSON = "report.md", "report.json"
_NOTES_WIDTH = 60


def gather(results: Path, config: Config) -> Board:
    """The board over all runs of a folder; rows that cannot be read are named on stderr.

    Runs of a fresh form stand after the canonical ones, each form for itself: their questions are other ones.
    """
    runs: dict[str, list[Source]] = {CANONICAL_NAME: []}
    asked: dict[str, dict[str, Case]] = {}
    for run in all_runs(results):
        events, problems = run.events()
        for problem in problems:
            say(f"warning: not read: {problem}")
        learnt = tuple(event for event in events if isinstance(event, Adapted))
        runs.setdefault(run.plan.form, []).append(Source(run.plan, fold(run.plan, run.cases, events), learnt))
        if run.plan.form != CANONICAL_NAME:
            asked.setdefault(run.plan.form, {}).update(run.cases)
    canonical = scored(suite())
    made = board(runs[CANONICAL_NAME], canonical, weights(config), now())
    for form, cases in asked.items():
        own = tuple(cases.get(case.id, case) for case in canonical)
        made = _beside(made, board(runs[form], own, weights(config), made.generated), form)
    return made


def _beside(made: Board, other: Board, form: str) -> Board:
    """The cards and alarms of another form after those that are there, with the form in their labels."""

    def named(one: Named) -> Named:
        return msgspec.structs.replace(one, label=f"{one.label} [form {form}]")

    return msgspec.structs.replace(
        made,
        revision=made.revision or other.revision,
        cards=(*made.cards, *map(named, other.cards)),
        alarms=(*made.alarms, *map(named, other.alarms)),
    )


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
    """Say the alarms, print the scoreboard to stdout, and say where the rest is."""
    for alarm in made.alarms:
        say(f"ALARM: {plain(alarm.label)}: {plain(alarm.text)}")
    header, rows = scoreboard(made)
    # The notes are the last cell; whole, they would break every line of the table.
    brief = [[*row[:-1], _brief(card.notes)] for row, card in zip(rows, made.cards, strict=True)]
    click.echo(table(header, [[plain(cell) for cell in row] for row in brief]))
    say(f"wrote {results / MARKDOWN} and {results / JSON}: categories with intervals, every failure with its reason")


def _brief(notes: Sequence[str]) -> str:
    """As many notes as fit, one at least, and how many more there are."""
    shown = [
        note for place, note in enumerate(notes) if len("; ".join(notes[: place + 1])) <= _NOTES_WIDTH or place == 0
    ]
    rest = len(notes) - len(shown)
    return "; ".join(shown) + (f"; {rest} more in {MARKDOWN}" if rest else "")
