"""Read the headers of a file, or of all parts of a split one, into one record."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from msgspec import Struct

from crucibleforge.errors import InputError
from crucibleforge.gguf._cache import WANTED, KvCache, kv_cache
from crucibleforge.gguf._reader import ARRAY, STRING, Reader, printable
from crucibleforge.gguf._tensors import Tally, Weights

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
# A header has some dozens of entries.
_MAX_ENTRIES = 65_536
_MAX_SHOWN = 200
_MAX_NUMBER = 2**48
_MAX_ALIGNMENT = 2**20
_PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf")

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

_OURS = {"general.file_type", "general.alignment", "split.count"}
_MODELS = WANTED | {"context_length", "expert_count", "expert_used_count"}


class Gguf(Struct, frozen=True):
    """What a GGUF header says; texts are printable and short.

    `context_length` is the window of the training in tokens and `quant` the scheme of most tensors (`Q4_K_M`); None
    where the header does not say. `size_bytes` is all `parts` of a split model together. `weights` is None for a header
    without tensors or with a type that we do not know, `cache` where the attention is of a kind that we do not know.
    """

    version: int
    architecture: str
    name: str
    context_length: int | None
    quant: str | None
    size_bytes: int
    weights: Weights | None = None
    cache: KvCache | None = None
    parts: int = 1


class _Entries:
    """The key-value entries that we look for; numbers and booleans are tuples, one value or a list."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.numbers: dict[str, tuple[int, ...]] = {}

    def one(self, key: str, default: int = 0) -> int:
        found = self.numbers.get(key, ())
        return found[0] if len(found) == 1 else default

    def of(self, architecture: str) -> dict[str, tuple[int, ...]]:
        start = f"{architecture}."
        return {key.removeprefix(start): value for key, value in self.numbers.items() if key.startswith(start)}


def facts(path: Path) -> Gguf:
    """Read the header; of a split model, the headers of all parts, whichever of them is named.

    Raises:
        InputError: a file is missing, cannot be read, is no GGUF, is too short for its tensors, or its header is cut
            or corrupt.
    """
    try:
        return _facts(path)
    except OSError as error:
        reason = (error.strerror or "failed").lower()
        raise InputError(f"{path} cannot be read: {reason}", hint="check the path and its permissions") from error


def _facts(path: Path) -> Gguf:
    paths = _parts(path)
    sizes = [_size_bytes(part) for part in paths]
    entries, tally = _Entries(), Tally(None)
    version = 0
    for number, (part, size_bytes) in enumerate(zip(paths, sizes, strict=True)):
        with part.open("rb", buffering=0) as file:
            reader = Reader(part, file, size_bytes)
            found_version, tensors, count = _preamble(reader)
            found = _Entries()
            _read_entries(reader, count, found)
            _check_parts(part, found.one("split.count"), len(paths))
            if number == 0:
                # Only the first part holds the model's entries.
                version, entries = found_version, found
                tally = Tally(_first_draft_block(found))
            alignment = min(max(found.one("general.alignment", 32), 1), _MAX_ALIGNMENT)
            tally.walk(reader, tensors, alignment)
    return _gguf(version, entries, tally, sizes)


def _gguf(version: int, entries: _Entries, tally: Tally, sizes: list[int]) -> Gguf:
    architecture = entries.texts.get("general.architecture", "")
    context_length = entries.one(f"{architecture}.context_length")
    return Gguf(
        version=version,
        architecture=architecture,
        name=entries.texts.get("general.name", ""),
        context_length=context_length if context_length > 0 else None,
        quant=_QUANTS.get(entries.one("general.file_type", -1) & ~_GUESSED),
        size_bytes=sum(sizes),
        weights=tally.weights(
            entries.one(f"{architecture}.expert_count"), entries.one(f"{architecture}.expert_used_count")
        ),
        cache=kv_cache(architecture, entries.of(architecture)),
        parts=len(sizes),
    )


def _first_draft_block(entries: _Entries) -> int | None:
    """The last blocks of some models only draft tokens; plain decoding never reads them."""
    architecture = entries.texts.get("general.architecture", "")
    drafting = entries.one(f"{architecture}.nextn_predict_layers")
    return entries.one(f"{architecture}.block_count") - drafting if drafting > 0 else None


def _parts(path: Path) -> list[Path]:
    """All files of a split model, in order, by the name of one; else the file alone."""
    named = _PART.fullmatch(path.name)
    if not named or not 1 <= int(named["part"]) <= int(named["parts"]):
        return [path]
    paths = [
        path.with_name(f"{named['stem']}-{n:05}-of-{named['parts']}.gguf") for n in range(1, int(named["parts"]) + 1)
    ]
    for part in paths:
        if path.exists() and not part.exists():
            raise InputError(f"a part of the model is missing: {part}", hint="fetch all parts into one folder")
    return paths


def _check_parts(path: Path, stated: int, found: int) -> None:
    if stated > 1 and stated != found:
        raise InputError(
            f"{path} is part of a model in {stated} files and is not named so",
            hint=f"give its files back the names that end in `-00001-of-{stated:05}.gguf`",
        )


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


def _preamble(reader: Reader) -> tuple[int, int, int]:
    """Version, number of tensors and of key-value entries."""
    magic = reader.take(min(len(_MAGIC), reader.size_bytes))
    if magic != _MAGIC:
        raise InputError(f"{reader.path} is not a GGUF file: it begins with {magic!r}", hint="name a `.gguf` file")
    version = reader.u32()
    if version not in _VERSIONS:
        known = " and ".join(str(number) for number in _VERSIONS)
        raise InputError(
            f"{reader.path} is GGUF of version {version}; {known} (little-endian) can be read",
            hint="convert the model again with a current llama.cpp",
        )
    tensors, entries = reader.u64(), reader.u64()
    if entries > _MAX_ENTRIES:
        raise reader.corrupt(f"it claims {entries} entries in its header")
    return version, tensors, entries


def _read_entries(reader: Reader, count: int, entries: _Entries) -> None:
    for _ in range(count):
        key = reader.text() or ""
        kind, number = reader.u32(), 1
        if kind == STRING:
            text = reader.text()
            if key in {"general.architecture", "general.name"}:
                entries.texts[key] = printable(text or "")
            continue
        if kind == ARRAY:
            kind, number = reader.u32(), reader.u64()
        if kind == STRING:
            reader.skip_strings(number)
        elif _is_wanted(key):
            found = reader.integers(kind, number)
            if found and all(-_MAX_NUMBER < value < _MAX_NUMBER for value in found):
                entries.numbers[key] = found
        else:
            reader.skip(reader.size_of(kind) * number)


def _is_wanted(key: str) -> bool:
    return len(key) <= _MAX_SHOWN and (key in _OURS or key.partition(".")[2] in _MODELS)
