import msgspec

from crucibleforge.suite.expand import suite
from crucibleforge.suite.lock import differences, rendered, stored


def test_the_suite_is_the_locked_one():
    assert differences(stored(), rendered(suite())) == []


def test_a_line_a_case_sorted():
    lines = rendered(suite()).splitlines()
    assert lines == sorted(lines)
    assert len(lines) == len(suite())


def test_a_difference_says_what_joined_left_and_changed():
    first, second, third = suite()[:3]
    reworded = msgspec.structs.replace(second, hash="0" * 16)
    remarked = msgspec.structs.replace(third, expected="something else")
    old, new = rendered([first, second, third]), rendered([reworded, remarked, suite()[3]])
    assert differences(old, new) == sorted(
        [
            f"{suite()[3].id}: not in the lock",
            f"{first.id}: in the lock, not in the suite",
            f"{second.id}: its question is not the locked one",
            f"{third.id}: its marking is not the locked one",
        ]
    )
