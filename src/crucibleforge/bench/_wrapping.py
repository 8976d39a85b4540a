"""Take off what models wrap around the thing that was asked for, before it is looked at.

Leaked reasoning and end marks are off already (`graders._said.text_of`). Nothing here looks for what is expected.
"""

from __future__ import annotations

import re
from typing import Any

from crucibleforge.extract.fence import fences, opened, unified
from crucibleforge.extract.jsontext import NO_JSON, json_value

_TEXT_TAGS = {"", "text", "txt", "plaintext", "plain", "markdown", "md"}
_LEAD = re.compile(
    r"\W{0,8}(?:sure|certainly|of course|absolutely|okay|ok|understood|got it|here is|here's|here are|below is)(?!\w)",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"[ \t>*_#\"]{0,8}(?:(?:the|a|my)[ ]{1,2})?(?:summary|short(?:ened)?(?:[ ](?:text|version))?|condensed"
    r"(?:[ ](?:text|version))?|answer|result|output)[*_ ]{0,4}:[*_ \t]{0,6}",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\W{0,8}(?:let me know|i hope|hope this|would you|do you want|feel free|note(?=\W)|word count|total words|words:|"
    r"(?:about |approximately |exactly )?[0-9]{1,4} words|this (?:summary|version|text|shortened|condensed|reply)|"
    r"i (?:have )?kept|all six|if you)",
    re.IGNORECASE,
)
_LEAD_WIDTH = 120  # a longer line says more than that something follows
_RULE = re.compile(r"[ \t]{0,8}(?:-[ ]?){3,}|[ \t]{0,8}(?:\*[ ]?){3,}|[ \t]{0,8}(?:_[ ]?){3,}")


def json_of(text: str) -> Any:
    """The JSON of a reply, also behind an outline that has brackets of its own; else `NO_JSON`."""
    return json_value(narrowed(text), in_prose=True)


def narrowed(text: str) -> str:
    """The text, from the last line on that begins an object where there is no JSON in it otherwise."""
    whole = unified(text)
    if json_value(whole, in_prose=True) is not NO_JSON:
        return text
    start = whole.rfind("\n{")
    rest = whole[start + 1 :]
    return rest if start >= 0 and json_value(rest, in_prose=True) is not NO_JSON else text


def prose_of(text: str) -> str:
    """The prose of a reply, without a fence around it, words that announce it, or remarks behind it."""
    whole = unified(text).strip()
    inside = [one.body for one in fences(whole) if one.closed and one.tag in _TEXT_TAGS and one.body.strip()]
    lines = (inside[0] if len(inside) == 1 else whole).split("\n")
    lines = [line.lstrip("> \t") for line in lines if line.strip() and not opened(line) and not _RULE.fullmatch(line)]
    start, end = 0, len(lines)
    while start < end - 1 and _announces(lines[start]):
        start += 1
    while end > start + 1 and _TAIL.match(lines[end - 1]):
        end -= 1
    kept = lines[start:end]
    if kept and (label := _LABEL.match(kept[0])):
        kept[0] = kept[0][label.end() :]
    return "\n".join(kept)


def _announces(line: str) -> bool:
    bare = line.strip(" \t*_")
    if bare.startswith("#") or bare.endswith(":") or line.strip() == f"**{bare}**":
        return True
    return len(bare) <= _LEAD_WIDTH and bool(_LEAD.match(bare))
