"""`crucibleforge cases stats`: how hard the cases turned out to be, from the runs at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from crucibleforge.cli._options import config_option, json_option, results_option, verbose_option
from crucibleforge.cli._screen import print_json, say, table
from crucibleforge.config import locate, results_folder
from crucibleforge.errors import InputError
from crucibleforge.report.difficulty import FEW, PANEL, Difficulty, ToRead, difficulties, gathered, to_read
from crucibleforge.report.markdown import plain
from crucibleforge.report.scorecard import Source
from crucibleforge.store.folder import Run, all_runs, load
from crucibleforge.suite.expand import suite

_HEADER = ["family", "rung", "models", "items", "passed", "95% interval", "cut off", "unparsed"]
_HEADER += ["discrimination", "flag", "label"]


class Stats(Struct, frozen=True):
    """All that is printed; `stale` rows are of questions that are no longer asked."""

    models: tuple[str, ...]
    rows: int
    stale: int
    rungs: tuple[Difficulty, ...]
    review: tuple[ToRead, ...]


@click.command("stats")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN_FOLDER]...")
@click.option("--review", is_flag=True, help="List cases for a person to read: a good model missed them.")
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(  # noqa: N802 - the constant that `cases` adds
    *, runs: tuple[Path, ...], review: bool, results_path: Path | None, config_path: Path | None, as_json: bool
) -> int:
    """Show how hard each rung of each family turned out to be: in all runs, or in those named."""
    results = results_folder(results_path, locate(config_path))
    chosen = [load(path) for path in runs] or list(all_runs(results))
    if not chosen:
        raise InputError(f"no runs in {results}", hint="`crucibleforge run` makes one")
    made = stats(sorted(chosen, key=lambda run: run.plan.id))
    if as_json:
        print_json(made)
        return 0
    click.echo(_reading(made.review) if review else table(_HEADER, [_cells(rung) for rung in made.rungs]))
    say(
        f"{made.rows} rows of {len(made.models)} models: {', '.join(map(plain, made.models)) or 'none'}; "
        f"labels say what models find from {PANEL} models on, discrimination needs {FEW}"
    )
    if made.stale:
        say(f"{made.stale} rows of questions that are no longer asked are not counted")
    return 0


def stats(runs: Sequence[Run]) -> Stats:
    """What these runs, given oldest first, say of the cases."""
    sources = [Source(run.plan, run.rows()) for run in runs]
    evidence = gathered(sources, suite())
    return Stats(
        tuple(evidence.rows),
        sum(map(len, evidence.rows.values())),
        evidence.stale,
        difficulties(evidence),
        to_read(evidence, suite()),
    )


def _cells(of: Difficulty) -> list[str]:
    rate = of.rate
    known = "-" if of.discrimination is None else f"{of.discrimination:+.2f} (n={of.discriminating})"
    return [
        of.family,
        of.rung,
        str(of.models),
        str(of.items),
        f"{100 * rate.passed / rate.total:.0f}% ({rate.passed}/{rate.total})",
        "-" if rate.low is None or rate.high is None else f"{100 * rate.low:.0f}% to {100 * rate.high:.0f}%",
        _share(of.truncated, of.rows),
        _share(of.unparsed, of.rows),
        known,
        of.flag or "-",
        f"{of.label} ({of.basis})",
    ]


def _share(part: float, rows: int) -> str:
    return f"{100 * part:.0f}% ({round(part * rows)}/{rows})" if part else "none"


def _reading(found: Sequence[ToRead]) -> str:
    if not found:
        return "no case was missed by a model that passes most of its category"
    lines = []
    for one in found:
        lines.append(f"{one.case_id} {one.case_hash}  expected {one.expected}")
        for miss in one.misses:
            lines.append(f"  {plain(miss.label)} ({miss.passed}/{miss.total}) {miss.outcome}: {miss.why}")
            lines.append(f"    {miss.answer}")
    return "\n".join(lines)
