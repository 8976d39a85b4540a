"""Where the sandbox's Python comes from, and the least of this machine that it needs to run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from crucibleforge.sandbox._driven import as_user

OLDEST = (3, 11)
_PROBE = Path(__file__).with_name("_probe.py").read_text(encoding="utf-8")
_PROBE_S = 30.0
_PACKAGES = ("site-packages", "dist-packages")
"""Folders inside a standard library that hold other people's packages, perhaps ourselves with all the answers."""
_LOADER_CACHE = "/etc/ld.so.cache"
_DEFAULT_LIBRARY_FOLDERS = ("/lib", "/usr/lib", "/lib64", "/usr/lib64")


@dataclass(frozen=True)
class Placement:
    """A Python for the sandbox. `binds` are (path here, path in there), `hidden` are folders to be covered."""

    executable: str
    version: str
    binds: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]


class _Found(msgspec.Struct, frozen=True):
    """What `_probe` prints."""

    version: tuple[int, int]
    executable: str
    folders: tuple[str, ...]
    libraries: tuple[str, ...]


def pythons() -> tuple[str, ...]:
    """Interpreters worth trying: the one that runs us, outside of any virtual environment, then the system's."""
    own = Path(sys.base_prefix, "bin", f"python{sys.version_info[0]}.{sys.version_info[1]}")
    systems = [Path(folder, "python3") for folder in ("/usr/bin", "/usr/local/bin")]
    return tuple(dict.fromkeys(os.path.realpath(path) for path in (own, *systems) if path.exists()))


@cache
def place(executable: str, uid: int | None) -> Placement | str:
    """How to bind this interpreter for this user (None: who we are), or why that cannot be done."""
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of this machine, and our own text
            (executable, "-I", "-S", "-B", "-c", _PROBE),
            env={},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
            **as_user(uid),
        )
        found = msgspec.convert(json.loads(done.stdout), _Found)
    except PermissionError:
        return f"{executable}: {_barred(executable, os.getuid() if uid is None else uid)}"
    except OSError as error:
        return f"{executable}: {(error.strerror or 'cannot be run').lower()}"
    except subprocess.TimeoutExpired:
        return f"{executable}: no answer in {_PROBE_S:g} s"
    except (ValueError, msgspec.ValidationError):
        return f"{executable}: not a Python that we can use"
    version = ".".join(map(str, found.version))
    if found.version < OLDEST:
        return f"{executable}: Python {version}, at least {'.'.join(map(str, OLDEST))} is needed"
    return Placement(found.executable, version, _binds(found), _hidden(found))


def _barred(executable: str, uid: int) -> str:
    """Which folder keeps this user, who is in no group but his own, from an interpreter; else only that he is kept."""
    with suppress(OSError):
        for folder in reversed(Path(executable).parents):
            facts = folder.stat()
            bit = 0o100 if facts.st_uid == uid else 0o010 if facts.st_gid == uid else 0o001
            if not facts.st_mode & bit:
                return f"uid {uid} may not enter {folder} (mode {facts.st_mode & 0o7777:o})"
    return "permission denied"


def _binds(found: _Found) -> tuple[tuple[str, str], ...]:
    paths = [found.executable]
    for path in (*sorted(found.folders), *map(os.path.normpath, found.libraries)):
        if not any(Path(path).is_relative_to(bound) for bound in paths):
            paths.append(path)
    if any(os.path.dirname(path) not in _default_folders() for path in found.libraries):  # noqa: PTH120 - no Path here
        paths.append(_LOADER_CACHE)
    return tuple((os.path.realpath(path), path) for path in paths if Path(path).exists())


@cache
def _default_folders() -> frozenset[str]:
    """Where a loader looks without being told: the default folders and their multiarch subfolder."""
    multiarch = getattr(sys.implementation, "_multiarch", "")
    return frozenset(f"{folder}{part}" for folder in _DEFAULT_LIBRARY_FOLDERS for part in ("", f"/{multiarch}"))


def _hidden(found: _Found) -> tuple[str, ...]:
    covered = (Path(folder, name) for folder in found.folders for name in _PACKAGES)
    return tuple(str(path) for path in covered if path.is_dir())
