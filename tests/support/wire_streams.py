"""Streams as servers never should send them, for whatever must read them without falling over."""

import json

from hypothesis import strategies as st

from crucibleforge.chat import Reply
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.extract.thinking import TAGS
from crucibleforge.wire.collect import Collector

_WORDS = st.sampled_from([*sorted(TAGS), "<th", "ink>", "{", "}", "\\", "a", "\n", " ", "\ud83d", "\ude00", ""]) | st.text(max_size=4)
_PLACES = ["choices", "delta", "content", "reasoning", "reasoning_content", "tool_calls", "function_call", "function"]
_FACTS = ["usage", "timings", "stats", "error", "message", "code", "type", "text", "model", "index", "id", "name"]
_COUNTS = ["prompt_tokens", "completion_tokens", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "eval_count"]
_KEYS = st.sampled_from([*_PLACES, *_FACTS, *_COUNTS, "arguments", "finish_reason"])
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | _WORDS
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=8
)
_CALLS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "index": st.integers(-1, 2),
            "id": st.sampled_from(["", "a", "b", "call_0"]),
            "function": st.fixed_dictionaries({}, optional={"name": _WORDS, "arguments": _WORDS | _VALUES}),
        },
    ),
    max_size=2,
)
_DELTAS = st.fixed_dictionaries(
    {}, optional={"content": _WORDS | _VALUES, "reasoning_content": _WORDS, "tool_calls": _CALLS | _VALUES}
)
_CHOICES = st.lists(
    st.fixed_dictionaries(
        {"delta": _DELTAS}, optional={"finish_reason": st.sampled_from([None, "", "stop", "length"]), "index": st.just(0)}
    ),
    max_size=1,
)
_EVENTS = st.fixed_dictionaries({"choices": _CHOICES}, optional={"usage": _VALUES, "timings": _VALUES, "stats": _VALUES})
_DONE = [b"data: [DONE]\n\n", b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n']
_RAW = st.sampled_from([b"data:", b": ping\n\n", b"\r", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xff", *_DONE]) | st.binary(max_size=8)


def _wired(event: object) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def streams() -> st.SearchStrategy[list[bytes]]:
    """Lists of chunks: odd events that end as a reply should, or anything at all."""
    good = _EVENTS.map(_wired)
    odd = st.tuples(st.lists(good | st.just(b": ping\n\n"), max_size=10), st.just(_DONE[::-1]))
    wild = st.tuples(st.lists(good | _VALUES.map(_wired) | _RAW, max_size=10), st.just([b"\n\n", *_DONE]) | st.just([]))
    return (odd | wild).map(lambda both: both[0] + both[1])


def read(stream: list[bytes]) -> Reply | str:
    """What comes of it, all having arrived at one moment; errors that are not ours pass."""
    collector = Collector(0, max_tokens=8)
    try:
        for chunk in stream:
            collector.feed(1, chunk)
        return collector.reply(2)
    except (Trouble, Malformed) as error:
        return type(error).__name__
