"""The fenced blocks of a markdown text, by the rules of CommonMark 0.31, section 4.5.

One thing is looser: an opener may be indented more than three spaces, as it is inside a list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_FENCES = 64
"""Only the last ones are kept; an answer stands near the end."""

_OPENER = re.compile(r"( {0,16})(`{3,}|~{3,})(.*)")
_CLOSER = re.compile(r"( {0,19})(`{3,}|~{3,})[ \t]*")


@dataclass(frozen=True)
class Fence:
    """A block: `tag` is the first word of its info string in lower case, `body` its lines, each ended."""

    tag: str
    body: str
    closed: bool


def fences(text: str) -> tuple[Fence, ...]:
    """The last `MAX_FENCES` blocks, in order, without byte order marks; the text's end closes one that is left open."""
    found: list[tuple[str, str, bool]] = []
    opener: re.Match[str] | None = None
    body: list[str] = []
    for line in unified(text).removesuffix("\n").split("\n"):
        if opener is not None:
            if _closes(line, opener):
                found.append((_tag(opener), "".join(body).removeprefix("\ufeff"), True))
                opener = None
            else:
                body.append(_outdented(line, len(opener[1])) + "\n")
        elif ("```" in line or "~~~" in line) and (opener := opened(line)):
            body = []
            del found[:-MAX_FENCES]
    if opener is not None:
        found.append((_tag(opener), "".join(body).removeprefix("\ufeff"), False))
    return tuple(Fence(tag, code, closed) for tag, code, closed in found[-MAX_FENCES:])


def unified(text: str) -> str:
    """The text with newlines for every kind of line end and without a byte order mark."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def opened(line: str) -> re.Match[str] | None:
    """The indent, fence and info string of a line that opens a block; None for every other line."""
    opener = _OPENER.fullmatch(line)
    # A backtick in the info string makes it an inline code span, not a block.
    return None if opener is None or (opener[2][0] == "`" and "`" in opener[3]) else opener


def _closes(line: str, opener: re.Match[str]) -> bool:
    if opener[2] not in line:
        return False
    closer = _CLOSER.fullmatch(line)
    return (
        closer is not None
        and closer[2][0] == opener[2][0]
        and len(closer[2]) >= len(opener[2])
        and len(closer[1]) <= len(opener[1]) + 3
    )


def _tag(opener: re.Match[str]) -> str:
    words = opener[3].split(None, 1)
    return words[0].lower() if words else ""


def _outdented(line: str, spaces: int) -> str:
    return line[min(spaces, len(line) - len(line.lstrip(" "))) :]
