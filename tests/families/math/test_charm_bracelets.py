from __future__ import annotations

from itertools import product

import pytest

from crucibleforge.families.math.charm_bracelets import Rings, solve, verify


def rings(beads, counts, apart=(), flips=False):
    return Rings("Ann", ("red", "tan", "white", "black")[: len(counts)], beads, counts, apart, flips)


def test_a_flip_makes_mirror_images_one():
    # Three colours once each on a ring of three: red-tan-white and red-white-tan are mirror images.
    once = ((1, 1), (1, 1), (1, 1))
    assert solve(rings(3, once)) == verify(rings(3, once)) == 2
    assert solve(rings(3, once, flips=True)) == verify(rings(3, once, flips=True)) == 1


def test_the_last_bead_touches_the_first():
    # No two red beads touch: on a ring of four, red takes no place, one, or two that face each other.
    two = ((0, 4), (0, 4))
    assert solve(rings(4, two, ((0, 0),))) == verify(rings(4, two, ((0, 0),))) == 3


def test_six_beads_by_hand():
    # Three red and three tan on a ring of six: RRRTTT, RRTRTT, RRTTRT, RTRTRT; the middle two are mirror images.
    halves = ((3, 3), (3, 3))
    assert solve(rings(6, halves)) == verify(rings(6, halves)) == 4
    assert solve(rings(6, halves, flips=True)) == verify(rings(6, halves, flips=True)) == 3


@pytest.mark.parametrize("beads", [3, 4, 5, 6])
@pytest.mark.parametrize("flips", [False, True])
def test_the_least_turn_of_every_string_counts_each_ring_once(beads, flips):
    asked = rings(beads, ((1, 3), (0, beads), (0, 2)), ((0, 2), (1, 1)), flips)
    found = set()
    for string in product(range(3), repeat=beads):
        touching = {tuple(sorted((string[k - 1], string[k]))) for k in range(beads)}
        if 1 <= string.count(0) <= 3 and string.count(2) <= 2 and not touching & {(0, 2), (1, 1)}:
            turned = [string[k:] + string[:k] for k in range(beads)]
            turned += [one[::-1] for one in turned] if flips else []
            found.add(min(turned))
    assert solve(asked) == verify(asked) == len(found)
