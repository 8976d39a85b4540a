"""The command line as the tests call it: in this process for speed, in a process of its own for signals and exits."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crucibleforge.cli.bench_llm import command
from crucibleforge.cli.main import status

PROGRAM = "import sys; from crucibleforge.cli.main import main; main()"


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code, stdout, stderr; the words for a refused connection are asyncio's or the system's."""

    code: int
    out: str
    err: str


@pytest.fixture
def crucible(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run a command in this process."""

    def run(*words: str) -> Ended:
        capfd.readouterr()
        code = status(words)
        out, err = (text.replace("connect call failed", "connection refused") for text in capfd.readouterr())
        return Ended(code, out, err)

    return run


@pytest.fixture
def bench(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `bench-llm` in this process: its exit code, stdout and stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = status(words, command, "bench-llm")
        return (code, *capfd.readouterr())

    return run


@pytest.fixture
def configure(tmp_path: Path) -> Callable[..., Path]:
    """Write ./models.yaml: models by label, none of which reasons, all on one server, and whatever else is given."""

    def write(url: str, *labels: str, more: str = "", provider: str = "") -> Path:
        lines = [f"providers:\n  p:\n    base_url: {url}\n{provider}models:"]
        lines += [f"  - {{name: {label}, provider: p, model_id: fake, thinking: false}}" for label in labels or ("fake",)]
        path = tmp_path / "models.yaml"
        path.write_text("\n".join(lines) + "\n" + more)
        return path

    return write


@pytest.fixture
def refusing_url() -> Iterator[str]:
    """An address that refuses; bound all the while, so that nobody else can take it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{holder.getsockname()[1]}/v1"


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen]]:
    """Start a command as a process of its own; what still runs at the end is ended."""
    started: list[subprocess.Popen] = []

    def spawn(*words: str, program: str = PROGRAM, env: dict[str, str] | None = None, **options) -> subprocess.Popen:
        options = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "stdin": subprocess.DEVNULL,
            "text": True,
        } | options
        command = [sys.executable, "-c", program, *words]
        started.append(subprocess.Popen(command, env=os.environ | (env or {}), **options))
        return started[-1]

    yield spawn
    for process in started:
        process.kill()
        process.communicate()
