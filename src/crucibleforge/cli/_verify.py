"""Families checked side by side, one process a core; what was found sound is remembered, so that it can go on later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import platformdirs

from crucibleforge.cli._screen import duration, say
from crucibleforge.families._contract import Examined
from crucibleforge.sandbox import Sandbox, open_sandbox
from crucibleforge.sandbox._fair import execute
from crucibleforge.store.folder import write_atomically
from crucibleforge.suite.verify import checked, state

_LINES = "import sys; from crucibleforge.suite.verify import lines; sys.stdout.write(lines(sys.argv[1]))"
_ELSEWHERE_S = 600.0


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
                left = (time.monotonic() - begin) / done * (len(names) - done)
                more = f", about {duration(left)} left" if done < len(names) else ""
                verdict = "PROBLEMS" if found.problems else "ok"
                say(f"[{done}/{len(names)}] {found.family}: {verdict}, {duration(took)}{more}")
                if not found.problems:
                    _remember(found.family, full=way.full)
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
    _sandbox.append(open_sandbox(allow_unsandboxed=allow_unsandboxed))


def _check(name: str, full: bool) -> tuple[Examined, float]:
    begin = time.monotonic()
    found = checked(name, lambda program: execute(_sandbox[0], program), full=full, elsewhere=elsewhere)
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
    root = os.environ.get("CRUCIBLEFORGE_CACHE") or platformdirs.user_cache_path("crucibleforge")
    return Path(root) / "verified.json"
