"""A sandbox for the cases that need one, opened before anything else starts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crucibleforge.cli._screen import say
from crucibleforge.config import Config, load, locate, secret_variables
from crucibleforge.errors import InputError, SandboxMissing
from crucibleforge.programs import Program, Ran
from crucibleforge.sandbox import Sandbox, open_sandbox
from crucibleforge.sandbox._fair import execute
from crucibleforge.types import Case

_FOR_KEYS_TOO = 2
_KEY = re.compile(r"_API_KEY$", re.IGNORECASE)


@contextmanager
def sandbox_here(waivers: int, config_path: Path | None = None) -> Iterator[Sandbox]:
    """The sandbox that works here with the settings of models.yaml.

    Args:
        waivers: how often the user has waived protection. Once will do unless there are API keys to steal.
        config_path: the models.yaml that was named, None for the one that is found.

    Raises:
        SandboxMissing: there is none, and no waiver.
        InputError: there is none, and one waiver does not do.
    """
    config = load(locate(config_path))
    with closing(open_sandbox(config.sandbox, allow_unsandboxed=waivers > 0)) as sandbox:
        if sandbox.isolation == "none":
            if waivers < _FOR_KEYS_TOO:
                _check_no_keys(config)
            say("warning: model-written code will run WITHOUT a sandbox, as you, with your files (--allow-unsandboxed)")
        yield sandbox


@contextmanager
def sandboxed(cases: Iterable[Case], waivers: int, config_path: Path | None = None) -> Iterator[Sandbox | None]:
    """A sandbox as of `sandbox_here`, or None when no case runs code."""
    if any(case.needs.sandbox for case in cases):
        with sandbox_here(waivers, config_path) as sandbox:
            yield sandbox
    else:
        yield None


def _check_no_keys(config: Config) -> None:
    """Code that runs as the user can read the environment of any process of the user, ours too."""
    named = secret_variables(config)
    keys = sorted(name for name, value in os.environ.items() if value and (name in named or _KEY.search(name)))
    if keys:
        raise InputError(
            f"code without a sandbox could read {', '.join(f'${name}' for name in keys)}",
            hint="unset it, or give `--allow-unsandboxed` twice",
        )


def executor(sandbox: Sandbox | None) -> Callable[[Program], Ran]:
    """How a grader's program is run: in time measured by our own, so that a slow machine fails nobody."""

    def run(program: Program) -> Ran:
        if sandbox is None:
            raise SandboxMissing("a program is to be run and no sandbox was opened")
        return execute(sandbox, program)

    return run
