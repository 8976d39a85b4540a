"""A container of docker or podman around our driver, one for every program; only where models.yaml asks for it.

Inside there is the image, read-only, as a user without rights: no network, no volume, no capability, no folder to
write to, 64 processes. Slower than bubblewrap by half a second a program, and `/proc` and `/sys` are there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from crucibleforge.config import SandboxEntry
from crucibleforge.errors import CrucibleError, SandboxMissing
from crucibleforge.programs import Call, Limits, Program, Ran, Returned
from crucibleforge.sandbox import BY_ITSELF, Sandbox, SandboxKind
from crucibleforge.sandbox import _filter as filters
from crucibleforge.sandbox._driven import DRIVER, FLAGS, HASH_SEED, Driven, Launch

PROCESSES = 64
MEMORY = "640m"
"""For the 512 MiB of a program, the driver, and what the program may write: its own bound is to come first."""
SCRATCH = "/scratch"
"""Not `/tmp`: an engine gives a folder that the image has the mode that it has there, which may be the wrong one."""
NOBODY = "65534:65534"
OLDEST = [3, 11]
_ASK_S = 20.0
_ENGINES = {
    # Podman would mount folders to write to even beside `--read-only`, and pass the proxy's variables on.
    "podman": ("version", "--format", "{{.Client.Version}}"),
    # The client's own version proves nothing: the engine may not be running.
    "docker": ("version", "--format", "{{.Server.Version}}"),
}
_OPTIONS = {"podman": ("--read-only-tmpfs=false", "--http-proxy=false"), "docker": ()}
_LABEL = "crucibleforge"
_PASSED_ON = frozenset(
    {
        *("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"),
        *("CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"),
    }
)
"""What the engine's client needs to find its engine. The container sees none of it."""

_PROOF = """
import os, socket, sys, threading

def prove(numbers):
    status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
    mounts = {line.split()[1] for line in open("/proc/self/mounts")} - {"/dev/mqueue"}
    threading.stack_size(65536)
    end, started = threading.Event(), []
    try:
        while len(started) < 128:
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    end.set()
    return {
        "total": sum(numbers),
        "pid 1": os.getppid() == 1,
        "ids": sorted({os.getuid(), os.getgid(), *os.getgroups()}),
        "capabilities": status["CapEff"].strip("0") + status["CapBnd"].strip("0"),
        "no new privileges": status["NoNewPrivs"],
        "system calls filtered": status["Seccomp"],
        "network": [name for _, name in socket.if_nameindex() if name != "lo"],
        "processes bounded": len(started) < 128,
        "writable": [mount for mount in mounts if os.path.isdir(mount) and os.access(mount, os.W_OK)],
        "environment": list(os.environ),
        "python": list(sys.version_info[:2]),
    }
"""
_PROVEN = {
    "total": 5,
    "pid 1": True,
    "ids": [65534],
    "capabilities": "",
    "no new privileges": "1",
    "system calls filtered": "2",
    "network": [],
    "processes bounded": True,
    "writable": [],
    "environment": [],
}
"""All but the version of the Python. `/dev/mqueue` is memory too, but bounded by the kernel, and gone with the rest."""


@dataclass(frozen=True)
class Engine:
    """An engine's client on this machine: what it is, where, and the image that it is to run."""

    name: str
    path: str
    image: str


class Contained:
    """A `Sandbox` that starts one container a program."""

    def __init__(self, engine: Engine, isolation: str) -> None:
        self.isolation = isolation
        self._engine = engine
        self._tag = f"{_LABEL}={secrets.token_hex(8)}"
        self._driven = Driven(_launch(engine, self._tag), isolation)

    def run(self, program: Program, limits: Limits) -> Ran:
        """Give every call to the program, in order; see `Sandbox.run`."""
        try:
            return self._driven.run(program, limits)
        finally:
            self._remove()

    def stop(self) -> None:
        """End what runs now, and whatever is asked for later."""
        self._driven.stop()

    def close(self) -> None:
        """Nothing outlives a run."""

    def _remove(self) -> None:
        """End what is left; a client that was killed leaves its container running."""
        left = _asked(self._engine, "ps", "--all", "--quiet", "--filter", f"label={self._tag}").stdout.split()
        if left:
            # `rm` alone would wait for a program that ignores the polite signal. Both may find it gone by now.
            _asked(self._engine, "kill", *left)
            _asked(self._engine, "rm", "--force", *left)


def open_container(engine: Engine) -> Sandbox:
    """The engine's container, after an honest program has come through it and found nothing of the host.

    Raises:
        SandboxMissing: it does not work here.
    """
    answered = _asked(engine, *_ENGINES[engine.name])
    version = answered.stdout.strip()
    if answered.returncode or not version:
        raise SandboxMissing(
            f"no sandbox: {engine.name} does not work here: {_last_line(answered.stderr) or 'no version'}",
            hint=f"`{engine.name} info` shows what is wrong",
        )
    if _asked(engine, "image", "inspect", engine.image).returncode:
        raise SandboxMissing(
            f"no sandbox: {engine.name} has no image {engine.image}", hint=f"`{engine.name} pull {engine.image}`"
        )
    python = _proven(engine)
    isolation = f"container ({engine.name} {version}, {engine.image}), uid 65534, python {python}"
    return Contained(engine, isolation)


def _proven(engine: Engine) -> str:
    """The version of the Python in there.

    Raises:
        SandboxMissing: the container is not what it has to be.
    """
    try:
        ran = Contained(engine, "unproven").run(Program(_PROOF, "prove", (Call(([2, 3],)),)), Limits())
    except CrucibleError as error:
        raise _unfit(engine, error.message) from error
    match ran.results:
        case (Returned(value=dict() as found),) if not ran.broken:
            python = found.pop("python", [])
        case _:
            raise _unfit(engine, ran.broken or f"an honest program gave {ran.results}")
    if wrong := [name for name, value in _PROVEN.items() if found.get(name) != value]:
        raise _unfit(engine, ", ".join(f"{name}: {found.get(name)}" for name in wrong))
    if python < OLDEST:
        raise _unfit(engine, f"its Python is {'.'.join(map(str, python))}")
    return ".".join(map(str, python))


def _unfit(engine: Engine, reason: str) -> SandboxMissing:
    return SandboxMissing(
        f"no sandbox: {engine.image} in {engine.name} does not work here: {reason}",
        hint="take an image with a `python` of 3.11 or newer, and an engine that can bound processes",
    )


def _launch(engine: Engine, tag: str) -> Launch:
    begin = (engine.path, "run", "--rm", "--interactive", "--pull", "never", "--label", tag)
    profile = (
        *("--network", "none", "--ipc", "none", "--read-only", *_OPTIONS[engine.name]),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", NOBODY),
        # Swap and memory together: no swap.
        *("--pids-limit", str(PROCESSES), "--memory", MEMORY, "--memory-swap", MEMORY),
        *("--env", "=".join(HASH_SEED), "--hostname", "sandbox", "--entrypoint", "python"),
    )
    command = (engine.image, *FLAGS, DRIVER)
    return Launch(
        (*begin, *profile, "--workdir", "/", *command),
        environment=_environment(),
        scratch_argv=(
            *begin,
            *profile,
            "--tmpfs",
            f"{SCRATCH}:rw,nosuid,nodev,size=64m,mode=1777",
            "--workdir",
            SCRATCH,
            *command,
        ),
        inner_filter=filters.inner(os.uname().machine),
    )


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in os.environ.items() if name in _PASSED_ON)


def _asked(engine: Engine, *words: str) -> subprocess.CompletedProcess[str]:
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
    try:
        return subprocess.run(  # noqa: S603 - an engine that models.yaml names, and our own words
            (engine.path, *words),
            env=dict(_environment()),
            timeout=_ASK_S,
            check=False,
            # Ctrl-C must not keep a container from being removed.
            start_new_session=True,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise CrucibleError(f"`{engine.name} {words[0]}` does not answer", hint=f"`{engine.name} ps`") from error
    except OSError as error:
        raise CrucibleError(f"{engine.path}: {error.strerror}") from error


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def _open(settings: SandboxEntry = BY_ITSELF, /) -> Sandbox:
    if not settings.container:
        raise SandboxMissing("no sandbox: no container is configured", hint="`sandbox:` in models.yaml names one")
    path = shutil.which(settings.container)
    if not path:
        raise SandboxMissing(f"no sandbox: {settings.container} was not found", hint=f"install {settings.container}")
    try:
        return open_container(Engine(settings.container, path, settings.image))
    except CrucibleError as error:
        raise SandboxMissing(error.message, hint=error.hint) from error


SANDBOX = SandboxKind(name="container", protects=True, open=_open)
