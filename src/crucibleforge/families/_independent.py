"""Watches what a family's own functions call, so that a second derivation is one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def in_common(one: Callable[[], Any], other: Callable[[], Any], file: str) -> set[str]:
    """Names of the functions of a file that both of two computations enter; names of inner scopes are left out."""
    with _entered(file) as first:
        one()
    with _entered(file) as second:
        other()
    return {name for name in first & second if not name.startswith("<")}


@contextmanager
def _entered(file: str) -> Iterator[set[str]]:
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == file:
            seen.add(frame.f_code.co_qualname.rpartition("<locals>.")[2])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)
