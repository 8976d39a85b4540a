from itertools import pairwise

import made
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import Dialogue, Message
from crucibleforge.run.order import length, longest_first
from crucibleforge.types import Job, Row


def row(name, max_tokens=100, **fields):
    dialogue = Dialogue((Message("user", fields.pop("prompt", "")),), max_tokens, **fields)
    return Row(Job("m", name, 1), made.case(name, dialogue=dialogue))


def names(rows):
    return [each.job.case_id for each in longest_first(rows)]


def test_the_longest_chain_comes_first_whatever_its_category():
    rows = [row("a/f/L1.1", 100), row("b/f/L1.1", 90, max_rounds=3, turns=("x", "y")), row("c/f/L1.1", 200)]
    assert names(rows) == ["b/f/L1.1", "c/f/L1.1", "a/f/L1.1"]


def test_of_equals_the_chain_comes_first_and_otherwise_the_given_order_stays():
    rows = [row("a/f/L1.1", 200), row("a/f/L1.2", 200), row("b/f/L1.1", 100, max_rounds=2)]
    assert names(rows) == ["b/f/L1.1", "a/f/L1.1", "a/f/L1.2"]


def test_a_long_prompt_takes_time_too():
    rows = [row("a/f/L1.1"), row("a/f/L1.2", prompt="x" * 10_000)]
    assert names(rows) == ["a/f/L1.2", "a/f/L1.1"]


def test_a_prompt_counts_in_every_round():
    once, twice = row("a/f/L1.1", prompt="x" * 350), row("a/f/L1.2", prompt="x" * 350, max_rounds=2)
    assert (length(once.case), length(twice.case)) == (120.0, 240.0)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)), max_size=20))
def test_ordering_loses_and_invents_nothing_and_is_its_own_fixed_point(shapes):
    rows = [row(f"a/f/L1.{n}", tokens, max_rounds=rounds) for n, (tokens, rounds) in enumerate(shapes)]
    ordered = longest_first(rows)
    assert sorted(names(rows)) == sorted(each.job.case_id for each in rows)
    assert longest_first(ordered) == ordered
    assert all(length(a.case) >= length(b.case) for a, b in pairwise(ordered))
