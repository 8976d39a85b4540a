"""Mark one program of the user's, or our own, against a case, and show how it came to that."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from msgspec import Struct

from crucibleforge import plugins
from crucibleforge.cli._sandboxed import executor, sandboxed
from crucibleforge.cli._screen import print_json, say, table
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.extract.fence import fences
from crucibleforge.families._dress import said
from crucibleforge.graders import ByRunning
from crucibleforge.graders._mark import mark
from crucibleforge.programs import Program, Ran
from crucibleforge.report.markdown import plain
from crucibleforge.suite.expand import suite
from crucibleforge.suite.hidden import new_seed, seed_of, with_hidden
from crucibleforge.types import Case, Element, Outcome

_LARGEST = 4 * 1024 * 1024
"""Bytes of a file; far more than any reply that is looked at whole."""
_SEED = re.compile(r"[0-9a-f]{1,64}")


class Wanted(Struct, frozen=True):
    """The options as they were given, "" where they were not."""

    case_id: str
    code: str
    seed: str


class Tried(Struct, frozen=True, kw_only=True):
    """What came of a program. CPU seconds, one for each input in order, empty where nothing was measured.

    `seed` is what the hidden inputs were drawn from, "" if there were none.
    """

    case: str
    outcome: Outcome
    score: float
    why: str
    elements: tuple[Element, ...] = ()
    grader: str = ""
    isolation: str = ""
    seed: str = ""
    cpu_s: tuple[float, ...] = ()
    reference_cpu_s: tuple[float, ...] = ()


def by_hand(want: Wanted, allow_unsandboxed: int, config_path: Path | None, as_json: bool) -> int:
    """Mark the file against the case and print what came of it; 0 if it passes, else 1.

    Raises:
        InputError: an option is missing or makes no sense, or the case is not marked by running.
        SandboxMissing: there is none, and no waiver.
    """
    if not (want.case_id and want.code):
        raise InputError("a program by hand needs both --case ID and --code FILE", hint="`crucibleforge cases list`")
    case, seed = _case(want.case_id), _seed(want.seed)
    text = _read(want.code)
    with sandboxed([case], allow_unsandboxed, config_path) as sandbox:
        tried = attempt(case, text, executor(sandbox), seed)
    if as_json:
        print_json(tried)
    else:
        _show(tried)
    return 0 if tried.outcome == "pass" else 1


def attempt(case: Case, text: str, run: Callable[[Program], Ran], seed: str) -> Tried:
    """Mark a program, or a whole reply if there are fences in it, on canonical inputs and on those of the seed."""
    ran: list[Ran] = []

    def watched(program: Program) -> Ran:
        ran.append(run(program))
        return ran[-1]

    finding, grader, isolation = mark(case, (said(_as_reply(text)),), watched, partial(with_hidden, seed=seed))
    return Tried(
        case=case.id,
        outcome=finding.outcome,
        score=finding.score,
        why=finding.why,
        elements=finding.elements,
        grader=grader,
        isolation=isolation,
        seed=seed_of(case, isolation, seed),
        cpu_s=ran[-1].cpu_s if ran else (),
        reference_cpu_s=ran[-1].reference_cpu_s if ran else (),
    )


def _as_reply(text: str) -> str:
    """A bare program in a fence, so that a fault of its syntax is told as such."""
    return f"```python\n{text}\n```" if text.strip() and not fences(text) else text


def _case(case_id: str) -> Case:
    found = {case.id: case for case in suite()}
    if case_id not in found:
        raise UnknownName("case", case_id, found, hint="`crucibleforge cases list`")
    grader = found[case_id].grading.grader
    if not isinstance(plugins.find("graders", grader), ByRunning):
        raise InputError(
            f"{case_id} is marked by `{grader}`, which runs no program",
            hint="`crucibleforge cases list --categories coding` shows those that are marked by running",
        )
    return found[case_id]


def _seed(given: str) -> str:
    seed = given.lower() or new_seed()
    if not _SEED.fullmatch(seed):
        raise InputError(f"--seed '{given}' is not 1 to 64 hex digits", hint="report.md shows the seed of a row")
    return seed


def _read(name: str) -> str:
    with click.open_file(name, "rb") as file:
        data: bytes = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise InputError(f"{name} is longer than {_LARGEST:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start})") from None


def _show(tried: Tried) -> None:
    click.echo(f"{tried.case}: {tried.outcome}, score {tried.score:.2f}")
    if tried.why:
        click.echo(plain(tried.why))
    if tried.elements:
        rows = [
            [
                "ok" if element.passed else "no",
                _milliseconds(tried.cpu_s, place),
                _milliseconds(tried.reference_cpu_s, place),
                plain(element.name),
            ]
            for place, element in enumerate(tried.elements)
        ]
        click.echo("\n" + table(["", "CPU", "ours", "input"], rows))
    if tried.isolation:
        say(f"ran in {tried.isolation}")
    if tried.seed:
        say(f"hidden inputs are from a seed; `--seed {tried.seed}` gives them again")


def _milliseconds(seconds: tuple[float, ...], place: int) -> str:
    return f"{1000 * seconds[place]:.1f} ms" if place < len(seconds) and seconds[place] else "-"
