"""Replies that break careless readers: deep, long, torn, malformed. They hold no answer to anything."""

from __future__ import annotations

from collections.abc import Iterator

from crucibleforge.chat import Reply
from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import said

_PIECES = (
    "ANSWER:", "\\boxed{", "}", "```python\n", "```", "<think>", "</think>", "{", "[", '"a":', "null", "-", "1e999",
    "\u2212", "\u200b", "\x00", "\ud800", "\r\n", "$", "\\frac{1}{", "<tool_call>", "def f():", "class A:", "~~~",
    "NaN", "\u202e", "9" * 30, " ", "or", "not", ",", "`", "*", "|", "<|channel|>final<|message|>", "'''", "\t",
)  # fmt: skip


def replies(key: str, count: int) -> Iterator[Reply]:
    """The fixed ones, then `count` that are put together by chance from dangerous pieces."""
    yield from map(said, _fixed())
    draw = Draw("hostile", key)
    for _ in range(count):
        yield said("".join(draw.pick(_PIECES) for _ in range(draw.between(1, 60))))


def _fixed() -> Iterator[str]:
    yield "[" * 200_000
    yield '{"a":' * 100_000
    yield "<think>" * 50_000
    yield "`" * 200_000
    yield "```python\n" * 20_000
    yield "ANSWER: " * 100_000
    yield f"ANSWER: {'9' * 20_000}"
    yield "\\boxed{" * 100_000
    yield f"ANSWER: {'-' * 100_000}1"
    yield f"ANSWER: \ud800{'1,' * 100_000}"
    yield "\x00" * 1000
    yield "x" * 10_000_000
    yield "\n" * 1_000_000
    yield f"```python\n{'(' * 50_000}\n```"
    yield f"```json\n{'[' * 50_000}{']' * 50_000}\n```"
