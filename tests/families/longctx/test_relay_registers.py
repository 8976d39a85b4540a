from __future__ import annotations

import pytest

from crucibleforge.families.longctx._archive import Record
from crucibleforge.families.longctx.relay_registers import Register, solve, verify

ASKED, STRANGER = 0, 1
BADGE, LOCKER, KEY = 100_000, 200_000, 300_000
HERON, HARE = 0, 1

# The asked person's badge 111 was replaced by 222 and that by 333; 333 opens the locker with the heron, which is
# locker 111; it holds key 444, replaced by key 555. Read without replacements: badge 111, locker 777, key 666.
LINKS = (
    ("link", (ASKED, BADGE + 111)),
    ("swap", (BADGE + 222, BADGE + 333)),
    ("swap", (BADGE + 111, BADGE + 222)),
    ("pointer", (BADGE + 333, HERON)),
    ("mark", (LOCKER + 111, HERON)),
    ("link", (LOCKER + 111, KEY + 444)),
    ("swap", (KEY + 444, KEY + 555)),
    ("link", (BADGE + 111, LOCKER + 777)),
    ("mark", (LOCKER + 777, HARE)),
    ("link", (LOCKER + 777, KEY + 666)),
    ("link", (STRANGER, BADGE + 888)),
    ("link", (BADGE + 888, LOCKER + 777)),
)


def register(*links):
    return Register(3, ASKED, tuple(Record(what, facts, form) for form, (what, facts) in enumerate(links)))


def test_a_chain_goes_over_pictures_and_whatever_replaced_its_things():
    assert solve(register(*LINKS)) == verify(register(*LINKS)) == 555


def test_a_chain_that_another_one_joins_is_refused():
    joined = [("link", (BADGE + 888, LOCKER + 111)) if facts[0] == BADGE + 888 else (w, facts) for w, facts in LINKS]
    with pytest.raises(ValueError, match="not its own"):
        verify(register(*joined))


def test_a_thing_that_leads_to_two_others_is_refused():
    with pytest.raises(ValueError, match="two others"):
        verify(register(*LINKS, ("link", (LOCKER + 777, KEY + 999))))
