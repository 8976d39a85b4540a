from __future__ import annotations

from contextlib import closing

import pytest

from crucibleforge.programs import Call, Limits, Program
from crucibleforge.sandbox.bwrap import SANDBOX


@pytest.fixture(scope="session")
def sandbox():
    """The real one; a machine without it fails here, since a skipped attack looks like a repelled one."""
    with closing(SANDBOX.open()) as opened:
        yield opened


@pytest.fixture
def ask(sandbox):
    """Run source that defines `f` in the real sandbox, once for each tuple of arguments; without any, once."""

    def run(source, *calls, **limits):
        return sandbox.run(Program(source, "f", tuple(Call(args) for args in calls or ((),))), Limits(**limits))

    return run


@pytest.fixture
def sandbox_to_stop():
    """A real one of its own: a stop is for good."""
    with closing(SANDBOX.open()) as opened:
        yield opened
