"""How the laws run the programs of families."""

from __future__ import annotations

from contextlib import closing

import pytest

from crucibleforge.sandbox import open_sandbox
from crucibleforge.sandbox._fair import execute


@pytest.fixture(scope="session")
def run():
    # The programs are our own, so that a machine without a sandbox may run them as they are.
    with closing(open_sandbox(allow_unsandboxed=True)) as sandbox:
        yield lambda program: execute(sandbox, program)
