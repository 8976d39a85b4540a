"""`crucibleforge cases`: list, show, verify, run our own solutions, lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec

from crucibleforge import plugins
from crucibleforge.cli._by_hand import Tried, attempt
from crucibleforge.cli._options import (
    json_option,
    listed,
    selection_options,
    unsandboxed_option,
    verbose_option,
)
from crucibleforge.cli._sandboxed import executor, sandbox_here, sandboxed
from crucibleforge.cli._screen import print_json, say, table
from crucibleforge.errors import CrucibleError, InputError, UnknownName
from crucibleforge.programs import Program, Ran
from crucibleforge.store.folder import write_atomically
from crucibleforge.suite.expand import revision, suite
from crucibleforge.suite.hidden import new_seed
from crucibleforge.suite.lock import NAME, differences, rendered, stored
from crucibleforge.suite.select import select
from crucibleforge.suite.verify import Checked, orphans, verify
from crucibleforge.types import Case, Selection


@click.group("cases")
def COMMAND() -> None:  # noqa: N802 - the constant by which the lazy group finds a verb
    """List, show, verify, solve and lock the questions."""


@COMMAND.command("list")
@selection_options
@json_option
@verbose_option
def list_cases(as_json: bool, **options: Any) -> int:
    """List the cases that a selection means."""
    chosen = select(suite(), Selection(**options))
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


@COMMAND.command("verify")
@listed("--families", "Only these families.", "LIST")
@unsandboxed_option
@json_option
@verbose_option
def verify_cases(families: tuple[str, ...], allow_unsandboxed: int, as_json: bool) -> int:
    """Prove on this machine that every case is sound and its marking right."""
    known = _known(families)
    checked = []
    with sandbox_here(allow_unsandboxed) as sandbox:
        for one in verify(families or known, executor(sandbox)):
            checked.append(one)
            say(f"[{len(checked)}/{len(families or known)}] {one.family}: {'ok' if not one.problems else 'PROBLEMS'}")
    if not families:
        checked += [Checked("lock", 0, (line,)) for line in orphans()]
    problems = [problem for one in checked for problem in one.problems]
    if as_json:
        print_json({"families": checked, "problems": len(problems)})
    else:
        for problem in problems:
            click.echo(problem)
        click.echo(f"{sum(one.cases for one in checked)} cases checked, {len(problems)} problems")
    return 1 if problems else 0


@COMMAND.command("run-reference")
@listed("--families", "Only these families.", "LIST")
@unsandboxed_option
@json_option
@verbose_option
def run_reference(families: tuple[str, ...], allow_unsandboxed: int, as_json: bool) -> int:
    """Run our own program of every case that is marked by running, on canonical and hidden inputs."""
    known = _known(families)
    meant = families or known
    chosen = [case for case in suite() if case.needs.sandbox and case.family in meant]
    if not chosen:
        raise InputError(f"no case of {', '.join(meant)} is marked by running", hint="`crucibleforge cases list`")
    seed, tried = new_seed(), []
    with sandboxed(chosen, allow_unsandboxed) as sandbox:
        for case in chosen:
            tried.append(_solve(case, executor(sandbox), seed))
            if not as_json:
                click.echo(_solved(tried[-1]))
    failed = sum(one.outcome != "pass" for one in tried)
    if as_json:
        print_json({"cases": tried, "failed": failed})
    else:
        click.echo(f"{len(tried)} programs of ours run, {failed} failed, {sum(map(_cpu_s, tried)):.2f} s of CPU time")
    say(f"hidden inputs are from seed {seed}")
    return 1 if failed else 0


@COMMAND.command("lock")
@click.option("--check", is_flag=True, help="Only compare; exit 1 when the lock is not up to date.")
@verbose_option
def lock(check: bool) -> int:
    """Write suites/core.lock from the families, showing what changes."""
    fresh = rendered(suite())
    changes = differences(stored(), fresh)
    for line in changes:
        click.echo(line)
    if check or not changes:
        say(f"{len(changes)} differences, suite {revision(suite())}")
        return 1 if changes else 0
    path = Path(str(files("crucibleforge") / "suites" / NAME))
    if not os.access(path.parent, os.W_OK):
        raise InputError(
            f"{path} cannot be written", hint="lock from a source checkout, installed with `pip install -e`"
        )
    write_atomically(path, fresh.encode())
    say(f"wrote {NAME}: {len(suite())} cases, suite {revision(suite())}")
    return 0


def _known(families: tuple[str, ...]) -> tuple[str, ...]:
    """Every family of the suite; refuses a name that is none."""
    known = plugins.names("families")
    for name in families:
        if name not in known:
            raise UnknownName("family", name, known, hint="`crucibleforge cases list`")
    return known


def _solve(case: Case, run: Callable[[Program], Ran], seed: str) -> Tried:
    """Our own program on its case. What fails while its time is measured is one failure, not the end of all."""
    try:
        return attempt(case, case.grading.settings.get("reference", ""), run, seed)
    except CrucibleError as error:
        if error.exit_code != CrucibleError.exit_code:
            raise
        return Tried(case=case.id, outcome="fail", score=0.0, why=error.message)


def _solved(tried: Tried) -> str:
    if tried.outcome != "pass":
        return f"{tried.case}: {tried.outcome}, {tried.why}"
    return f"{tried.case}: pass, {len(tried.elements)} inputs, {1000 * _cpu_s(tried):.1f} ms"


def _cpu_s(tried: Tried) -> float:
    return sum(tried.cpu_s)


def _facts(case: Case) -> dict[str, Any]:
    return {"id": case.id, "hash": case.hash, "grader": case.grading.grader, "needs": case.needs, "smoke": case.smoke}


def _needs(case: Case) -> str:
    needs = [f"{case.needs.context_tokens:,} tokens of context"]
    needs += ["tools"] if case.needs.tools else []
    needs += ["sandbox"] if case.needs.sandbox else []
    return ", ".join(needs)


def _line(value: Any) -> str:
    return msgspec.json.encode(value).decode()
