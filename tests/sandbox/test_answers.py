from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.programs import Raised, Returned
from crucibleforge.sandbox._answers import DEPTH, Breach, Broken, decode, is_ready

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def said(**fields):
    return json.dumps({"n": "7", **fields}).encode()


@pytest.mark.slow
@given(JSON)
def test_every_json_value_comes_back_as_it_is(value):
    assert decode(said(value=value), "7") == Returned(value)


@pytest.mark.slow
@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
def test_bytes_that_are_no_answer_are_a_breach(line):
    with pytest.raises(Breach):
        decode(line, "7")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (said(value=1).replace(b"7", b"8"), "its answer belongs to no call"),
        (b'{"value": 1}', "its answer belongs to no call"),
        (b'{"n": 7, "value": 1}', "its answer belongs to no call"),
        (said(value=1, passed=True), "its answer has another form"),
        (said(), "its answer has another form"),
        (said(raised="ValueError"), "its answer has another form"),
        (said(raised=["ValueError", 1]), "its answer has another form"),
        (said(broken=1), "its answer has another form"),
        (b'{"n": "7", "value": NaN}', "its answer is not JSON"),
        (b'{"n": "7", "value": -Infinity}', "its answer is not JSON"),
        (b'{"n": "7", "value": "\xff"}', "its answer is not JSON"),
        (b'{"n": "7", "value": ' + b"9" * 5000 + b"}", "its answer is not JSON"),
        (b'{"n": "7", "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "its answer is not JSON"),
    ],
)
def test_what_the_driver_would_not_say_is_a_breach(line, why):
    with pytest.raises(Breach) as breach:
        decode(line, "7")
    assert str(breach.value) == why


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"1e999", "an infinite number"),
        (b'["\\ud800"]', "half a character"),
        (b'{"\\udfff": 1}', "half a character"),
        (b"[" * 201 + b"]" * 201, f"a value nested deeper than {DEPTH}"),
    ],
)
def test_a_value_that_no_reader_could_stand_is_the_programs_fault(value, what):
    line = b'{"n": "7", "value": ' + value + b"}"
    assert decode(line, "7") == Raised("ValueError", f"returned {what}, not JSON")


def test_the_deepest_allowed_value_passes():
    line = b'{"n": "7", "value": ' + b"[" * DEPTH + b"]" * DEPTH + b"}"
    assert isinstance(decode(line, "7"), Returned)


def test_messages_are_one_printable_line():
    assert decode(said(raised=["E\x1b[31m", "a\nb\u202e\ud800"]), "7") == Raised("E [31m", "a b  ")
    assert decode(said(broken="x" * 1000), "7") == Broken("x" * 300)


def test_only_our_driver_is_ready():
    assert is_ready(b'{"ready": 1}')
    assert not is_ready(b'{"ready": 2}')
