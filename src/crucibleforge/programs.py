"""A program of unknown intent, the bounds it runs in, and what became of it.

`run(Program, Limits) -> Ran` is all that graders and sandboxes know of each other.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Container = Literal["set", "int_keys"]
"""What a program may give beside JSON: a set becomes a sorted array, an object with integer keys sorted pairs."""


class Call(Struct, frozen=True, omit_defaults=True):
    """One input.

    `args` are JSON values. For a class they are two arrays: the arguments of its constructor, and the operations, each
    a method's name and its arguments; its value is then the array of what the operations gave. `size` is the size of
    an input that measures how the time grows, 0 for every other. `cpu_s` overrides the bound of `Limits`.
    """

    args: tuple[Any, ...]
    size: int = 0
    cpu_s: float | None = None


class Program(Struct, frozen=True, omit_defaults=True):
    """Code of unknown intent and the inputs to give it, one at a time. Holds no answer, no test, no checker.

    `entry` is the function or class that `source` must define. Every call runs in a process of its own; with `scratch`
    it starts in an empty folder of its own that it may write to. `reference` is our own solution of the same task: how
    long it takes here and now bounds the calls of the program. It runs in a sandbox of its own.
    """

    source: str
    entry: str
    calls: tuple[Call, ...]
    form: Literal["function", "class"] = "function"
    containers: tuple[Container, ...] = ()
    scratch: bool = False
    reference: str = ""


class Limits(Struct, frozen=True):
    """Bounds of one call, and of what a program may say. CPU time decides; `wall_s` is for what only waits."""

    wall_s: float = 30.0
    cpu_s: float = 5.0
    memory_bytes: int = 512 * 1024 * 1024
    answer_bytes: int = 1024 * 1024


class Returned(Struct, frozen=True, tag="returned", tag_field="type"):
    """The value that a call gave, after a round trip through JSON."""

    value: Any


class Raised(Struct, frozen=True, omit_defaults=True, tag="raised", tag_field="type"):
    """What a call died of: `kind` is the exception's name, or `time limit`, `memory limit`, `exit`, `output limit`.

    `at` is the last place in the code that an exception passed, as `line 12, in solve`. `step` is the number of the
    operation, from 1, that a class died in; 0 elsewhere.
    """

    kind: str
    message: str = ""
    at: str = ""
    step: int = 0


class Ran(Struct, frozen=True, omit_defaults=True):
    """What became of a program: one result per call, in order, or the reason why it never came to that.

    `broken` is empty when every call was tried; otherwise it says why not (a syntax error with its line, no such
    function, a broken protocol). That is the program's fault; trouble of the sandbox itself is raised instead.
    `isolation` names the level under which it ran. `cpu_s` is the CPU time of each call, and `reference_cpu_s` that of
    our own solution on the same inputs at about the same time, 0.0 where it was not measured; empty: none was.
    """

    results: tuple[Returned | Raised, ...]
    isolation: str
    broken: str = ""
    cpu_s: tuple[float, ...] = ()
    reference_cpu_s: tuple[float, ...] = ()
