import os
import subprocess
import sys

import msgspec
import pytest
from adding import ADDING

from crucibleforge.families._build import cases
from crucibleforge.suite.lock import differences, rendered, stored

DRAWN = "from crucibleforge.suite.expand import drawn; from crucibleforge.suite.lock import rendered; print(end=rendered(drawn()))"
CASES = tuple(cases(ADDING))


def drawn(hash_seed):
    """The lock of all that a new process draws."""
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run([sys.executable, "-c", DRAWN], env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_suite_is_the_locked_one_under_any_hash_seed(hash_seed):
    assert differences(stored(), fresh := drawn(hash_seed)) == []
    assert fresh == stored()


def test_a_line_a_case_sorted_in_any_order():
    lines = rendered(CASES).splitlines()
    assert lines == sorted(lines)
    assert [line.split()[:2] for line in lines] == [[case.id, case.hash] for case in CASES]
    assert rendered(CASES[::-1]) == rendered(CASES)


def test_a_difference_says_what_joined_left_and_changed():
    first, second, third, fourth = CASES[:4]
    reworded = msgspec.structs.replace(second, hash="0" * 16)
    remarked = msgspec.structs.replace(third, expected="something else")
    assert differences(rendered([first, second, third]), rendered([reworded, remarked, fourth])) == [
        "math/adding/L1.1: in the lock, not in the suite",
        "math/adding/L2.1: its question is not the locked one",
        "math/adding/L3.1: its marking is not the locked one",
        "math/adding/L4.1: not in the lock",
    ]


def test_the_same_lock_differs_in_nothing():
    assert differences(rendered(CASES), rendered(CASES)) == []
