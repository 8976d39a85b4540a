from __future__ import annotations

import pytest

from crucibleforge.families._draw import Draw
from crucibleforge.families.coding._mended_programs import HIDES, SLOW, bug_named, drawn_bugs, hidden_bugs, module
from crucibleforge.families.coding._sources import loaded, operated
from crucibleforge.families.coding.mended_module import FAMILY


def run(task, *bugs: str) -> list[object]:
    shelf = loaded(module(task.rule, *map(bug_named, bugs)), task.rule.shelf)
    return [operated(shelf(use.stock), use.log) for use in task.tests]


@pytest.mark.slow
def test_a_hidden_bug_shows_only_when_the_other_is_mended():
    task = FAMILY.generate(FAMILY.rungs["L3"], Draw("mended"))
    first, hidden = task.bugs[:2]
    assert hidden_bugs(task.bugs) == (hidden,)
    assert run(task, first, hidden) == run(task, first)
    assert run(task) not in (run(task, first), run(task, hidden))


@pytest.mark.slow
def test_the_slow_bug_changes_no_answer():
    task = FAMILY.generate(FAMILY.rungs["L4"], Draw("slow"))
    assert task.bugs[-1] == SLOW.name
    assert run(task, SLOW.name) == run(task)


def test_a_bug_that_the_slow_one_covers_is_not_drawn_with_it():
    drawn = [drawn_bugs(FAMILY.rungs["L5"], Draw("pairs", number)) for number in range(200)]
    assert not any("still waits" in names for names in drawn)
    assert {names[1] for names in drawn} == set(HIDES["handed over"]) - {"still waits"}
