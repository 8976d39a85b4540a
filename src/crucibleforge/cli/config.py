"""`crucibleforge config`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from crucibleforge.cli._options import config_option, json_option, verbose_option
from crucibleforge.cli._screen import print_json, say
from crucibleforge.config import FILE_NAME, load, locate, results_folder
from crucibleforge.errors import InputError


@click.command("config")
@click.option("--init", is_flag=True, help="Write a starter models.yaml.")
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@config_option
@json_option
@verbose_option
def COMMAND(init: bool, path: Path | None, config_path: Path | None, as_json: bool) -> int:  # noqa: N802
    """Show which configuration is used, or write a starter to FILE (./models.yaml)."""
    if init:
        return _write_starter(path or config_path or Path(FILE_NAME))
    if path is not None:
        raise InputError("FILE goes with --init", hint="`crucibleforge config --init models.yaml`")
    used = locate(config_path)
    config, results = load(used), results_folder(None, used)
    if as_json:
        print_json({"path": str(used) if used else None, "results": str(results), "config": config})
        return 0
    click.echo(f"configuration: {used or 'none: `builtin` is the only model'}")
    click.echo(f"results:       {results}")
    if used is None:
        say(f"hint: `crucibleforge config --init` writes a starter {FILE_NAME}")
    return 0


def _write_starter(path: Path) -> int:
    text = (files("crucibleforge") / "cli" / "starter.yaml").read_bytes()
    try:
        with path.open("xb") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists and is left as it is", hint="name another file") from None
    say(f"wrote {path}: edit providers and models, then `crucibleforge status`")
    return 0
