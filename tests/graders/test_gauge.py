from __future__ import annotations

import time

import pytest

from crucibleforge.graders._gauge import lines_of, words_of


def test_a_word_is_a_run_of_letters_digits_apostrophes_and_hyphens_with_a_letter_or_digit():
    assert words_of("Don\u2019t, well-kept \u2013 'quoted' - snake_case 3.5 na\u00efve cafe\u0301!") == [
        *("don't", "well-kept", "quoted", "snake", "case", "3", "5", "na\u00efve", "cafe\u0301"),
    ]


def test_lines_have_something_on_them_and_no_white_space_at_their_end():
    assert lines_of("\n a \n\t\nb\n") == [" a", "b"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "'", "-", "\n", "\u0301\u0327", "\ufdfa", "a' ", "\u00df"])
def test_reading_takes_linear_time(piece):
    text = piece * (100_000 // len(piece))
    before = time.process_time()
    words_of(text)
    lines_of(text)
    assert time.process_time() - before < 0.5
