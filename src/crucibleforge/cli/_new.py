"""`crucibleforge cases new`."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

import click

from crucibleforge import plugins
from crucibleforge.cli._options import verbose_option
from crucibleforge.cli._screen import say
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.families._scaffold import scaffold

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@click.command("new")
@click.argument("category", metavar="CATEGORY")
@click.argument("name", metavar="NAME")
@verbose_option
def COMMAND(category: str, name: str) -> int:  # noqa: N802 - the constant that `cases` adds
    """Begin a family of questions: write its file, and say how it is proved.

    Every part of the file says what is to be written there; `cases verify` fails until it is. docs/adding-a-family.md
    walks through one.
    """
    categories = sorted({known.partition("/")[0] for known in plugins.names("families")})
    if category not in categories:
        raise UnknownName("category", category, categories, hint=f"known: {', '.join(categories)}")
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' is no name of a family", hint="small letters, digits and single hyphens")
    folder = Path(str(files("crucibleforge") / "families" / category))
    path = folder / f"{name.replace('-', '_')}.py"
    if path.exists():
        raise InputError(f"{path} is there already", hint=f"`crucibleforge cases verify --families {category}/{name}`")
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"{folder} cannot be written", hint="work in a source checkout, installed with `pip install -e`"
        )
    path.write_text(scaffold(category, name), encoding="utf-8")
    click.echo(str(path))
    say(f"write its parts, then `crucibleforge cases verify --families {category}/{name}` until nothing is left to say")
    return 0
