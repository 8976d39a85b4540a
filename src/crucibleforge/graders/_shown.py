"""Show values of unknown size in a short line of text."""

from __future__ import annotations

import json
import reprlib
from typing import Any

WIDTH = 60
"""Characters that one value may take."""

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = WIDTH // 3
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = WIDTH


def shortened(text: str, width: int = WIDTH) -> str:
    """The text in one line of at most `width` characters, the end left out if need be.

    What a terminal would obey or hide (escapes, direction marks) becomes a question mark.
    """
    start = text[: 20 * width]
    line = "".join(char if char.isprintable() else "?" for char in " ".join(start.split()))
    return line if len(line) <= width and start == text else line[: width - 3] + "..."


def as_python(value: Any) -> str:
    """A JSON value as Python writes it, shortened."""
    try:
        return shortened(_REPR.repr(value))
    except ValueError:  # an integer beyond the digits that Python prints
        return "a very large number"


def as_json(value: Any) -> str:
    """A JSON value as JSON, shortened; it must not be deeper than `jsontext.MAX_DEPTH`."""
    try:
        return shortened(json.dumps(value, ensure_ascii=False))
    except ValueError:
        return "a very large number"
