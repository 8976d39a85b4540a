"""The tree of errors, what the user reads of each, and the exit codes.

    CrucibleError          1   something of ours failed
    ├── InputError         2   the user can mend it: an argument, a file, a server's address
    │   ├── ConfigError        models.yaml or a profile
    │   ├── UnknownName        no such model, category, case, key …
    │   ├── EndpointDown       the server does not answer
    │   ├── FolderLocked       another run is at work in this results folder
    │   └── FolderUnusable     the results folder cannot be read or written
    ├── SandboxMissing     3   model code would run unprotected
    ├── Stopped            130 by the user; what was done is kept
    ├── Malformed              the model wrote a tool call that its server could not parse; becomes a reply
    └── Trouble                no reply, and not the model's doing; becomes a `Failure` in the log, never an exit

A model's bad reply is no error: it is a Verdict. A bug is a traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from crucibleforge.types import FailureKind


class CrucibleError(Exception):
    """Something that we can name. `hint` says what would help, ideally with a command; it may be empty."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(CrucibleError):
    """The user can mend it."""

    exit_code = 2


class ConfigError(InputError):
    """A configuration file says something that we do not understand."""


class UnknownName(InputError):  # noqa: N818 - reads as what it is
    """There is no such thing; the nearest known names are offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str = "") -> None:
        near = nearest(name, known)
        offered = f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else ""
        super().__init__(f"unknown {kind} '{name}'", hint=" ".join(part for part in (offered, hint) if part))
        self.kind = kind
        self.name = name


class EndpointDown(InputError):  # noqa: N818
    """A server could not be reached or would not serve the model."""


class FolderLocked(InputError):  # noqa: N818
    """A live run holds the results folder."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            f"{folder} is in use by a live run ({holder})",
            hint="wait for it, stop it with Ctrl-C, or use another folder with `--results DIR`",
        )
        self.pid = pid


class FolderUnusable(InputError):  # noqa: N818
    """A folder or file of results cannot be read or written."""


class SandboxMissing(CrucibleError):  # noqa: N818
    """Model-written code would run without protection, which needs an explicit waiver."""

    exit_code = 3


class Stopped(CrucibleError):  # noqa: N818
    """The user ended it; everything that was finished is kept."""

    exit_code = 130


class Trouble(CrucibleError):  # noqa: N818
    """A request brought no reply, for a reason that is not the model's.

    `kind` decides whether trying again may help; `status` is the HTTP status or None; `retry_after_s` is the
    server's own wish or None; `tries` is set by whoever tried more than once.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.status = status
        self.retry_after_s = retry_after_s
        self.tries = 1

    @property
    def may_heal(self) -> bool:
        """True when the same request may succeed later."""
        return self.kind in {"transport", "timeout", "overload"}


class Malformed(CrucibleError):  # noqa: N818
    """The server could not parse the tool call that the model wrote: the model's reply, and a failed one."""


def nearest(name: str, known: Iterable[str], count: int = 2) -> list[str]:
    """Up to `count` of the known names that look most like `name`, best first."""
    import difflib  # noqa: PLC0415 - `--help` must not wait for what only a mistake needs

    return difflib.get_close_matches(name, list(known), n=count, cutoff=0.5)


_FILE_HINTS = {
    errno.ENOSPC: "free some space, then run the same command again: finished rows are kept",
    errno.EACCES: "choose a folder that you may write with `--results DIR`",
    errno.EROFS: "choose a folder that you may write with `--results DIR`",
    errno.EPERM: "choose a folder that you may write with `--results DIR`",
}


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Name a file in what the system raises about it: a failed write or sync does not say by itself where it was."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def boundary() -> Iterator[None]:
    """Turn what the operating system raises about files into our own errors; let all else pass.

    Raises:
        FolderUnusable: a file could not be read or written, with the path and the system's reason.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None or error.errno is None:
            raise
        reason = error.strerror or "failed"
        hint = _FILE_HINTS.get(error.errno, "check the path and its permissions")
        raise FolderUnusable(f"{error.filename}: {reason.lower()}", hint=hint) from error
