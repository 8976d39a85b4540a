import pytest

from crucibleforge.cli._bench import _numbers, clean
from crucibleforge.errors import InputError


@pytest.mark.parametrize(("words", "numbers"), [(("2048",), (2048,)), (("2k", "8K", "2048"), (2048, 8192)), ((), ())])
def test_depths_may_be_written_in_thousands(words, numbers):
    assert _numbers("--depth", words, 1_000_000) == numbers


@pytest.mark.parametrize("word", ["", "k", "-1", "0", "1.5", "²", "1e9", "9999999"])
def test_what_is_no_sensible_number_is_refused(word):
    with pytest.raises(InputError):
        _numbers("--depth", (word,), 1_000_000)


def test_nothing_that_a_terminal_would_obey_is_printed():
    assert clean("a\x1b[2Jb\x9b31m\u202ec\nd") == "a [2Jb 31m c\nd"
