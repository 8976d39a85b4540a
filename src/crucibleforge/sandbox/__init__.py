"""Runs code of unknown intent. What a sandbox is, and how the best one of this machine is found.

A sandbox is a module with a constant `SANDBOX`, a `SandboxKind`. What none of them promises: to hold against a fault
of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from crucibleforge import plugins
from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Limits, Program, Ran

_FIRST = "bwrap"


class Sandbox(Protocol):
    """A place to run programs in.

    `isolation` names it and its strength in words for people, such as `bwrap (system 0.8.0), uid 65534, python 3.11`.
    """

    isolation: str

    def run(self, program: Program, limits: Limits) -> Ran:
        """Give every call to the program, in order, each in a process of its own.

        Blocks. Call it from one long-lived thread: a sandbox may die with the thread that started it.

        Raises:
            Stopped: `stop` was called, now or earlier.
            CrucibleError: the sandbox itself failed; the program is not to blame.
        """
        ...

    def stop(self) -> None:
        """End what runs now, within half a second, and refuse what comes later. For any thread or signal handler."""
        ...

    def close(self) -> None:
        """Give back what the sandbox holds."""
        ...


@dataclass(frozen=True)
class SandboxKind:
    """What a sandbox module offers.

    `protects` is False for what is taken only when the user has waived protection. `open` proves that the sandbox
    works here, or raises SandboxMissing.
    """

    name: str
    protects: bool
    open: Callable[[], Sandbox]


def open_sandbox(*, allow_unsandboxed: bool = False, kinds: Sequence[SandboxKind] | None = None) -> Sandbox:
    """The best sandbox that works on this machine; without protection only if that is allowed.

    Args:
        allow_unsandboxed: take one that protects from nothing when no other works.
        kinds: what to choose from, best first; None means every plug-in.

    Raises:
        SandboxMissing: none works; the message is that of the first one tried.
    """
    chosen = _plugins() if kinds is None else kinds
    missing: SandboxMissing | None = None
    for kind in (kind for kind in chosen if kind.protects):
        try:
            return kind.open()
        except SandboxMissing as error:
            missing = missing or error
    for kind in chosen:
        if allow_unsandboxed and not kind.protects:
            return kind.open()
    raise missing or SandboxMissing("no sandbox for this system")


def describe(kinds: Sequence[SandboxKind] | None = None) -> str:
    """What `open_sandbox` would use, or `none: ` and why; never raises."""
    try:
        with closing(open_sandbox(kinds=kinds)) as sandbox:
            return sandbox.isolation
    except SandboxMissing as missing:
        return f"none: {missing.message}"


def _plugins() -> list[SandboxKind]:
    names = sorted(plugins.names("sandbox"), key=lambda name: (name != _FIRST, name))
    return [plugins.find("sandbox", name) for name in names]
