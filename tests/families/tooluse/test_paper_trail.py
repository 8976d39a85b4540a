from __future__ import annotations

from dataclasses import replace

import played
import pytest

from crucibleforge.families._build import build, item
from crucibleforge.families.tooluse._trail import Facts, Params, Row
from crucibleforge.families.tooluse.paper_trail import FAMILY, Trail, solve, verify
from crucibleforge.run.dialogue import NOT_EXECUTED

ERROR = '{"error"'
PICKY = Params(hops=3, homonyms=1, twins=1, picky=True)
FACTS = Facts("Runa Nordal", "Immen", 2020, "garden", 10_000, True, 130, 1)


def order(number, parent, placed, cents, state="waiting"):
    return Row(number, parent, 2, (("placed", placed), ("total_cents", cents), ("state", state)))


ROWS = (
    Row("M-1", "", 0, (("name", "Runa Nordal"), ("town", "Osten"), ("joined", 2020))),
    Row("M-2", "", 0, (("name", "Runa Nordal"), ("town", "Immen"), ("joined", 2011))),
    Row("M-3", "", 0, (("name", "Runa Nordal"), ("town", "Immen"), ("joined", 2012))),
    Row("A-1", "M-1", 1, (("kind", "garden"), ("state", "open"))),
    Row("A-2", "M-2", 1, (("kind", "garden"), ("state", "closed"))),
    Row("A-3", "M-3", 1, (("kind", "garden"), ("state", "open"))),
    order("O-1", "A-1", "2031-04-01", 12_000),
    order("O-2", "A-2", "2031-04-01", 12_000),
    order("O-3", "A-3", "2031-03-01", 12_000),
    order("O-4", "A-3", "2031-03-05", 10_001),
    order("O-5", "A-3", "2031-03-09", 10_000),
    order("O-6", "A-3", "2031-03-10", 12_000, "sent"),
)
"""Runa of Immen with an open garden account is M-3; of more than 100.00 and waiting O-4 is the latest."""


def test_the_record_that_all_facts_fit_is_found_from_both_ends():
    trail = Trail(PICKY, FACTS, ROWS)
    gold = {"calls": [{"name": "cancel_order", "arguments": {"order_id": "O-4", "reason": "unknown"}}]}
    assert solve(trail) == verify(trail) == gold


def test_two_records_that_fit_are_refused():
    twice = (*ROWS, Row("A-4", "M-3", 1, ROWS[5].fields), order("O-9", "A-4", "2031-03-01", 12_000))
    with pytest.raises(ValueError, match="2 records fit"):
        verify(Trail(PICKY, FACTS, twice))


@pytest.mark.parametrize("rung", FAMILY.rungs)
def test_the_world_answers_every_step_of_the_right_way(rung):
    made = item(FAMILY, rung, 1)
    results = played.results(build(FAMILY, rung, 1, made), FAMILY.right(made)[0])
    assert results[-1] == '{"done": true}'
    assert NOT_EXECUTED not in results


@pytest.mark.parametrize("rung", FAMILY.rungs)
def test_every_right_way_fits_into_the_rounds(rung):
    made = item(FAMILY, rung, 1)
    case = build(FAMILY, rung, 1, made)
    for replies in FAMILY.right(made):
        assert len(replies) <= case.dialogue.max_rounds


def test_ids_stand_in_no_request():
    for rung in FAMILY.rungs:
        made = item(FAMILY, rung, 2)
        assert not [row.id for row in made.instance.rows if row.id in made.draft.prompt]


def test_a_homonym_is_met_only_where_the_request_tells_them_apart():
    made = item(FAMILY, "L2", 1).instance
    homonyms = [row for row in made.rows if row.level == 0]
    assert len(homonyms) == 2
    assert len({row["town"] for row in homonyms}) == 2
    with pytest.raises(ValueError, match="0 records fit"):
        verify(replace(made, facts=replace(made.facts, town="Nowhere")))
