from __future__ import annotations

from crucibleforge.families._draw import Draw
from crucibleforge.families.coding._desk_programs import reference, scanning, sorting, wrong
from crucibleforge.families.coding._sources import loaded, operated
from crucibleforge.families.coding.order_desk import FAMILY


def test_the_slow_programs_are_right_and_the_wrong_ones_are_not():
    task = FAMILY.generate(FAMILY.rungs["L5"], Draw("desk"))

    def run(source: str) -> list[object]:
        desk = loaded(source, task.rule.desk)
        return [operated(desk(*day.made_with), day.log) for day in task.tests]

    right = run(reference(task.rule))
    assert run(scanning(task.rule)) == run(sorting(task.rule)) == right
    assert len(set(wrong(task.rule))) == len(wrong(task.rule)) >= 8
