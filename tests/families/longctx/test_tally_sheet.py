from __future__ import annotations

import pytest

from crucibleforge.families.longctx._archive import Record
from crucibleforge.families.longctx.tally_sheet import Log, solve, verify

ANY, SHIP, GOODS, QUAY = -1, 0, 1, 2
SALT, CORK, TAR, OLD = 1, 5, 0, 4
NUMBER = 3


def log(*entries, order=(0,)):
    """Asked: crates of salt at Tar Quay, whatever the ship."""
    return Log((ANY, SALT, TAR), tuple(Record(what, facts, form) for form, (what, facts) in enumerate(entries)), order)


def landed(number, goods=SALT, quay=TAR, unit=0):
    return "landing", (number, goods, quay, number, unit)


def void(target):
    return "void", (target,)


def fix(target, field, value):
    return "fix", (target, field, value)


@pytest.mark.parametrize(
    ("entries", "total"),
    [
        ([landed(5), landed(7, CORK), landed(9, SALT, OLD)], 5),
        ([landed(5), fix(1, NUMBER, 8)], 8),
        ([landed(5), fix(1, NUMBER, 8), fix(1, NUMBER, 6)], 6),
        ([landed(5), fix(1, NUMBER, 8), fix(1, NUMBER, 6), void(3)], 8),
        ([landed(5), void(1), fix(1, NUMBER, 8)], 0),
        ([landed(5), void(1), void(2)], 5),
        ([landed(5), void(1), void(2), void(3)], 0),
        ([landed(5), void(1), void(1), void(2)], 0),
        ([landed(5), void(1), void(2), void(2), void(3)], 5),
        ([landed(5), fix(1, GOODS, CORK)], 0),
        ([landed(5, CORK), fix(1, GOODS, SALT), fix(1, NUMBER, 4)], 4),
        ([landed(5, SALT, OLD), fix(1, QUAY, TAR), void(2)], 0),
        ([landed(5), fix(1, SHIP, 3)], 5),
        ([landed(5, unit=1), landed(1)], 21),
        ([landed(5, unit=1), fix(1, NUMBER, 2)], 8),
    ],
)
def test_what_is_in_force_counts(entries, total):
    assert solve(log(*entries)) == verify(log(*entries)) == total


def test_the_number_of_an_entry_decides_and_not_its_place():
    entries = [landed(5), fix(1, NUMBER, 8), *[landed(2, CORK)] * 18, fix(1, NUMBER, 6)]
    shuffled = log(*entries, order=(1, 0))
    assert solve(shuffled) == verify(shuffled) == 6
