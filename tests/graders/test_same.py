from __future__ import annotations

import json
import math
from fractions import Fraction

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
        (1, 2),
        (2, 1),
        ([1], [1, 1]),
        ([1, 1], [1]),
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


def test_what_is_equal_is_the_same_whatever_its_size():
    text = '[1000, "a word or two", 123456789012345678901234567890, 0.1, {"a": [7000]}]'
    assert same(json.loads(text), json.loads(text))
    assert same(list(range(1000)), list(range(1000)))


def test_a_tolerance_is_always_named():
    with pytest.raises(TypeError):
        same(1, 1, 0.5)


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


def test_depth_is_no_bound():
    def deep(bottom):
        for number in range(100_000):
            bottom = [bottom] if number % 2 else {"a": bottom}
        return bottom

    assert same(deep(1), deep(1))
    assert not same(deep(1), deep(True))


@pytest.mark.parametrize("within", [None, 0.5])
@pytest.mark.parametrize("other", [[[1, 9], {"a": 3}, "x"], [[1, 2], {"a": 9}, "x"], [[1, 2], {"a": 3}, "y"]])
def test_every_element_counts(other, within):
    assert not same(other, [[1, 2], {"a": 3}, "x"], within=within)


@pytest.mark.parametrize(
    ("got", "expected", "within", "is_same"),
    [
        (0.75, 0.5, 0.25, True),
        (0.7500000000000001, 0.5, 0.25, False),
        (0.3, 0.2, 0.1, True),
        (1e16, 1e16 + 2, 1.0, False),
        (2**53, 2.0**53, 0.5, True),
        (2**53 + 1, 2.0**53, 0.5, False),
        (2**53 + 1, 2.0**53, 1.0, True),
        (2**53 - 1, 2.0**53, 0.5, False),
        (10**400, 10**400 + 1, 1.0, True),
        (10**400, 10**400 + 2, 1.0, False),
        (1e308, -1e308, 1e300, False),
        (-3, 3, 6, True),
        (-3, 3, 5, False),
        (-(2**60), 1.0, 0.5, False),
        (1, 1.0, 0, True),
        (1, 1.5, 0, False),
        (math.inf, math.inf, 1.0, False),
        (1.0, math.nan, 1.0, False),
        (1, True, 1.0, False),
        (True, True, 1.0, True),
        ("a", "a", 1.0, True),
    ],
)
def test_a_tolerance_is_exact(got, expected, within, is_same):
    assert same(got, expected, within=within) is is_same


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(0, 10))
def test_the_quick_way_agrees_with_fractions(got, expected, within):
    assert same(got, expected, within=within) is (abs(Fraction(got) - Fraction(expected)) <= Fraction(within))
