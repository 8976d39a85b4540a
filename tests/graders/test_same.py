from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.graders._same import same

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES)
def test_a_value_is_the_same_as_itself(value):
    assert same(value, value)
    assert same(value, value, within=0)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (True, 1),
        (1, True),
        (False, 0),
        ("3", 3),
        (3, "3"),
        (3, 3.0),
        (3.0, 3),
        (None, 0),
        (0, None),
        (None, False),
        ("", None),
        ([], {}),
        ({}, []),
        ([1], [1, 1]),
        ([1, 2], [2, 1]),
        ([True], [1]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, {"b": 1}),
        ({"a": [1, {"b": 1.0}]}, {"a": [1, {"b": 1}]}),
        ("a", "A"),
        (math.nan, math.nan),
        (math.inf, math.inf),
    ],
)
def test_what_differs_in_value_or_type_is_not_the_same(got, expected):
    assert not same(got, expected)


def test_tuples_count_as_arrays():
    assert same([1, [2]], (1, (2,)))


@pytest.mark.parametrize(
    ("got", "expected"), [(3, 3.0), (3.0, 3), (3.2, 3), ([{"a": 2.75}], [{"a": 3}]), (10**400, 10**400)]
)
def test_within_a_tolerance_integers_and_floats_are_alike(got, expected):
    assert same(got, expected, within=0.25)


@pytest.mark.parametrize(
    ("got", "expected"), [(3.3, 3), (True, 1), ("3", 3), (math.nan, 3), (math.inf, 3), (10**400, 1.0), ([3], 3)]
)
def test_a_tolerance_forgives_nothing_else(got, expected):
    assert not same(got, expected, within=0.25)


def test_a_deep_value_is_not_followed_deeper_than_the_expected_one():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert not same(deep, [[[1]]])
