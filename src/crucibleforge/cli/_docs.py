"""`crucibleforge cases docs`."""

from __future__ import annotations

import click

from crucibleforge.cli._options import verbose_option
from crucibleforge.suite.catalogue import catalogue


@click.command("docs")
@verbose_option
def COMMAND() -> int:  # noqa: N802 - the constant that `cases` adds
    """Print docs/cases.md: every family, what it asks and how it is marked."""
    click.echo(catalogue(), nl=False)
    return 0
