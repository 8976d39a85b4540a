from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.jsontext import MAX_SIZE, NO_JSON, json_value, strict_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES)
def test_every_json_value_is_read_back_bare_and_fenced(value):
    text = json.dumps(value)
    assert json_value(text) == json_value(f"Sure:\n```json\n{text}\n```\nAnything else?") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": 1} x',
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        "Infinity",
        "-Infinity",
        "1e999",
        "// c\n1",
        "1" * 5000,
        "[" * 65 + "]" * 65,
        "[" * 200_000,
        '{"a":' * 100_000,
        '"' + "x" * MAX_SIZE + '"',
    ],
)
def test_what_is_not_strict_json_is_refused(text):
    start = time.process_time()
    assert strict_json(text) is NO_JSON
    assert time.process_time() - start < 2


@pytest.mark.parametrize("leaf", ["", "1", "{}"])
def test_the_depth_is_bounded_by_arrays_and_objects_alone(leaf):
    depth = 64 - (leaf == "{}")
    assert strict_json("[" * depth + leaf + "]" * depth) is not NO_JSON
    assert strict_json("[" * (depth + 1) + leaf + "]" * (depth + 1)) is NO_JSON


def test_null_is_a_value():
    assert json_value(" null\n") is None


def test_the_last_block_that_parses_counts():
    text = "```json\n1\n```\n```\n2\n```\n```json\n{oops\n```\n```yaml\n3\n```"
    assert json_value(text) == 2


def test_a_value_in_prose_counts_only_where_it_may():
    assert json_value('It is {"a": [1]}.') is NO_JSON
    assert json_value('It is {"a": [1]}.', in_prose=True) == {"a": [1]}
    assert json_value("It is [1] there", in_prose=True) == [1]
    assert json_value("It is {1} there", in_prose=True) is NO_JSON
    assert json_value('```json\n{"a": 1,}\n```\nor {"a": 1}', in_prose=True) is NO_JSON


def test_the_word_json_may_stand_in_front():
    assert json_value("JSON\r\n[1]") == [1]


@given(st.text() | st.text(alphabet='[]{}",:1e-truenl \n`'))
def test_any_text_is_json_or_not(text):
    json_value(text)
    json_value(text, in_prose=True)
