"""`crucibleforge cases run-reference`."""

from __future__ import annotations

from collections.abc import Callable

import click

from crucibleforge.cli._by_hand import Tried, attempt
from crucibleforge.cli._options import json_option, listed, unsandboxed_option, verbose_option
from crucibleforge.cli._sandboxed import executor, sandboxed
from crucibleforge.cli._screen import print_json, say
from crucibleforge.cli._verify import meant_families
from crucibleforge.errors import CrucibleError, InputError
from crucibleforge.programs import Program, Ran
from crucibleforge.suite.expand import suite
from crucibleforge.suite.hidden import new_seed
from crucibleforge.types import Case


@click.command("run-reference")
@listed("--families", "Only these families.", "LIST")
@unsandboxed_option
@json_option
@verbose_option
def COMMAND(  # noqa: N802 - the constant that `cases` adds
    families: tuple[str, ...], allow_unsandboxed: int, as_json: bool
) -> int:
    """Run our own program of every case that is marked by running, on canonical and hidden inputs."""
    meant = meant_families(families)
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
