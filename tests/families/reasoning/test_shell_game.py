from __future__ import annotations

import pytest

from crucibleforge.families.reasoning._story import Event
from crucibleforge.families.reasoning.shell_game import Story, solve, verify

ANN, BOB, CAT = range(3)
SHELF, SILL, RUG, DESK = range(4)


def found(events, *chains):
    story = Story(
        people=("Ann", "Bob", "Cat"),
        things=("key",),
        places=("shelf", "sill", "rug", "desk"),
        start=(SHELF,),
        events=tuple(events),
        asked=tuple((0, chain) for chain in chains),
    )
    assert solve(story) == verify(story)
    return solve(story)


def put(who, place, watcher=-1):
    return Event("put", who, 0, place, watcher=watcher)


def test_who_was_outside_believes_the_old_place_and_is_known_to():
    events = [Event("leave", BOB), put(ANN, SILL), Event("enter", BOB)]
    assert found(events, (), (BOB,), (ANN, BOB), (BOB, ANN)) == ["sill", "shelf", "shelf", "shelf"]


def test_each_misses_what_the_other_saw():
    events = [Event("leave", BOB), put(ANN, SILL), Event("leave", ANN), Event("enter", BOB), put(BOB, RUG)]
    # Ann knows of the sill and that Bob does not; Bob has moved it on, which Ann missed, and Cat saw everything.
    assert found(events, (ANN,), (BOB,), (ANN, BOB), (CAT, ANN), (CAT, BOB)) == ["sill", "rug", "shelf", "sill", "rug"]
    assert found(events, (ANN, CAT), (CAT, ANN, BOB), (BOB, CAT, ANN)) == ["sill", "shelf", "shelf"]


def test_closed_boxes_carry_a_false_belief_along():
    swap = Event("swap", ANN, -1, SHELF, RUG)
    # To Bob the key still lies on the shelf when he sees that box go to the rug; it is on the sill.
    events = [Event("leave", BOB), put(ANN, SILL), Event("enter", BOB), swap]
    assert found(events, (), (BOB,), (ANN, BOB)) == ["sill", "rug", "rug"]


def test_a_lie_is_believed_and_the_liar_is_taken_at_the_word():
    said = Event("say", ANN, 0, DESK)
    assert found([said], (), (ANN,), (BOB,), (BOB, ANN)) == ["shelf", "shelf", "desk", "desk"]
    assert found([said], (ANN, BOB), (ANN, BOB, ANN), (BOB, ANN, BOB)) == ["desk", "desk", "desk"]
    outside = [Event("leave", CAT), said]
    assert found(outside, (CAT,), (CAT, BOB), (BOB, CAT)) == ["shelf", "shelf", "shelf"]


def test_a_whisper_reaches_one_person_only():
    whisper = Event("whisper", ANN, 0, DESK, BOB)
    assert found([whisper], (BOB,), (CAT,), (CAT, BOB), (BOB, CAT)) == ["desk", "shelf", "shelf", "shelf"]
    assert found([whisper], (ANN, BOB), (BOB, ANN), (ANN, CAT)) == ["desk", "desk", "shelf"]


def test_nobody_knows_what_the_watcher_saw():
    events = [Event("leave", CAT), put(ANN, SILL, watcher=CAT)]
    assert found(events, (CAT,), (CAT, BOB), (CAT, BOB, ANN)) == ["sill", "sill", "sill"]
    assert found(events, (BOB, CAT), (CAT, BOB, CAT), (BOB, CAT, BOB)) == ["shelf", "shelf", "shelf"]


@pytest.mark.parametrize("derive", [solve, verify])
def test_with_everybody_in_the_room_all_chains_agree(derive):
    story = Story(
        ("Ann", "Bob"), ("key",), ("shelf", "sill"), (0,), (put(ANN, SILL),), ((0, ()), (0, (1,)), (0, (1, 0, 1)))
    )
    assert derive(story) == ["sill"] * 3
