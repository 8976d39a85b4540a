import pytest

from crucibleforge.suite.catalogue import catalogue


@pytest.mark.slow
def test_the_page_is_printed_as_it_is(crucible):
    ended = crucible("cases", "docs")
    assert (ended.code, ended.out, ended.err) == (0, catalogue(), "")
