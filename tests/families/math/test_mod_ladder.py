from __future__ import annotations

from crucibleforge.families.math.mod_ladder import Ladder, Step, solve, verify

PLAIN = (0, 0, 0)


def test_a_reduced_exponent_that_falls_into_the_tail_is_lifted_out_of_it():
    # Powers of 2 by 24 are 1, 2, 4, 8, 16, 8, 16 ...: a tail of three, then 8 for odd and 16 for even exponents.
    # 3^4 = 81 is odd: 8. The totient of 24 is 8 and 81 leaves 1, so that the theorem misused gives 2^1 = 2.
    ladder = Ladder((Step(2, (3, 4), 24, 3, 3, PLAIN),))
    assert solve(ladder) == verify(ladder) == (8 + 3 * 6) % 24


def test_an_exponent_that_ends_in_the_tail_leaves_the_shared_prime_alive():
    # 6^(2^2) = 1296 = 5 * 256 + 16: 2^4 divides it, and 2^8 does not.
    ladder = Ladder((Step(6, (2, 2), 256, 1, 0, PLAIN),))
    assert solve(ladder) == verify(ladder) == 16 + 1


def test_a_remainder_tops_the_next_tower_as_the_number_that_it_is():
    # x = 5^2 + 2 by 24 = 3, then 3^(2^3) = 6561 = 6560 + 1 by 10 is 1; with 4 * 3! + 2 * C(5, 2) = 44 that makes 5.
    ladder = Ladder((Step(5, (2,), 24, 2, 0, PLAIN), Step(3, (2,), 10, 4, 3, (2, 5, 2))))
    assert solve(ladder) == verify(ladder) == 5


def test_towers_are_read_from_the_top_down():
    # 2^(3^2) = 512, and (2^3)^2 = 64.
    ladder = Ladder((Step(2, (3, 2), 1000, 1, 0, PLAIN),))
    assert solve(ladder) == verify(ladder) == 513
