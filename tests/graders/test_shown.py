from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.graders._shown import WIDTH, as_json, as_python, shortened

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_short_values_are_shown_whole():
    assert as_python({"a": [1, True, None, "b"]}) == "{'a': [1, True, None, 'b']}"
    assert as_json({"a": [1, True, None, "\u00e9"]}) == '{"a": [1, true, null, "\u00e9"]}'
    assert shortened("a\n b") == "a b"


def test_long_values_end_in_dots():
    assert shortened("x" * 100) == "x" * (WIDTH - 3) + "..."
    assert as_json("x" * 100) == '"' + "x" * (WIDTH - 4) + "..."
    assert as_python(list(range(1000))) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."


def test_what_a_terminal_would_obey_is_not_shown():
    assert shortened("\x1b[31m\u202ered") == "?[31m?red"


def test_numbers_that_python_does_not_print_are_named():
    assert as_python(10**5000) == as_json(10**5000) == "a very large number"


@pytest.mark.slow
@given(VALUES)
def test_every_value_is_shown_in_one_short_line(value):
    for shown in (as_python(value), as_json(value), shortened(json.dumps(value), 20)):
        assert len(shown) <= WIDTH
        assert shown.isprintable()


@pytest.mark.parametrize("value", [[[[[[1] * 50] * 50] * 50] * 50], "x" * 1_000_000, [1] * 300_000])
def test_large_values_are_shown_short(value):
    assert len(as_python(value)) <= WIDTH
