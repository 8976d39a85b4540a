"""Part the text of a stream into answer and leaked reasoning as it arrives, each with the time of its first piece.

The rules and the table of tags are those of `extract.thinking`. Only what may yet become a tag is held back, and it
keeps the time at which it came. White space next to a tag belongs to neither side.
"""

from __future__ import annotations

from collections import Counter

from crucibleforge.extract.thinking import ENDS, FINAL, HARMONY, OPENERS, SPEAKER, STRAYS, TAG, TAGS, TAIL, Block

_BEGINNINGS = frozenset(tag[:size] for tag in TAGS for size in range(1, len(tag)))
_LONGEST = max(map(len, _BEGINNINGS))
_FIRSTS = frozenset(tag[0] for tag in TAGS)


class Thoughts:
    """Feed pieces of content and of reasoning as they arrive; read the two texts after `close`.

    `first_text_ns` and `first_thought_ns` are times of the caller's clock, None where nothing came.
    """

    def __init__(self) -> None:
        self.first_text_ns: int | None = None
        self.first_thought_ns: int | None = None
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._held = ""
        self._times: list[tuple[int, int]] = []
        self._spaces: list[str] = []
        self._space_ns: int | None = None
        self._block: Block | None = None
        self._has_begun = False
        self._follows_block = False
        self._is_harmony = False
        self._mentioned: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """All that is no reasoning."""
        return "".join(self._texts)

    @property
    def thought(self) -> str:
        """All reasoning, in the order of its coming."""
        return "".join(self._thoughts)

    def think(self, t_ns: int, piece: str) -> None:
        """Take in reasoning that the server kept apart."""
        if piece:
            self._thoughts.append(piece)
            self.first_thought_ns = t_ns if self.first_thought_ns is None else self.first_thought_ns

    def feed(self, t_ns: int, piece: str) -> None:
        """Take in a piece of content."""
        self._times.append((len(self._held), t_ns))
        text = self._held + piece
        self._take(text, len(text) - _may_become_tag(text))

    def close(self) -> None:
        """The stream has ended: what was held back is what it is."""
        self._take(self._held, len(self._held))
        if self._block is None and not self._has_begun and not self._follows_block:
            self._flush_spaces()

    def _take(self, text: str, to: int) -> None:
        at = 0
        for found in TAG.finditer(text):
            self._piece(text[at : found.start()], at)
            self._tag(found[0], found.start())
            at = found.end()
        self._piece(text[at:to], at)
        self._held = text[to:]
        last = self._time(to)
        self._times = [(0, last), *((start - to, t_ns) for start, t_ns in self._times if start > to)] if text else []

    def _time(self, offset: int) -> int:
        """When the character at `offset` of the text in hand came."""
        return next((t_ns for start, t_ns in reversed(self._times) if start <= offset), 0)

    def _piece(self, piece: str, offset: int) -> None:
        if not self._has_begun:
            body = piece.lstrip()
            if self._block is None and not self._follows_block:
                self._hold_spaces(piece[: len(piece) - len(body)], offset)
            if not body:
                return
            offset += len(piece) - len(body)
            self._begin()
            piece = body
        if not piece:
            return
        if self._block is not None:
            self.think(self._time(offset), piece)
        else:
            self._texts.append(piece)
            self.first_text_ns = self._time(offset) if self.first_text_ns is None else self.first_text_ns

    def _begin(self) -> None:
        self._has_begun = True
        if self._block is None:
            self._flush_spaces()
            if self._texts and self._follows_block:
                self._texts.append("\n")
        elif self._thoughts:
            self._thoughts.append("\n")

    def _hold_spaces(self, spaces: str, offset: int) -> None:
        if spaces:
            self._spaces.append(spaces)
            self._space_ns = self._time(offset) if self._space_ns is None else self._space_ns

    def _flush_spaces(self) -> None:
        if self._spaces:
            self._texts += self._spaces
            self.first_text_ns = self._space_ns if self.first_text_ns is None else self.first_text_ns
            self._spaces = []

    def _tag(self, spelt: str, offset: int) -> None:
        tag = spelt.lower()
        if self._block is not None:
            if tag in self._block.closers:
                self._after_block(is_harmony=self._block in {HARMONY, TAIL})
            else:
                self._piece(spelt, offset)
        elif not self._has_begun and tag in OPENERS:
            self._into(OPENERS[tag])
        elif not self._has_begun and tag == SPEAKER:
            self._after_block(is_harmony=True)
        elif tag in STRAYS and not self._mentioned[STRAYS[tag]]:
            self._recant()
            self._after_block(is_harmony=tag == FINAL)
        elif tag in ENDS and self._is_harmony:
            self._into(TAIL)
        else:
            self._piece(spelt, offset)
            self._mention(tag)

    def _mention(self, tag: str) -> None:
        if tag in OPENERS and tag != HARMONY.opener:
            self._mentioned[tag] += 1
        elif tag in STRAYS and tag != FINAL:
            self._mentioned[STRAYS[tag]] -= 1

    def _recant(self) -> None:
        """What had been taken for text was reasoning all along."""
        self._thoughts += self._texts
        stamps = [t_ns for t_ns in (self.first_thought_ns, self.first_text_ns) if t_ns is not None]
        self.first_thought_ns = min(stamps, default=None)
        self.first_text_ns = None
        self._texts = []

    def _into(self, block: Block) -> None:
        self._block = block
        self._has_begun = False
        self._spaces = []

    def _after_block(self, *, is_harmony: bool) -> None:
        self._block = None
        self._has_begun = False
        self._follows_block = True
        self._is_harmony = self._is_harmony or is_harmony
        self._mentioned.clear()
        self._spaces = []


def _may_become_tag(text: str) -> int:
    """How many characters at the end of `text` are the beginning of a tag that is not yet whole."""
    for start in range(max(0, len(text) - _LONGEST), len(text)):
        if text[start] in _FIRSTS and text[start:].lower() in _BEGINNINGS:
            return len(text) - start
    return 0
