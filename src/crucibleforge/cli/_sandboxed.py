"""A sandbox for the cases that need one, opened before anything else starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from crucibleforge.cli._screen import say
from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Limits, Program, Ran
from crucibleforge.sandbox import Sandbox, open_sandbox
from crucibleforge.types import Case


@contextmanager
def sandboxed(cases: Iterable[Case], allow_unsandboxed: bool) -> Iterator[Sandbox | None]:
    """A sandbox, or None when no case runs code.

    Raises:
        SandboxMissing: there is none, and no waiver.
    """
    if not any(case.needs.sandbox for case in cases):
        yield None
        return
    sandbox = open_sandbox(allow_unsandboxed=allow_unsandboxed)
    if sandbox.isolation == "none":
        say("warning: model-written code will run WITHOUT a sandbox, as you, with your files (--allow-unsandboxed)")
    try:
        yield sandbox
    finally:
        sandbox.close()


def executor(sandbox: Sandbox | None) -> Callable[[Program], Ran]:
    """How a grader's program is run."""

    def execute(program: Program) -> Ran:
        if sandbox is None:
            raise SandboxMissing("a program is to be run and no sandbox was opened")
        return sandbox.run(program, Limits())

    return execute
