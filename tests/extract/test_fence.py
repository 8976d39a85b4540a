from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.fence import MAX_FENCES, Fence, fences, unified

PIECES = st.lists(st.sampled_from(["```", "````", "~~~", "\n", "\r\n", "   ", "    ", "py", "x", "`"]))


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("none", ()),
        ("a\n```py\nx\n```\nb", (Fence("py", "x\n", closed=True),)),
        ("```Python title=1\nx\n```", (Fence("python", "x\n", closed=True),)),
        ("```\r\nx\r\n```\r\n", (Fence("", "x\n", closed=True),)),
        ("~~~\nx\n```\ny\n~~~~", (Fence("", "x\n```\ny\n", closed=True),)),
        ("````\n```\nx\n```\n````", (Fence("", "```\nx\n```\n", closed=True),)),
        ("```\nx\n~~~", (Fence("", "x\n~~~\n", closed=False),)),
        ("```\nx\n``` y\n```", (Fence("", "x\n``` y\n", closed=True),)),
        ("```\nx\n    ```\n```", (Fence("", "x\n    ```\n", closed=True),)),
        ("1. do\n   ```\n   x\n     y\n z\n   ```", (Fence("", "x\n  y\nz\n", closed=True),)),
        ("      ```\n      x\n      ```", (Fence("", "x\n", closed=True),)),
        ("```inline``` code", ()),
        ("say ```\nx\n", ()),
        ("```\n```\n```\nx\n```", (Fence("", "", closed=True), Fence("", "x\n", closed=True))),
    ],
)
def test_blocks_are_found_as_commonmark_says(text, blocks):
    assert fences(text) == blocks


def test_only_the_last_blocks_are_kept():
    found = fences("".join(f"```\n{n}\n```\n" for n in range(200)))
    assert [block.body for block in found] == [f"{n}\n" for n in range(200 - MAX_FENCES, 200)]


def test_line_ends_and_byte_order_mark_are_unified():
    assert unified("\ufeffa\r\nb\rc\n") == "a\nb\nc\n"


@given(PIECES.map("".join) | st.text())
def test_every_line_of_a_block_stands_in_the_text(text):
    source = {line.lstrip(" ") for line in unified(text).split("\n")}
    assert all(line.lstrip(" ") in source for block in fences(text) for line in block.body.split("\n")[:-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["```" * 330_000, "```\n" * 250_000, "\n" * 1_000_000, "~~~" * 330_000, "```\n" + " " * 999_000, "`" * 999_999],
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    fences(text)
    assert time.process_time() - start < 2
