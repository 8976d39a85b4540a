"""Facts from the header of a GGUF file, without reading its vocabulary into memory.

Covers the key-value section of versions 2 and 3, little-endian; tensors are the server's business. The layout is that
of ggml's docs/gguf.md. A file may be hostile: every count is bounded and nothing is allocated by its word.
"""

from __future__ import annotations

import stat
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

from msgspec import Struct

from crucibleforge.errors import InputError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
# A header has some dozens of entries; the largest vocabularies have a third of a million words and twice the merges.
_MAX_ENTRIES = 65_536
_MAX_STRINGS = 8_000_000
_MAX_TEXT_BYTES = 65_535
_MAX_SHOWN = 200
_CHUNK_BYTES = 256 * 1024

_U32 = Layout("<I")
_U64 = Layout("<Q")
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {
    number: Layout(f"<{code}") for number, code in ((0, "B"), (1, "b"), (2, "H"), (3, "h"), (4, "I"), (5, "i"))
} | {10: _U64, 11: Layout("<q")}

# llama.cpp's enum llama_ftype; a bit of 1024 says that the type was guessed from the tensors.
_GUESSED = 1024
_QUANTS = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
}


class Gguf(Struct, frozen=True):
    """What a GGUF header says; texts are printable and short.

    `context_length` is the window of the training in tokens and `quant` the scheme of most tensors (`Q4_K_M`); None
    where the header does not say. `size_bytes` is this file's, without further parts of a split model.
    """

    version: int
    architecture: str
    name: str
    context_length: int | None
    quant: str | None
    size_bytes: int


def facts(path: Path) -> Gguf:
    """Read the header.

    Raises:
        InputError: the file is missing, cannot be read, is no GGUF, or its header is cut or corrupt.
    """
    try:
        size_bytes = _size_bytes(path)
        with path.open("rb", buffering=0) as file:
            return _facts(path, _Reader(path, file, size_bytes))
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise InputError(f"{path} cannot be read: {reason}", hint="check the path and its permissions") from error


def _size_bytes(path: Path) -> int:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no such file: {path}", hint="check the path: `ls -l` shows what is there") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder, not a GGUF file", hint=f"name a file in it: `ls {path}/*.gguf`")
    if not stat.S_ISREG(found.st_mode):
        # Opening a pipe would wait for a writer.
        raise InputError(f"{path} is not a regular file", hint="name a GGUF file")
    if not found.st_size:
        raise InputError(f"{path} is empty", hint="fetch the file again")
    return found.st_size


def printable(text: str, limit: int = _MAX_SHOWN) -> str:
    """The first `limit` characters, with `?` for each that could move a terminal's cursor."""
    return "".join(character if character.isprintable() else "?" for character in text[:limit])


class _Reader:
    """Walks a file forwards through one window of `_CHUNK_BYTES`."""

    def __init__(self, path: Path, file: BinaryIO, size_bytes: int) -> None:
        self._path = path
        self._file = file
        self.size_bytes = size_bytes
        self._window = b""
        self._start = 0
        self._at = 0
        self._strings_left = _MAX_STRINGS

    def corrupt(self, why: str) -> InputError:
        """The error to raise for a header that contradicts itself."""
        return InputError(
            f"{self._path} is a corrupt GGUF file: {why}", hint="fetch the file again, and compare its checksum"
        )

    def take(self, count: int) -> bytes:
        """The next `count` bytes, at most `_MAX_TEXT_BYTES`."""
        end = self._at - self._start + count
        if end > len(self._window):
            self._refill()
            end = count
        if end > len(self._window):
            raise self.corrupt(f"it ends inside its header, after {self.size_bytes} bytes")
        taken = self._window[end - count : end]
        self._at += count
        return taken

    def skip(self, count: int) -> None:
        """Pass over bytes without reading them."""
        self._at += count
        if self._at > self.size_bytes:
            raise self.corrupt(f"its header points beyond its end at {self.size_bytes} bytes")
        if self._at - self._start > len(self._window):
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

    def skip_strings(self, count: int) -> None:
        """Pass over an array of strings; a vocabulary is most of a header, so this is the loop that counts."""
        self._strings_left -= count
        if self._strings_left < 0:
            raise self.corrupt(f"more than {_MAX_STRINGS} strings in its header")
        length_at = _U64.unpack_from
        while count:
            if self._at - self._start + 8 > len(self._window):
                self._refill()
            window, at = self._window, self._at - self._start
            last = len(window) - 8
            if at > last:
                raise self.corrupt(f"it ends inside its header, after {self.size_bytes} bytes")
            before = at
            while count and at <= last:
                at += 8 + length_at(window, at)[0]
                count -= 1
            self.skip(at - before)

    def _refill(self) -> None:
        self._file.seek(self._at)
        self._start = self._at
        self._window = self._file.read(_CHUNK_BYTES) or b""


def _facts(path: Path, reader: _Reader) -> Gguf:
    version, entries = _preamble(path, reader)
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for _ in range(entries):
        key = reader.text() or ""
        kind = reader.u32()
        if kind == _STRING:
            text = reader.text()
            if text is not None and key in {"general.architecture", "general.name"}:
                texts[key] = printable(text)
        elif kind in _INTEGERS:
            (number,) = _INTEGERS[kind].unpack(reader.take(_SIZES[kind]))
            if key == "general.file_type" or (key.endswith(".context_length") and len(key) <= _MAX_SHOWN):
                numbers[key] = number
        else:
            _skip_value(reader, kind)
    architecture = texts.get("general.architecture", "")
    context_length = numbers.get(f"{architecture}.context_length", 0)
    return Gguf(
        version=version,
        architecture=architecture,
        name=texts.get("general.name", ""),
        context_length=context_length if context_length > 0 else None,
        quant=_QUANTS.get(numbers.get("general.file_type", -1) & ~_GUESSED),
        size_bytes=reader.size_bytes,
    )


def _preamble(path: Path, reader: _Reader) -> tuple[int, int]:
    """Version and number of key-value entries."""
    magic = reader.take(min(len(_MAGIC), reader.size_bytes))
    if magic != _MAGIC:
        raise InputError(f"{path} is not a GGUF file: it begins with {magic!r}", hint="name a `.gguf` file")
    version = reader.u32()
    if version not in _VERSIONS:
        known = " and ".join(str(number) for number in _VERSIONS)
        raise InputError(
            f"{path} is GGUF of version {version}; {known} (little-endian) can be read",
            hint="convert the model again with a current llama.cpp",
        )
    reader.skip(8)  # The number of tensors.
    entries = reader.u64()
    if entries > _MAX_ENTRIES:
        raise reader.corrupt(f"it claims {entries} entries in its header")
    return version, entries


def _skip_value(reader: _Reader, kind: int) -> None:
    if kind != _ARRAY:
        reader.skip(_size(reader, kind))
        return
    kind, count = reader.u32(), reader.u64()
    if kind == _STRING:
        reader.skip_strings(count)
    else:
        reader.skip(_size(reader, kind) * count)


def _size(reader: _Reader, kind: int) -> int:
    if kind not in _SIZES:
        raise reader.corrupt(f"it holds a value of unknown type {kind}")
    return _SIZES[kind]
