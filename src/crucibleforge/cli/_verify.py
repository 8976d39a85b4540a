"""`crucibleforge cases verify`: families side by side, one process a core; what was found sound is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

import click

from crucibleforge import plugins
from crucibleforge.cli._options import json_option, listed, unsandboxed_option, verbose_option
from crucibleforge.cli._sandboxed import sandbox_here
from crucibleforge.cli._screen import duration, print_json, say
from crucibleforge.config import load, locate
from crucibleforge.errors import UnknownName
from crucibleforge.families._contract import Examined
from crucibleforge.sandbox import Sandbox, open_sandbox
from crucibleforge.sandbox._fair import execute
from crucibleforge.store.folder import write_atomically
from crucibleforge.suite.shelf import cache
from crucibleforge.suite.verify import checked, grouped, orphans, state, summary

_LINES = "import sys; from crucibleforge.suite.verify import lines; sys.stdout.write(lines(sys.argv[1]))"
_ELSEWHERE_S = 600.0


@click.command("verify")
@listed("--families", "Only these families.", "LIST", "--family")
@click.option("--changed", "only_changed", is_flag=True, help="Only those not found sound as they are now.")
@click.option("--full", is_flag=True, help="As many draws as a new family must pass; takes many minutes.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes at once; one a core if not given.", metavar="N")
@unsandboxed_option
@json_option
@verbose_option
def COMMAND(  # noqa: N802 - the constant that `cases` adds
    families: tuple[str, ...],
    only_changed: bool,
    full: bool,
    jobs: int | None,
    allow_unsandboxed: int,
    as_json: bool,
) -> int:
    """Prove on this machine that every case is sound and its marking right.

    Ctrl-C loses nothing: `--changed` goes on with what has not been found sound yet.
    """
    meant = meant_families(families)
    names = changed(meant, full=full) if only_changed else list(meant)
    with sandbox_here(allow_unsandboxed):
        pass  # whatever there is to say or to refuse, it is said once and before anything starts
    way = Way(min(jobs or os.cpu_count() or 1, max(1, len(names))), full, allow_unsandboxed > 0)
    found = list(verified(names, way)) if names else []
    if not families:
        found.append(orphans())
    if as_json:
        print_json({"families": found, "summary": summary(found), "unchanged": len(meant) - len(names)})
    else:
        for problem in grouped(problem for one in found for problem in one.problems):
            click.echo(problem)
        click.echo(summary(found))
    if len(names) < len(meant):
        say(f"{len(meant) - len(names)} families were found sound before and have not changed")
    return 1 if any(one.problems for one in found) else 0


def meant_families(families: tuple[str, ...]) -> tuple[str, ...]:
    """The families that were named, or all.

    Raises:
        UnknownName: there is no such family.
    """
    known = plugins.names("families")
    for name in families:
        if name not in known:
            raise UnknownName("family", name, known, hint="`crucibleforge cases list`")
    return families or known


@dataclass(frozen=True)
class Way:
    """How to check: so many processes at once, the laws in full, without a sandbox if need be."""

    jobs: int
    full: bool
    allow_unsandboxed: bool


def verified(names: Sequence[str], way: Way) -> Iterator[Examined]:
    """Check families, telling each as it ends and how long the rest may take; sound ones are remembered."""
    begin = time.monotonic()
    context = get_context("spawn")
    with ProcessPoolExecutor(way.jobs, context, _begin, (way.allow_unsandboxed,)) as pool:
        try:
            running = [pool.submit(_check, name, way.full) for name in names]
            for done, future in enumerate(as_completed(running), start=1):
                found, took = future.result()
                if not found.problems:
                    _remember(found.family, full=way.full)
                left = (time.monotonic() - begin) / done * (len(names) - done)
                more = f", about {duration(left)} left" if done < len(names) else ""
                verdict = "PROBLEMS" if found.problems else "ok"
                say(f"[{done}/{len(names)}] {found.family}: {verdict}, {duration(took)}{more}")
                yield found
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def changed(names: Sequence[str], *, full: bool) -> list[str]:
    """The families that have not been found sound as they are now."""
    known = _known()
    return [name for name in names if known.get(_key(name, full=full)) != state(name)]


def elsewhere(name: str) -> str:
    """The lock lines of a family as a process with another hash seed draws them."""
    other = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(  # noqa: S603 - our own program
        (sys.executable, "-c", _LINES, name),
        env=os.environ | {"PYTHONHASHSEED": other},
        capture_output=True,
        text=True,
        timeout=_ELSEWHERE_S,
        check=False,
    )
    return done.stdout


_sandbox: list[Sandbox] = []
"""Of a process of the pool: opened when it begins, as it ends with the thread that opened it."""


def _begin(allow_unsandboxed: bool) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    _sandbox.append(open_sandbox(load(locate(None)).sandbox, allow_unsandboxed=allow_unsandboxed))


def _end_with_parent() -> None:
    """A pool does not notice that the process it works for is gone, and would go on for minutes."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _check(name: str, full: bool) -> tuple[Examined, float]:
    begin = time.monotonic()
    found = checked(
        name,
        lambda program: execute(_sandbox[0], program),
        full=full,
        elsewhere=elsewhere,
        # A full look takes minutes a family.
        progress=(lambda what: say(f"{name}: {what}")) if full else (lambda _: None),
    )
    return found, time.monotonic() - begin


def _remember(name: str, *, full: bool) -> None:
    known = _known() | {_key(name, full=full): state(name)}
    if full:
        known[_key(name, full=False)] = known[_key(name, full=True)]
    write_atomically(_file(), json.dumps(known, indent=1, sort_keys=True).encode())


def _known() -> dict[str, str]:
    try:
        found = json.loads(_file().read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _key(name: str, *, full: bool) -> str:
    return f"{name} full" if full else name


def _file() -> Path:
    return cache() / "verified.json"
