from __future__ import annotations

import sys

from crucibleforge.families._independent import in_common


def shared():
    return list(range(3))


def one():
    return sum(shared())


def other():
    return max(shared())


def alone():
    return max([1, 2])


def test_what_both_enter_is_named():
    assert in_common(one, other, __file__) == {"shared"}


def test_two_that_have_nothing_in_common_name_nothing():
    assert in_common(one, alone, __file__) == set()


def test_functions_of_other_files_are_left_out():
    assert in_common(one, other, "another.py") == set()


def test_a_profiler_that_was_set_is_set_again():
    def note(*_):
        return None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        in_common(one, other, __file__)
        assert sys.getprofile() is note
    finally:
        sys.setprofile(before)
