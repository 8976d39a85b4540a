"""What several test files need: the built-in model, a sandbox, an endpoint that answers everything."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import endpoint
import hypothesis
import oracle
import psutil
import pytest

from crucibleforge.providers import _builtin
from crucibleforge.sandbox import Sandbox, open_sandbox

# A shared machine stalls now and then; that is no fault of the example at hand.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.load_profile("here")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a folder of its own to work in, and sees no configuration of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    for name in list(os.environ):
        if name.startswith("CRUCIBLEFORGE_") and name != "CRUCIBLEFORGE_CACHE":
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_remains() -> None:
    """A sandbox makes this process the parent of orphans, such as those of a command that a test has killed."""
    for child in psutil.Process().children():
        with suppress(ChildProcessError, psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)


@pytest.fixture(scope="session")
def builtin_gguf() -> Path:
    """The built-in model, fetched once into the user's cache."""
    return _builtin.path(say=lambda _: None)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A real sandbox; without one these tests fail, they are not skipped."""
    opened = open_sandbox()
    yield opened
    opened.close()


@pytest.fixture
def oracle_endpoint() -> Iterator[endpoint.Endpoint]:
    """A server whose model knows every answer."""
    with endpoint.serving(oracle.answers()) as server:
        yield server
