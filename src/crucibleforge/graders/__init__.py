"""Graders decide; they never run anything. What a grader is, and how one is applied: see `_mark`.

A grader is a module with a constant `GRADER`, either `ByReading` or `ByRunning`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crucibleforge.chat import Reply
from crucibleforge.programs import Program, Ran
from crucibleforge.types import Case, Finding

Replies = tuple[Reply, ...]
"""Every reply of one dialogue, in order; never empty."""


@dataclass(frozen=True)
class ByReading:
    """Marks by looking at the replies.

    `find` is total: any text gives a Finding, never an exception. A reply that was cut off (`finish` is `length`)
    may pass only where what counts was complete before the cut. `settings` are the names that a case may set.
    """

    name: str
    version: int
    find: Callable[[Case, Replies], Finding]
    settings: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ByRunning:
    """Marks by running the reply's code in a sandbox.

    `program` gives what to run, or a Finding at once where there is nothing to run. `conclude` compares what came
    back with the expected answers, which never enter the sandbox.
    """

    name: str
    version: int
    program: Callable[[Case, Replies], Program | Finding]
    conclude: Callable[[Case, Ran], Finding]
    settings: frozenset[str] = frozenset()


Grader = ByReading | ByRunning
