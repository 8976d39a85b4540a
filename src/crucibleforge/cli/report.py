"""`crucibleforge report`."""

from __future__ import annotations

from pathlib import Path

import click

from crucibleforge.cli import _board
from crucibleforge.cli._options import config_option, json_option, results_option, verbose_option
from crucibleforge.cli._screen import print_json
from crucibleforge.config import load, locate, results_folder
from crucibleforge.errors import InputError


@click.command("report")
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(results_path: Path | None, config_path: Path | None, as_json: bool) -> int:  # noqa: N802
    """Build the board from all runs and print it."""
    path = locate(config_path)
    config, results = load(path), results_folder(results_path, path)
    made = _board.gather(results, config)
    if not made.cards:
        raise InputError(f"no results in {results}", hint="`crucibleforge all` makes some")
    _board.write(made, results)
    if as_json:
        print_json(made)
    else:
        _board.show(made, results)
    return 0
