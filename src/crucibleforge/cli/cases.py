"""`crucibleforge cases`: list, show and lock; the other verbs about questions have a file each."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec

from crucibleforge.cli import _docs, _export, _new, _reference, _seal, _stats, _verify
from crucibleforge.cli._options import config_option, json_option, selection_options, verbose_option
from crucibleforge.cli._screen import print_json, say, table
from crucibleforge.config import locate, with_profile
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.store.folder import write_atomically
from crucibleforge.suite.expand import drawn, revision, suite
from crucibleforge.suite.lock import NAME, differences, rendered, stored
from crucibleforge.suite.select import select
from crucibleforge.types import Case, Selection


@click.group("cases")
def COMMAND() -> None:  # noqa: N802 - the constant by which the lazy group finds a verb
    """List, show, prove, make and export the questions."""


@COMMAND.command("list")
@selection_options
@config_option
@json_option
@verbose_option
def list_cases(*, config_path: Path | None, as_json: bool, **options: Any) -> int:
    """List the cases that a selection means."""
    chosen = select(suite(), with_profile(Selection(**options), locate(config_path)))
    if as_json:
        print_json([_facts(case) for case in chosen])
        return 0
    rows = [[case.id, case.grading.grader, str(case.dialogue.max_tokens), _needs(case)] for case in chosen]
    click.echo(table(["case", "grader", "max tokens", "needs"], rows))
    say(f"{len(chosen)} of {len(suite())} cases, suite {revision(suite())}")
    return 0


@COMMAND.command("show")
@click.argument("case_id", metavar="ID")
@json_option
@verbose_option
def show(case_id: str, as_json: bool) -> int:
    """Show one case whole: what is asked, what is expected, how it is marked."""
    found = {case.id: case for case in suite()}
    if case_id not in found:
        raise UnknownName("case", case_id, found, hint="`crucibleforge cases list`")
    case = found[case_id]
    if as_json:
        print_json(case)
        return 0
    click.echo(f"{case.id}  hash {case.hash}  {_needs(case)}")
    for message in case.dialogue.messages:
        click.echo(f"\n[{message.role}]\n{message.content}")
    for turn in case.dialogue.turns:
        click.echo(f"\n[user, next turn]\n{turn}")
    for tool in case.dialogue.tools:
        click.echo(f"\n[tool] {tool.name}: {tool.description}\n{_line(tool.parameters)}")
    for answer in case.dialogue.answers:
        click.echo(f"\n[answer to {answer.name}({_line(answer.arguments)})] {answer.result}")
    click.echo(f"\n[expected]\n{_line(case.expected)}")
    click.echo(f"\n[grader] {case.grading.grader} {_line(case.grading.settings)}")
    return 0


@COMMAND.command("lock")
@click.option("--check", is_flag=True, help="Only compare; exit 1 when the lock is not up to date.")
@verbose_option
def lock(check: bool) -> int:
    """Write suites/core.lock from the families, showing what changes."""
    cases = drawn()
    fresh = rendered(cases)
    changes = differences(stored(), fresh)
    for line in changes:
        click.echo(line)
    if check or not changes:
        say(f"{len(changes)} differences, suite {revision(cases)}")
        return 1 if changes else 0
    path = Path(str(files("crucibleforge") / "suites" / NAME))
    if not os.access(path.parent, os.W_OK):
        raise InputError(
            f"{path} cannot be written", hint="lock from a source checkout, installed with `pip install -e`"
        )
    write_atomically(path, fresh.encode())
    say(f"wrote {NAME}: {len(cases)} cases, suite {revision(cases)}")
    return 0


def _facts(case: Case) -> dict[str, Any]:
    return {"id": case.id, "hash": case.hash, "grader": case.grading.grader, "needs": case.needs, "smoke": case.smoke}


def _needs(case: Case) -> str:
    needs = [f"{case.needs.context_tokens:,} tokens of context"]
    needs += ["tools"] if case.needs.tools else []
    needs += ["sandbox"] if case.needs.sandbox else []
    return ", ".join(needs)


def _line(value: Any) -> str:
    return msgspec.json.encode(value).decode()


for module in (_verify, _reference, _export, _stats, _new, _docs, _seal):
    COMMAND.add_command(module.COMMAND)
