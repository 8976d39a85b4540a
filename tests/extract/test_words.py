from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.words import spelt

WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
"""
ONES, TENS = WORDS.split()[:20], WORDS.split()[20:]


def written(value, link):
    if value >= 10**6:
        return joined(written(value // 10**6, link) + " million", value % 10**6, link)
    if value >= 1000:
        return joined(written(value // 1000, link) + " thousand", value % 1000, link)
    if value >= 100:
        return joined(ONES[value // 100] + " hundred", value % 100, link)
    if value < 20:
        return ONES[value]
    return TENS[value // 10 - 2] + (f"-{ONES[value % 10]}" if value % 10 else "")


def joined(head, rest, link):
    if not rest:
        return head
    return head + (link if rest < 100 else " ") + written(rest, link)


@given(st.integers(0, 10**9 - 1), st.sampled_from([" ", " and "]))
def test_every_number_below_a_billion_is_read(value, link):
    assert spelt(written(value, link)) == spelt(written(value, link).upper()) == value


def test_a_hundred_and_hundreds_are_read():
    assert spelt("a hundred") == 100
    assert spelt("nineteen hundred") == 1900


@pytest.mark.parametrize(
    "text",
    [
        "",
        "and",
        "one two",
        "twenty eleven",
        "twenty zero",
        "thousand",
        "one thousand million",
        "hundred",
        "five and six",
        "1 hundred",
        "two thousand and",
        "zero thousand",
        "one hundred zero hundred",
        "six million zero",
        "ten or eleven",
        "six " * 90,
    ],
)
def test_what_is_no_single_number_is_none(text):
    assert spelt(text) is None


@given(
    st.lists(st.sampled_from([*ONES, *TENS, "hundred", "thousand", "million", "and", "-", "a"])).map(" ".join)
    | st.text()
)
def test_any_text_is_a_number_or_none(text):
    assert spelt(text) is None or spelt(text) >= 0
