from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.families._draw import CANONICAL, Draw, seed


def test_the_numbers_of_a_key_are_pinned_for_ever():
    draw = Draw("canonical", "math/pinned", "easy", 1)
    assert [draw.below(1000) for _ in range(8)] == [260, 794, 153, 989, 3, 522, 283, 805]
    assert draw.between(-5, 5) == 3
    assert draw.pick("abcdef") == "b"
    assert draw.shuffled(range(8)) == [4, 5, 2, 6, 1, 3, 7, 0]
    assert draw.sample(range(100), 3) == [40, 76, 71]


def test_a_part_of_the_key_does_not_run_into_the_next():
    assert Draw("ab", "c").below(1 << 60) != Draw("a", "bc").below(1 << 60)


@given(st.text(), st.integers(1, 1 << 64))
def test_below_stays_below(key, n):
    assert 0 <= Draw(key).below(n) < n


@pytest.mark.parametrize("n", [0, -3])
def test_below_nothing_is_refused(n):
    with pytest.raises(ValueError, match="there is no such number"):
        Draw("x").below(n)


def test_every_order_comes_up_about_equally_often():
    draw = Draw("orders")
    counts = dict.fromkeys(permutations("abc"), 0)
    for _ in range(1200):
        counts[tuple(draw.shuffled("abc"))] += 1
    # 200 expected each; 60 is more than four standard deviations.
    assert all(abs(n - 200) < 60 for n in counts.values())


@given(st.integers(0, 20), st.integers(0, 20))
def test_a_sample_takes_each_item_once_at_most(size, count):
    taken = Draw("sample", size).sample(range(size), min(size, count))
    assert len(taken) == len(set(taken)) == min(size, count)
    assert set(taken) <= set(range(size))


def test_a_sample_of_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="sample of 3 out of 2"):
        Draw("sample").sample("ab", 3)


def test_until_gives_the_first_fitting_draw():
    draw = Draw("until")
    assert draw.until(lambda: n if (n := draw.below(10)) > 7 else None) in {8, 9}


def test_until_takes_nought_for_a_find():
    assert Draw("until").until(lambda: 0, tries=1) == 0


def test_until_gives_up_with_an_error():
    with pytest.raises(RuntimeError, match="nothing fitting was drawn in 5 tries"):
        Draw("until").until(lambda: None, tries=5)


def test_a_seed_is_pinned_for_ever_and_of_all_of_its_place():
    places = [(), ("math/x", 1, "L1", 1, 0), ("math/x", 1, "L1", 2, 0), ("math/x", 2, "L1", 1, 0), ("math/y", 1, "L1", 1, 0)]
    assert seed(CANONICAL, *places[1]) == "4bec90fee02f3068132b89b86fcc071b"
    assert len({seed(form, *place) for form in ("1", "2") for place in places}) == 10
