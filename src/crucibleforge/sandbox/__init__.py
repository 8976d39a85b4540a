"""Runs code of unknown intent. What a sandbox is, and how the best one of this machine is found.

A sandbox is a module with a constant `SANDBOX`, a `SandboxKind`. What none of them promises: to hold against a fault
of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from crucibleforge import plugins
from crucibleforge.config import SandboxEntry
from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Limits, Program, Ran

_ORDER = ("bwrap", "container", "wasm")
BY_ITSELF = SandboxEntry()
"""Settings that say nothing."""


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


class Opener(Protocol):
    """Proves that a sandbox works on this machine, and opens it."""

    def __call__(self, settings: SandboxEntry = ..., /) -> Sandbox:
        """The sandbox.

        Raises:
            SandboxMissing: it does not work here, or is not wanted by the settings.
        """
        ...


@dataclass(frozen=True)
class SandboxKind:
    """What a sandbox module offers; `protects` is False for what is taken only when the user has waived protection."""

    name: str
    protects: bool
    open: Opener


def open_sandbox(
    settings: SandboxEntry = BY_ITSELF,
    *,
    allow_unsandboxed: bool = False,
    kinds: Sequence[SandboxKind] | None = None,
) -> Sandbox:
    """The best sandbox that works on this machine; without protection only if that is allowed.

    Args:
        settings: what models.yaml says of it.
        allow_unsandboxed: take one that protects from nothing when no other works.
        kinds: what to choose from, best first; None means every plug-in.

    Raises:
        SandboxMissing: none works; the message is that of the first one tried.
    """
    chosen = _plugins() if kinds is None else kinds
    missing: SandboxMissing | None = None
    for kind in (kind for kind in chosen if kind.protects):
        try:
            return kind.open(settings)
        except SandboxMissing as error:
            missing = missing or error
    for kind in chosen:
        if allow_unsandboxed and not kind.protects:
            return kind.open(settings)
    raise missing or SandboxMissing("no sandbox for this system")


def describe(settings: SandboxEntry = BY_ITSELF, *, kinds: Sequence[SandboxKind] | None = None) -> str:
    """What `open_sandbox` would use, or `none: ` and why; never raises."""
    try:
        with closing(open_sandbox(settings, kinds=kinds)) as sandbox:
            return sandbox.isolation
    except SandboxMissing as missing:
        return f"none: {missing.message}"


def _plugins() -> list[SandboxKind]:
    """All of them, ours in our order of choice, then those of others."""
    names = sorted(plugins.names("sandbox"), key=lambda name: (*_ORDER, name).index(name))
    return [plugins.find("sandbox", name) for name in names]
