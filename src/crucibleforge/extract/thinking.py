"""Take leaked reasoning out of a reply's text: think blocks that a server should have kept apart.

An opener counts only where visible text has not begun: at the start, or right after another block, white space aside.
One in the middle of a sentence is a mention, and so is the closer that belongs to it. A closer without any opener
takes all before it, since some chat templates put the opener into the prompt. An opener that is never closed takes
the rest with it. The wire applies the same rules to a stream (`wire.thoughts`); this is the last line of defence.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple


class Block(NamedTuple):
    """The spellings that open and close one kind of think block, in lower case."""

    opener: str
    closers: tuple[str, ...]


FINAL = "<|channel|>final<|message|>"
"""Where the answer begins in the harmony format of gpt-oss."""

HARMONY = Block("<|channel|>analysis<|message|>", (FINAL, "<|end|>"))
TAIL = Block("", (FINAL,))
"""What follows the end mark of a harmony answer: nothing for the reader, until another answer begins."""

BLOCKS = (
    *(
        Block(f"<{name}>", (f"</{name}>",))
        for name in ("think", "thinking", "thought", "reasoning", "reflection", "analysis", "seed:think")
    ),
    Block("[think]", ("[/think]",)),
    Block("<|thinking|>", ("<|/thinking|>", "</|thinking|>")),
    Block("<|start_thinking|>", ("<|end_thinking|>",)),
    Block("<|channel>thought", ("<channel|>",)),
    Block("(thought)", ("(thought)",)),
    Block("(thinking)", ("(thinking)",)),
    HARMONY,
)
OPENERS = {block.opener: block for block in BLOCKS}
ENDS = frozenset({"<|end|>", "<|return|>"})
"""They end a harmony message; elsewhere they are text."""
SPEAKER = "<|start|>assistant"
STRAYS = {
    closer: block.opener
    for block in BLOCKS
    for closer in block.closers
    if closer != block.opener and closer not in ENDS
}
"""Closers that tell by themselves that reasoning stood before them, each with its opener."""
TAGS = frozenset({*OPENERS, *STRAYS, *ENDS, SPEAKER})
"""No tag is the beginning of another, and none can begin inside another."""
TAG = re.compile("|".join(re.escape(tag) for tag in sorted(TAGS)), re.IGNORECASE | re.ASCII)


def visible(text: str) -> str:
    """The text without think blocks, and without the white space that follows them."""
    scan = _Scan(text)
    for found in TAG.finditer(text):
        scan.tag(found)
    return scan.end()


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._kept: list[str] = []
        self._from = 0
        self._block: Block | None = None
        self._has_begun = False
        self._follows_block = False
        self._is_harmony = False
        self._mentioned: Counter[str] = Counter()

    def tag(self, found: re.Match[str]) -> None:
        tag = found[0].lower()
        if self._block is not None:
            if tag in self._block.closers:
                self._after_block(found.end(), is_harmony=self._block in {HARMONY, TAIL})
            return
        # Looked at only until text has begun, so the slices add up to one pass.
        self._has_begun = self._has_begun or bool(self._text[self._from : found.start()].strip())
        if not self._has_begun and tag in OPENERS:
            self._block = OPENERS[tag]
        elif not self._has_begun and tag == SPEAKER:
            self._after_block(found.end(), is_harmony=True)
        elif tag in STRAYS and not self._mentioned[STRAYS[tag]]:
            self._kept = []
            self._after_block(found.end(), is_harmony=tag == FINAL)
        elif tag in ENDS and self._is_harmony:
            self._keep(found.start())
            self._block = TAIL
        else:
            self._mention(tag)

    def end(self) -> str:
        if self._block is None:
            self._keep(len(self._text))
        return "".join(self._kept)

    def _keep(self, to: int) -> None:
        piece = self._text[self._from : to]
        piece = piece.lstrip() if self._follows_block else piece
        if piece:
            self._kept += ["\n", piece] if self._kept else [piece]

    def _mention(self, tag: str) -> None:
        self._has_begun = True
        if tag in OPENERS and tag != HARMONY.opener:
            self._mentioned[tag] += 1
        elif tag in STRAYS and tag != FINAL:
            self._mentioned[STRAYS[tag]] -= 1

    def _after_block(self, at: int, *, is_harmony: bool) -> None:
        self._from = at
        self._block = None
        self._has_begun = False
        self._follows_block = True
        self._is_harmony = self._is_harmony or is_harmony
        self._mentioned.clear()
