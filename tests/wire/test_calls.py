from __future__ import annotations

import pytest

from crucibleforge.chat import ToolCall
from crucibleforge.wire.calls import Calls


def piece(name: str | None = None, arguments: object = None, **fields: object) -> dict[str, object]:
    return fields | {"function": {"name": name, "arguments": arguments}}


def made(*events: list[object]) -> tuple[ToolCall, ...]:
    calls = Calls()
    for event in events:
        calls.feed(event)
    return calls.made()


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        # by index, in any order, arguments cut inside an escape
        ([[piece("g", "{", index=1, id="b")], [piece("f", '{"x": "\\u00', index=0, id="a")], [piece(None, "}", index=1), piece(None, 'e9"}', index=0)]], [("a", "f", '{"x": "\\u00e9"}'), ("b", "g", "{}")]),
        # one index, two ids
        ([[piece("f", "{}", index=0, id="a")], [piece("f", "[]", index=0, id="b")]], [("a", "f", "{}"), ("b", "f", "[]")]),
        # no index: the place in the list; no id either: a name begins a new call
        ([[piece("f", "{}", id="a"), piece("g", "{}", id="b")]], [("a", "f", "{}"), ("b", "g", "{}")]),
        ([[piece("f", "{}")], [piece("f", "{}")]], [("call_0", "f", "{}"), ("call_1", "f", "{}")]),
        ([[piece("f", "{")], [piece(None, "}")]], [("call_0", "f", "{}")]),
        # id and name said again with every piece
        ([[piece("f", "{", index=0, id="a")], [piece("f", "}", index=0, id="a")]], [("a", "f", "{}")]),
        # an id of ours is nobody else's
        ([[piece("f", "{}", index=0), piece("g", "{}", index=1, id="call_0")]], [("call_0_", "f", "{}"), ("call_0", "g", "{}")]),
        # the object itself
        ([[piece("f", {"x": [1]}, index=0, id="a")]], [("a", "f", '{"x":[1]}')]),
        ([[piece(["\ud83d"], ["\ud83d"], index=0, id="a")]], [("a", "", '["\ud83d"]')]),
        ([[None, 3, {}, {"index": 0, "function": "f"}]], []),
    ],
)
def test_calls_are_put_together_as_they_were_meant(events, calls):
    assert made(*events) == tuple(ToolCall(*call) for call in calls)


def test_what_says_nothing_weighs_nothing():
    assert Calls().feed([{"index": 0}, None]) == 0
    assert Calls().feed([piece("f", "{}", id="a")]) == 4
