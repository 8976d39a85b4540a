from collections import Counter

import pytest

from crucibleforge.bench._texts import TEXTS, passage, task
from crucibleforge.families._draw import Draw


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("characters", [50, 200, 800, 20_000])
def test_a_text_is_nearly_as_long_as_asked_and_never_longer(kind, characters):
    for number in range(10):
        for text in (task(kind, characters, Draw(number)), passage(kind, characters, Draw(number))):
            assert 0.7 * characters <= len(text) <= characters


@pytest.mark.parametrize("kind", TEXTS)
def test_no_piece_of_a_long_text_comes_twice(kind):
    lines = [line for line in passage(kind, 20_000, Draw("long")).replace(". ", ".\n").split("\n") if len(line) > 60]
    common, times = Counter(lines).most_common(1)[0]
    assert times <= 2, common
    assert len(lines) > 60


@pytest.mark.parametrize("kind", TEXTS)
def test_no_word_is_most_of_a_text(kind):
    words = passage(kind, 20_000, Draw("long")).split()
    assert Counter(words).most_common(1)[0][1] < 0.16 * len(words)


def test_a_text_is_that_of_its_draw():
    assert task("code", 400, Draw("a")) == task("code", 400, Draw("a"))
    assert task("code", 400, Draw("a")) != task("code", 400, Draw("b"))
