from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from crucibleforge.families._build import items
from crucibleforge.families.math.absorbing_die import FAMILY, Game, solve, verify

# Square 0 between home (1) and pit (3) by way of 2: one sector in three each goes on, goes two on, and stays.
GAME = Game("Osk", "red", 4, 0, 1, 3, ((1, 1), (1, 2), (1, 0)), (), -1, "chance")


def both(**changes):
    game = replace(GAME, **changes)
    assert solve(game) == verify(game)
    return Fraction(solve(game))


def test_the_three_questions_by_hand():
    # From 2 a token goes to 3, to 0, or stays: h2 = h0/2. From 0: h0 = 1/3 + h2/3 + h0/3, so that h0 = 1/2 + h0/4.
    assert both() == Fraction(2, 3)
    # t2 = 1 + t2/3 + t0/3 and t0 = 1 + t2/3 + t0/3, so that t0 = t2 = 3.
    assert both(asked="spins") == 3
    # g = E[spins; home]: g0 = 2/3 + g2/3 + g0/3 and g2 = 1/3 + g2/3 + g0/3, g0 = 5/3; divided by 2/3.
    assert both(asked="given") == Fraction(5, 2)


def test_a_chute_slides_in_the_same_turn():
    # Two squares on is back at 0 at once: home on one sector, otherwise again, for a mean of three spins.
    assert both(chutes=((2, 0),), asked="spins") == 3
    # With the pit out of reach the game stops at home for certain.
    assert both(chutes=((2, 0),)) == 1


def test_the_same_sector_twice_stops_the_game_without_a_move():
    # 0 slides back to itself as above, and sector 3 (stay) twice in a row stops. a: last spin not 3, b: it was.
    # a = 1/3 + a/3 + b/3 and b = 1/3 + a/3, so that a = 4/5.
    assert both(chutes=((2, 0),), twice=2) == Fraction(4, 5)
    # a = 1 + a/3 + b/3 and b = 1 + a/3: a = 12/5.
    assert both(chutes=((2, 0),), twice=2, asked="spins") == Fraction(12, 5)


@pytest.mark.parametrize("rung", ["L2", "L3", "L4", "L5"])
def test_following_the_token_for_long_enough_comes_near_the_fraction(rung):
    for item in items(FAMILY, rung, 5):
        game = item.instance
        sectors = sum(size for size, _ in game.moves)
        tokens, home, spins, spins_home = Counter({(game.start, None): 1.0}), 0.0, 0.0, 0.0
        for turn in range(1, 1500):
            later = Counter()
            for (square, before), share in tokens.items():
                for run, (size, step) in enumerate(game.moves):
                    part = share * size / sectors
                    on = dict(game.chutes).get((square + step) % game.ring, (square + step) % game.ring)
                    if run == game.twice == before:
                        spins += turn * part
                    elif on == game.home:
                        home, spins, spins_home = home + part, spins + turn * part, spins_home + turn * part
                    elif on == game.pit:
                        spins += turn * part
                    else:
                        later[on, run] += part
            tokens = Counter({key: part for key, part in later.items() if part > 1e-14})
        asked = {"chance": home, "spins": spins, "given": spins_home / home}[game.asked]
        assert asked == pytest.approx(float(Fraction(item.answer)), rel=1e-6)
