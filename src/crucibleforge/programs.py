"""A program of unknown intent, the bounds it runs in, and what became of it.

`run(Program, Limits) -> Ran` is all that graders and sandboxes know of each other.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Program(Struct, frozen=True):
    """Code of unknown intent and the inputs to give it, one at a time. Holds no answer, no test, no checker.

    `entry` is the function that `source` must define; each of `calls` is a tuple of positional arguments
    (JSON values). Every call runs in a process of its own.
    """

    source: str
    entry: str
    calls: tuple[tuple[Any, ...], ...]


class Limits(Struct, frozen=True):
    """Bounds of one call, and of what a program may say."""

    wall_s: float = 10.0
    cpu_s: int = 5
    memory_bytes: int = 512 * 1024 * 1024
    answer_bytes: int = 1024 * 1024


class Returned(Struct, frozen=True, tag="returned", tag_field="type"):
    """The value that a call gave, after a round trip through JSON."""

    value: Any


class Raised(Struct, frozen=True, tag="raised", tag_field="type"):
    """What a call died of: `kind` is the exception's name, or `time limit`, `memory limit`, `exit`, `output limit`."""

    kind: str
    message: str = ""


class Ran(Struct, frozen=True):
    """What became of a program: one result per call, in order, or the reason why it never came to that.

    `broken` is empty when every call was tried; otherwise it says why not (a syntax error with its line, no such
    function, a broken protocol). That is the program's fault; trouble of the sandbox itself is raised instead.
    `isolation` names the level under which it ran.
    """

    results: tuple[Returned | Raised, ...]
    isolation: str
    broken: str = ""
