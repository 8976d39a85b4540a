"""Walk a GGUF file forwards through a small window, believing no length that it states."""

from __future__ import annotations

import struct
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

from crucibleforge.errors import InputError

# The largest vocabularies have a third of a million words and twice the merges.
_MAX_STRINGS = 8_000_000
_MAX_TEXT_BYTES = 65_535
_MAX_SHOWN = 200
_CHUNK_BYTES = 256 * 1024

_U32 = Layout("<I")
_U64 = Layout("<Q")
STRING, ARRAY, BOOL = 8, 9, 7
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", BOOL: "B", 10: "Q", 11: "q"}


def printable(text: str, limit: int = _MAX_SHOWN) -> str:
    """The first `limit` characters, with `?` for each that could move a terminal's cursor."""
    return "".join(character if character.isprintable() else "?" for character in text[:limit])


class Reader:
    """Walks a file forwards through one window of `_CHUNK_BYTES`."""

    def __init__(self, path: Path, file: BinaryIO, size_bytes: int) -> None:
        self.path = path
        self._file = file
        self.size_bytes = size_bytes
        self._window = b""
        self._start = 0
        self.at = 0
        self._strings_left = _MAX_STRINGS

    def corrupt(self, why: str) -> InputError:
        """The error to raise for a header that contradicts itself."""
        return InputError(
            f"{self.path} is a corrupt GGUF file: {why}", hint="fetch the file again, and compare its checksum"
        )

    def take(self, count: int) -> bytes:
        """The next `count` bytes, at most `_MAX_TEXT_BYTES`."""
        end = self.at - self._start + count
        if end > len(self._window):
            self._refill()
            end = count
        if end > len(self._window):
            raise self.corrupt(f"it ends inside its header, after {self.size_bytes} bytes")
        taken = self._window[end - count : end]
        self.at += count
        return taken

    def skip(self, count: int) -> None:
        """Pass over bytes without reading them."""
        self.at += count
        if self.at > self.size_bytes:
            raise self.corrupt(f"its header points beyond its end at {self.size_bytes} bytes")
        if self.at - self._start > len(self._window):
            self._refill()

    def u32(self) -> int:
        """An unsigned number of four bytes."""
        return int(_U32.unpack(self.take(4))[0])

    def u64(self) -> int:
        """An unsigned number of eight bytes."""
        return int(_U64.unpack(self.take(8))[0])

    def text(self) -> str | None:
        """A string, or None in place of one that is longer than anything we look for."""
        length = self.u64()
        if length > _MAX_TEXT_BYTES:
            self.skip(length)
            return None
        return self.take(length).decode(errors="replace")

    def integers(self, kind: int, count: int) -> tuple[int, ...] | None:
        """So many whole numbers or booleans; passed over, and None, if they are of another kind or too many."""
        size_bytes = self.size_of(kind) * count
        if kind not in _INTEGERS or size_bytes > _MAX_TEXT_BYTES:
            self.skip(size_bytes)
            return None
        return Layout(f"<{count}{_INTEGERS[kind]}").unpack(self.take(size_bytes))

    def skip_strings(self, count: int) -> None:
        """Pass over an array of strings; a vocabulary is most of a header, so this is the loop that counts."""
        self._strings_left -= count
        if self._strings_left < 0:
            raise self.corrupt(f"more than {_MAX_STRINGS} strings in its header")
        length_at = _U64.unpack_from
        while count:
            if self.at - self._start + 8 > len(self._window):
                self._refill()
            window, at = self._window, self.at - self._start
            last = len(window) - 8
            if at > last:
                raise self.corrupt(f"it ends inside its header, after {self.size_bytes} bytes")
            before = at
            left = count
            try:
                for left in range(count, 0, -1):  # noqa: B007 - what is left when the window ends
                    at += 8 + length_at(window, at)[0]
                left = 0
            except (struct.error, OverflowError):
                # The window ends here; asking before each string would cost half as much again.
                pass
            count = left
            self.skip(at - before)

    def size_of(self, kind: int) -> int:
        """Bytes of a value of fixed size."""
        if kind not in _SIZES:
            raise self.corrupt(f"it holds a value of unknown type {kind}")
        return _SIZES[kind]

    def _refill(self) -> None:
        self._file.seek(self.at)
        self._start = self.at
        self._window = self._file.read(_CHUNK_BYTES) or b""
