"""Take leaked reasoning out of a reply's text: think blocks that a server should have kept apart."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(think|thinking|thought|reasoning)>", re.IGNORECASE | re.ASCII)


def visible(text: str) -> str:
    """The text without think blocks.

    An opener that is never closed takes the rest with it. A closer without an opener takes all before it, since
    some chat templates put the opener into the prompt. A block leaves a newline, so that no new tag can form.
    """
    kept: list[str] = []
    block = ""
    start = 0
    for tag in _TAG.finditer(text):
        closes, name = bool(tag[1]), tag[2].lower()
        if not block and closes:
            kept = ["\n"]
        elif not block:
            kept.append(text[start : tag.start()])
            block = name
            continue
        elif closes and name == block:
            kept.append("\n")
            block = ""
        else:
            continue
        start = tag.end()
    if not block:
        kept.append(text[start:])
    return "".join(kept)
