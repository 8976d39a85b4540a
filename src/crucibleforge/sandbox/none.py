"""No protection: the driver as an ordinary process of the user. Only limits, and an empty environment and folder."""

from __future__ import annotations

import sys

from crucibleforge.config import SandboxEntry
from crucibleforge.sandbox import BY_ITSELF, Sandbox, SandboxKind
from crucibleforge.sandbox._driven import DRIVER, FLAGS, HASH_SEED, Driven, Launch


def _open(_settings: SandboxEntry = BY_ITSELF, /) -> Sandbox:
    return Driven(Launch((sys.executable, *FLAGS, DRIVER), scratch=True, environment=(HASH_SEED,)), "none")


SANDBOX = SandboxKind(name="none", protects=False, open=_open)
