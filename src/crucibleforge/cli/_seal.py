"""`crucibleforge cases seal`."""

from __future__ import annotations

import hmac

import click

from crucibleforge.cli._options import verbose_option
from crucibleforge.cli._screen import say
from crucibleforge.errors import InputError
from crucibleforge.suite.expand import CANONICAL_NAME
from crucibleforge.suite.form import FRESH, commitment, new_key, resolved


@click.command("seal")
@click.option("--key", help="A key to commit to; a new one if not given.", metavar="KEY")
@click.option("--commitment", "published", help="Check that the key is the one of this commitment.", metavar="HEX")
@verbose_option
def COMMAND(key: str | None, published: str | None) -> int:  # noqa: N802 - the constant that `cases` adds
    """Seal a form of the suite: commit to its key now, show it later.

    Publish the commitment before anybody is asked, keep the key, ask with `run --form KEY`, publish the key with the
    results. Then anyone can check with `--key KEY --commitment HEX` that the key was not chosen afterwards, and ask the
    same questions.
    """
    if key is None and published is not None:
        raise InputError("a commitment alone cannot be checked", hint="give the key as well: `--key KEY`")
    if key in (CANONICAL_NAME, FRESH):
        raise InputError(f"'{key}' is no key", hint="leave out `--key` for a new one")
    sealed = new_key() if key is None else resolved(key)
    if published is not None:
        return _checked(sealed, published)
    click.echo(f"key:        {sealed}\ncommitment: {commitment(sealed)}")
    say("publish the commitment now and the key with the results; whoever has the key knows the questions")
    say(f"`crucibleforge run --form {sealed}` asks this form")
    return 0


def _checked(key: str, published: str) -> int:
    is_same = hmac.compare_digest(commitment(key).encode(), published.strip().lower().encode())
    click.echo(
        "the key is the one that was committed to" if is_same else "the key is not the one that was committed to"
    )
    return 0 if is_same else 1
