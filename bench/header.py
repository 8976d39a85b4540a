"""How long the facts of a large GGUF header take: 262,144 words with scores, types and merges, in a file of 253 MB.

    python bench/header.py [--repeats 5] [--limit 0.2]

The file is made in a temporary folder and is sparse behind its header. Exit code 1 when the median is over the limit.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from crucibleforge.gguf import facts

WORDS = 262_144
SIZE_BYTES = 253_000_000
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind: int, count: int, data: bytes) -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, count) + data


def header() -> bytes:
    merges = 2 * WORDS
    entries = {
        "general.architecture": struct.pack("<I", STRING) + text("gemma3"),
        "gemma3.context_length": struct.pack("<II", U32, 32_768),
        "tokenizer.ggml.tokens": array(STRING, WORDS, b"".join(text(f"word{n % 9973}") for n in range(WORDS))),
        "tokenizer.ggml.scores": array(F32, WORDS, bytes(4 * WORDS)),
        "tokenizer.ggml.token_type": array(I32, WORDS, bytes(4 * WORDS)),
        "tokenizer.ggml.merges": array(STRING, merges, b"".join(text(f"a{n % 997} b{n % 991}") for n in range(merges))),
        "general.file_type": struct.pack("<II", U32, 15),
    }
    embedding = text("token_embd.weight") + struct.pack("<IQQIQ", 2, 640, WORDS, 8, 0)
    pairs = b"".join(text(key) + value for key, value in entries.items())
    return b"GGUF" + struct.pack("<IQQ", 3, 1, len(entries)) + pairs + embedding


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", type=float, default=0.2, help="seconds")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.gguf"
        path.write_bytes(header())
        with path.open("r+b") as file:
            file.truncate(SIZE_BYTES)
        times = []
        for _ in range(asked.repeats):
            started = perf_counter()
            found = facts(path)
            times.append(perf_counter() - started)
    print(f"{found.size_bytes / 1e6:.0f} MB, {WORDS:,} words: median {median(times):.3f} s, worst {max(times):.3f} s")
    return int(median(times) > asked.limit)


if __name__ == "__main__":
    sys.exit(main())
