"""`suites/core.lock`: id, content hash and marking hash of every canonical case.

A diff of it shows exactly what joined, left or changed, and whether the question changed or only its marking.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from crucibleforge.families._build import marking_hash
from crucibleforge.types import Case

NAME = "core.lock"


def rendered(cases: Sequence[Case]) -> str:
    """The lock of these cases: one line a case, sorted by id."""
    return "".join(f"{case.id} {case.hash} {marking_hash(case)}\n" for case in sorted(cases, key=lambda case: case.id))


def stored() -> str:
    """The lock that this installation was built with; empty when there is none yet."""
    path = files("crucibleforge") / "suites" / NAME
    return path.read_text(encoding="ascii") if path.is_file() else ""


def differences(old: str, new: str) -> list[str]:
    """What changed from one lock to another, a line a case."""
    before, after = _parsed(old), _parsed(new)
    lines = [f"{name}: not in the lock" for name in after if name not in before]
    lines += [f"{name}: in the lock, not in the suite" for name in before if name not in after]
    for name, (question, marking) in after.items():
        if name in before and before[name] != (question, marking):
            what = "question" if before[name][0] != question else "marking"
            lines.append(f"{name}: its {what} is not the locked one")
    return sorted(lines)


def _parsed(text: str) -> dict[str, tuple[str, str]]:
    parsed = {}
    for line in text.splitlines():
        name, question, marking = line.split()
        parsed[name] = (question, marking)
    return parsed
