from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.programs import Raised, Returned
from crucibleforge.sandbox._answers import Answer, Breach, Broken, decode, is_ready

CPU = b"000000001500000 "

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def said(**fields):
    return json.dumps({"n": "7", **fields}).encode()


def told(line):
    """What a line says after the driver's measure."""
    answer = decode(CPU + line, "7")
    assert answer.cpu_s == 1.5
    return answer.result


@pytest.mark.slow
@given(JSON)
def test_every_json_value_comes_back_as_it_is(value):
    assert told(said(value=value)) == Returned(value)


@pytest.mark.slow
@given(st.binary() | st.text().map(str.encode) | JSON.map(lambda value: json.dumps(value).encode()))
def test_bytes_that_are_no_answer_are_a_breach(line):
    for whole in (line, CPU + line):
        with pytest.raises(Breach):
            decode(whole, "7")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (said(value=1).replace(b"7", b"8"), "its answer belongs to no call"),
        (b'{"value": 1}', "its answer belongs to no call"),
        (b'{"n": 7, "value": 1}', "its answer belongs to no call"),
        (said(value=1, passed=True), "its answer has another form"),
        (said(), "its answer has another form"),
        (said(raised="ValueError"), "its answer has another form"),
        (said(raised=["ValueError", "no"]), "its answer has another form"),
        (said(raised=["ValueError", 1, "", 0]), "its answer has another form"),
        (said(raised=["ValueError", "", None, 0]), "its answer has another form"),
        (said(raised=["ValueError", "", "", "0"]), "its answer has another form"),
        (said(raised=["ValueError", "", "", True]), "its answer has another form"),
        (said(raised=["ValueError", "", "", -1]), "its answer has another form"),
        (said(raised=["ValueError", "", "", 10_000_001]), "its answer has another form"),
        (said(raised=["ValueError", "", "", 0], value=1), "its answer has another form"),
        (said(broken="no", value=1), "its answer has another form"),
        (b"[]", "its answer belongs to no call"),
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
        decode(CPU + line, "7")
    assert str(breach.value) == why


@pytest.mark.parametrize(
    "measure",
    [
        b"",
        b"00000000150000 ",
        b"0000000001500000 ",
        b"000000001500000_",
        b"000000001500000\t",
        b"-00000001500000 ",
        b"1.0 ",
    ],
)
def test_an_answer_without_the_drivers_measure_is_a_breach(measure):
    with pytest.raises(Breach, match="its answer has no measure of its time"):
        decode(measure + said(value=1), "7")


@pytest.mark.parametrize("line", [b"", b"000000001500000"])
def test_a_measure_without_an_answer_is_no_measure(line):
    with pytest.raises(Breach, match="its answer has no measure of its time"):
        decode(line, "7")


def test_an_answer_is_to_the_call_with_the_same_nonce():
    nonce = "0123456789abcdef"
    line = CPU + json.dumps({"n": nonce, "value": 1}).encode()
    assert decode(line, nonce).result == Returned(1)
    with pytest.raises(Breach, match="its answer belongs to no call"):
        decode(line, nonce[:-1])


@pytest.mark.parametrize("said", [Answer(Returned(1), 0.5), Broken("no code")])
def test_what_was_said_cannot_be_changed_afterwards(said):
    for name in vars(said):
        with pytest.raises(FrozenInstanceError):
            setattr(said, name, None)


def test_the_measure_is_in_microseconds():
    assert decode(b"000000000000001 " + said(value=1), "7") == Answer(Returned(1), 1e-6)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"1e999", "an infinite number"),
        (b'{"a": [1, -1e999]}', "an infinite number"),
        (b'["\\ud800"]', "half a character"),
        (b'["a", ["\\u00e4", "\\udc00b"]]', "half a character"),
        (b'{"\\udfff": 1}', "half a character"),
        (b"[" * 201 + b"]" * 201, "a value nested deeper than 200"),
    ],
)
def test_a_value_that_no_reader_could_stand_is_the_programs_fault(value, what):
    line = b'{"n": "7", "value": ' + value + b"}"
    assert told(line) == Raised("ValueError", f"returned {what}, not JSON")


def test_values_of_every_kind_come_through():
    value = {"ä€𝄞": [None, True, 1.5, -(10**30), "", {"": {}}, []]}
    assert told(said(value=value)) == Returned(value)


def test_the_deepest_allowed_value_passes():
    line = b'{"n": "7", "value": ' + b"[" * 200 + b"]" * 200 + b"}"
    assert isinstance(told(line), Returned)


def test_messages_are_one_printable_line():
    assert told(said(raised=["E\x1b[31m", "a\nb\u202e\ud800", "\r", 3])) == Raised("E [31m", "a b  ", " ", 3)
    assert told(said(raised=["k" * 81, "m" * 301, "a" * 121, 10_000_000])) == Raised(
        "k" * 80, "m" * 300, "a" * 120, 10_000_000
    )
    assert told(said(broken="x" * 1000)) == Broken("x" * 300)
    assert told(said(raised=["", "", "", 0])) == Raised("")


def test_only_our_driver_is_ready():
    assert is_ready(b'{"ready": 1}')
    for line in (b'{"ready": 2}', b'{"ready": 0}', b'{"ready": 1} ', b""):
        assert not is_ready(line)
