from __future__ import annotations

from itertools import islice

from crucibleforge.families._hostile import replies


def test_the_same_key_gives_the_same_replies():
    assert [r.text for r in replies("a", 20)] == [r.text for r in replies("a", 20)]


def test_another_key_changes_all_but_the_fixed_ones():
    one, other = ({r.text for r in replies(key, 50)} for key in ("a", "b"))
    fixed = {r.text for r in replies("a", 0)}
    assert one & other - fixed == set()
    assert len(fixed) == 15


def test_the_longest_has_ten_million_characters():
    assert max(len(r.text) for r in islice(replies("a", 0), 15)) == 10_000_000
