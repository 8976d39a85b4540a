from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.graders._shown import WIDTH, _Start, as_json, as_python, shortened

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


@pytest.mark.parametrize("value", [[[[[[1] * 50] * 50] * 50] * 50], [1] * 300_000, {str(n): n for n in range(9999)}])
def test_large_values_are_shown_short_as_json(value):
    shown = as_json(value)
    assert len(shown) <= WIDTH
    assert shown.endswith("...")


def test_a_dict_keeps_its_order_and_shows_its_start():
    assert as_python({"b": 1, "a": {"c": [2]}}) == "{'b': 1, 'a': {'c': [2]}}"
    assert as_python({9: 0, 8: 0}) == "{9: 0, 8: 0}"
    assert as_python(dict.fromkeys("zyxwvutsrqponmlkjihgfedcba", 1)).startswith("{'z': 1, 'y': 1, ")
    assert as_python({}) == "{}"


def test_what_lies_deep_is_left_out():
    assert as_python({1: {2: {3: {4: {5: 6}}}}}) == "{1: {2: {3: {4: {...}}}}}"
    assert as_python([[[[[1]]]]]) == "[[[[[...]]]]]"


def test_of_a_wide_dict_a_part_is_shown():
    start = _Start()
    start.maxdict = 2
    assert start.repr({1: 2, 3: 4}) == "{1: 2, 3: 4}"
    assert start.repr({1: 2, 3: 4, 5: 6}) == "{1: 2, 3: 4, ...}"
