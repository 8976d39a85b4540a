from __future__ import annotations

import pytest

from crucibleforge.families._kit import Draft, Item
from crucibleforge.families.coding._sources import changed, kept, loaded, mutants, operated

TEXT = "always\nwith  #:a\nwithout  #:!a\nboth  #:a+b\none  #:a+!b\n"


def test_a_line_stays_when_all_its_conditions_hold():
    assert kept(TEXT, ()) == "always\nwithout\n"
    assert kept(TEXT, ("a",)) == "always\nwith\none\n"
    assert kept(TEXT, ("a", "b")) == "always\nwith\nboth\n"


def test_a_change_that_changes_nothing_is_an_error():
    assert changed("a + b", ("+", "-")) == "a - b"
    with pytest.raises(ValueError, match="has no 'c'"):
        changed("a + b", ("c", "d"))


def test_results_of_operations_are_those_of_their_moment():
    made = loaded(
        "class Box:\n    def __init__(self):\n        self.of = []\n    def put(self, x):\n        self.of.append(x)\n        return self.of\n",
        "Box",
    )
    assert operated(made(), (("put", 1), ("put", 2))) == [[1], [1, 2]]


def test_each_mutant_changes_what_one_call_gives_and_no_input():
    answer = [{"args": [1], "returns": value} for value in (3, "x", [], [[1, "a"]], None, True)]
    found = mutants(Item(None, answer, Draft(prompt="")))
    assert [mutant[place]["returns"] for place, mutant in enumerate(found)] == [4, "xx", [0], [[1, "ax"]], [0], 2]
    assert all(sum(one != other for one, other in zip(mutant, answer, strict=True)) == 1 for mutant in found)
