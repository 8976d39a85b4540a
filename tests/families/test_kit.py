from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from adding import ADDING

from crucibleforge.families._kit import SLOTS, Draft
from crucibleforge.types import RUNGS


def test_every_rung_has_canonical_cases_and_two_thirds_of_those_that_count_are_hard():
    assert tuple(SLOTS) == RUNGS
    assert 3 * (SLOTS["L3"] + SLOTS["L4"]) == 2 * sum(SLOTS[rung] for rung in RUNGS if rung != "L5")


def test_drafts_and_families_share_no_table():
    assert Draft(prompt="").settings is not Draft(prompt="").settings


def test_a_family_does_not_change():
    with pytest.raises(FrozenInstanceError):
        ADDING.name = "math/other"
