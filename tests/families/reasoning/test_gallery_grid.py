from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import pytest

from crucibleforge.families._build import items
from crucibleforge.families.reasoning._clues import Clue, sentence, truth
from crucibleforge.families.reasoning.gallery_grid import FAMILY, Wall, solve, verify

# Painters 0 Ab, 1 Be, 2 Co; subjects 3 hen, 4 cup, 5 sea.
COLUMNS = (("Ab", "Be", "Co"), ("hen", "cup", "sea"))
AB_LEFT_OF_HEN, HEN_IS_BE = Clue("left", (0, 3)), Clue("same", (1, 3))
CO_NOT_FIRST = Clue("not", parts=(Clue("at", (2,), 0),))
ONE_OF = Clue("xor", parts=(Clue("at", (2,), 1), Clue("at", (5,), 0)))
WALL = Wall(COLUMNS, (AB_LEFT_OF_HEN, HEN_IS_BE, CO_NOT_FIRST, ONE_OF))


def test_a_wall_by_hand():
    # Ab hangs left of Be with the hen, and Co not first, so that Ab is first: Ab Be Co, or Ab Co Be.
    # If Co is second the sea is not first; the hen is third, so that the sea is Co's: Ab cup, Co sea, Be hen.
    # If Co is third the sea is first: Ab sea, Be hen, Co cup. One clue more decides.
    for wall in (WALL, replace(WALL, clues=WALL.clues[:2])):
        for derive in (solve, verify):
            with pytest.raises(ValueError, match="walls fit"):
                derive(wall)
    decided = replace(WALL, clues=(*WALL.clues, Clue("touch", (0, 1))))
    assert solve(decided) == verify(decided) == {"Ab": ["1", "sea"], "Be": ["2", "hen"], "Co": ["3", "cup"]}


@pytest.mark.parametrize(
    "rung", ["L1", "L2", pytest.param("L3", marks=pytest.mark.slow), pytest.param("L5", marks=pytest.mark.slow)]
)
def test_trying_all_walls_finds_the_same_one(rung):
    for item in items(FAMILY, rung, 2):
        wall = item.instance
        size = len(wall.columns[0])
        found = []
        for rows in product(permutations(range(size)), repeat=len(wall.columns)):
            hooks = [hook for row in rows for hook in row]
            if all(truth(clue, hooks) for clue in wall.clues):
                found.append(rows)
        assert len(found) == 1
        cells = {
            painter: [
                str(hook + 1),
                *(names[row.index(hook)] for names, row in zip(wall.columns[1:], found[0][1:], strict=True)),
            ]
            for painter, hook in zip(wall.columns[0], found[0][0], strict=True)
        }
        assert cells == item.answer


def is_settled(wall, without):
    try:
        solve(replace(wall, clues=tuple(clue for clue in wall.clues if clue not in without)))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("rung", ["L1", "L2", "L3", "L4", "L5"])
def test_without_the_spare_clue_every_clue_is_needed(rung):
    for item in items(FAMILY, rung, 3):
        wall = item.instance
        spare = [clue for clue in wall.clues if is_settled(wall, [clue])] if FAMILY.rungs[rung].spare else [None]
        assert any(all(not is_settled(wall, [one, other]) for other in wall.clues if other != one) for one in spare)


def test_clues_are_said_as_they_are_meant():
    assert sentence(AB_LEFT_OF_HEN, COLUMNS) == "The picture by Ab hangs to the left of the picture of the hen."
    assert sentence(HEN_IS_BE, COLUMNS) == "The picture by Be shows the hen."
    assert sentence(Clue("not", parts=(HEN_IS_BE,)), COLUMNS) == "The picture by Be does not show the hen."
    assert sentence(CO_NOT_FIRST, COLUMNS) == "The picture by Co does not hang on hook 1."
    assert sentence(ONE_OF, COLUMNS) == (
        "Either the picture by Co hangs on hook 2, or the picture of the sea hangs on hook 1, but not both."
    )


def test_a_compound_is_open_until_its_parts_decide_it():
    either = Clue("or", parts=(Clue("at", (0,), 0), Clue("at", (1,), 1)))
    assert [truth(either, hooks) for hooks in ((-1, -1), (0, -1), (1, -1), (1, 0), (-1, 1))] == [
        None, True, None, False, True,
    ]  # fmt: skip
    condition = replace(either, kind="if")
    assert [truth(condition, hooks) for hooks in ((-1, -1), (0, -1), (1, -1), (0, 2), (-1, 1))] == [
        None, None, True, False, True,
    ]  # fmt: skip
