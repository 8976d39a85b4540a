"""Find a plug-in by kind and name, importing only that one.

A plug-in is a module with one upper-case constant: `FAMILY`, `GRADER`, `PROVIDER` or `SANDBOX`. Ours are found by
folder and file name; those of others by an entry point of group `crucibleforge.<kind>` that names the module.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal

from crucibleforge.errors import UnknownName

Kind = Literal["families", "graders", "providers", "sandbox"]
_CONSTANT: dict[Kind, str] = {
    "families": "FAMILY",
    "graders": "GRADER",
    "providers": "PROVIDER",
    "sandbox": "SANDBOX",
}
_NOUN: dict[Kind, str] = {
    "families": "family",
    "graders": "grader",
    "providers": "provider type",
    "sandbox": "sandbox",
}
_ROOT = Path(__file__).parent


def find(kind: Kind, name: str) -> Any:
    """The plug-in's constant, for example `find("families", "math/digit-sum")`.

    Raises:
        UnknownName: no module of that kind has this name.
    """
    ours = _ours(kind)
    if name in ours:
        module = importlib.import_module(ours[name])
    else:
        theirs = _theirs(kind)
        if name not in theirs:
            raise UnknownName(_NOUN[kind], name, names(kind))
        module = theirs[name].load()
    return getattr(module, _CONSTANT[kind])


def names(kind: Kind) -> tuple[str, ...]:
    """Every known name of a kind, sorted; imports nothing."""
    return tuple(sorted({*_ours(kind), *_theirs(kind)}))


@cache
def _ours(kind: Kind) -> dict[str, str]:
    found = {}
    for path in sorted((_ROOT / kind).rglob("*.py")):
        relative = path.relative_to(_ROOT / kind)
        if any(part.startswith("_") for part in relative.parts):
            continue
        parts = relative.with_suffix("").parts
        found["/".join(parts).replace("_", "-")] = ".".join(("crucibleforge", kind, *parts))
    return found


@cache
def _theirs(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=f"crucibleforge.{kind}")}
