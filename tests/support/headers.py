"""Synthetic GGUF files: a header of entries and tensors, and zeros where the tensors' values would be."""

from __future__ import annotations

import struct

U8, U16, U32, I32, F32, BOOL, STRING, ARRAY, U64 = 0, 2, 4, 5, 6, 7, 8, 9, 10
LAYOUTS = {U8: "B", U16: "H", U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q"}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, value, kind=U32):
    """A key with a string, a number, or a list of either; numbers are of `kind`."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if not isinstance(value, list):
        return text(key) + struct.pack(f"<I{LAYOUTS[kind]}", kind, value)
    if value and isinstance(value[0], str):
        return text(key) + struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(text, value))
    return text(key) + struct.pack(f"<IIQ{len(value)}{LAYOUTS[kind]}", ARRAY, kind, len(value), *value)


def tensor(name, shape, kind, offset=0):
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def gguf(entries=(), tensors=(), *, data_bytes=0, version=3):
    """A whole file; `entries` as bytes or as key and value, `tensors` as bytes."""
    pairs = [pair if isinstance(pair, bytes) else entry(*pair) for pair in entries]
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + bytes(data_bytes)
