"""Prove the suite on this machine: every family keeps its laws, every case is the locked one."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from crucibleforge import plugins
from crucibleforge.families import _build
from crucibleforge.families._contract import Examined, examine
from crucibleforge.families._law import FULL, QUICK, Run
from crucibleforge.suite.lock import differences, rendered, stored

_DECISIVE = ("families", "graders", "extract", "sandbox")
"""Folders whose code decides whether a family is sound."""


def checked(
    name: str,
    run: Run,
    *,
    full: bool = False,
    elsewhere: Callable[[str], str] = lambda _: "",
    progress: Callable[[str], None] = lambda _: None,
) -> Examined:
    """Check one family against its laws and the lock.

    Args:
        name: The family.
        run: Runs a program.
        full: Look at as many draws as a new family must pass before it joins.
        elsewhere: The lock lines of the family as a process with another hash seed draws them; "" where none was asked.
        progress: Told what is looked at now.
    """
    family = plugins.find("families", name)
    found = examine(family, run, FULL if full else QUICK, progress)
    if not found.cases:
        return found
    fresh = rendered(tuple(_build.cases(family)))
    own = "".join(f"{line}\n" for line in stored().splitlines() if line.startswith(f"{name}/"))
    other = elsewhere(name)
    wandering = [
        f"{line.partition(':')[0]}: another process draws another case (an unseeded draw, the order of a set, hash())"
        for line in (differences(other, fresh) if other else [])
    ]
    return msgspec.structs.replace(found, problems=(*found.problems, *wandering, *differences(own, fresh)))


def grouped(problems: Iterable[str]) -> list[str]:
    """A line for each fault, with the first of its places and how many more there are."""
    places: dict[str, list[str]] = {}
    for problem in problems:
        place, _, fault = problem.partition(": ")
        places.setdefault(fault, []).append(place)
    return [
        f"{found[0]}: {fault}" + (f" (and at {len(found) - 1} more places)" if len(found) > 1 else "")
        for fault, found in places.items()
    ]


def lines(name: str) -> str:
    """The lock lines of a family, drawn anew."""
    return rendered(tuple(_build.cases(plugins.find("families", name))))


def orphans() -> Examined:
    """Locked cases whose family is gone."""
    known = set(plugins.names("families"))
    gone = [
        f"{line.split()[0]}: in the lock, its family is not in the suite"
        for line in stored().splitlines()
        if line.split()[0].rsplit("/", 1)[0] not in known
    ]
    return Examined("lock", 0, tuple(gone))


def state(name: str) -> str:
    """A digest of all that decides whether a family is sound: its code, the kit, graders, sandbox, lock, Python."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    root = files("crucibleforge")
    category = name.partition("/")[0]
    for folder in _DECISIVE:
        for path in sorted(_sources(root / folder), key=lambda path: path.name):
            digest.update(path.read_bytes())
    for path in sorted(_sources(root / "families" / category), key=lambda path: path.name):
        if path.name.startswith("_") or path.name == f"{name.rpartition('/')[2].replace('-', '_')}.py":
            digest.update(path.read_bytes())
    digest.update("".join(line for line in stored().splitlines() if line.startswith(f"{name}/")).encode())
    return digest.hexdigest()


def summary(found: Sequence[Examined]) -> str:
    """One line about all that was checked."""
    cases = sum(one.cases for one in found)
    faulty = {problem.partition(": ")[0] for one in found for problem in one.problems}
    done = {
        name: sum(getattr(one, name) for one in found) for name in ("references", "derived", "refused", "timed_out")
    }
    return (
        f"{cases} cases checked, {len(faulty)} with problems ({done['references']} reference solutions run, "
        f"{done['derived']} answers derived again, {done['refused']} wrong programs refused, "
        f"{done['timed_out']} slow programs timed out)"
    )


def _sources(folder: Traversable) -> Iterable[Traversable]:
    return (path for path in folder.iterdir() if path.name.endswith(".py"))
