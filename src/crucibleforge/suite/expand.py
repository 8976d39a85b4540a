"""Families to cases. The canonical form is the same on every machine; `suites/core.lock` says which one it is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache

from crucibleforge import plugins
from crucibleforge.families._build import build, draft
from crucibleforge.families._kit import Family
from crucibleforge.types import LEVELS, Case

VERSION = "1.0.0"
"""Of the suite, not of the program: it moves when what is asked moves in kind."""


@cache
def suite() -> tuple[Case, ...]:
    """Every canonical case, by family name, then level, then index."""
    return tuple(case for name in plugins.names("families") for case in cases(plugins.find("families", name)))


def cases(family: Family) -> Iterable[Case]:
    """The canonical cases of one family, easy ones first."""
    for level in LEVELS:
        for index in range(1, family.count + 1):
            yield build(family, level, index, draft(family, level, index))


def revision(of: Sequence[Case]) -> str:
    """`1.0.0+<8 hex>`: the digest covers what is asked, so a mended grader leaves it as it is."""
    lines = "".join(f"{case.id} {case.hash}\n" for case in sorted(of, key=lambda case: case.id))
    return f"{VERSION}+{hashlib.sha256(lines.encode()).hexdigest()[:8]}"
