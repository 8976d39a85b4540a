"""Show values of unknown size in a short line of text."""

from __future__ import annotations

import json
import reprlib
from itertools import islice
from typing import Any

WIDTH = 60
"""Characters that one value may take."""


class _Start(reprlib.Repr):
    """The start of a value. A dict stays in its own order: sorting a large one takes longer than all the rest."""

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{...}"
        shown = [f"{self.repr1(key, level - 1)}: {self.repr1(x[key], level - 1)}" for key in islice(x, self.maxdict)]
        return "{" + ", ".join([*shown, "..."] if len(x) > self.maxdict else shown) + "}"


_REPR = _Start()
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = WIDTH // 3
_JSON = json.JSONEncoder(ensure_ascii=False)
_PIECES = 20 * WIDTH
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
        # Piece by piece, as a value may be large; each has at least one character.
        return shortened("".join(islice(_JSON.iterencode(value), _PIECES)))
    except ValueError:
        return "a very large number"
