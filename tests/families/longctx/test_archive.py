from __future__ import annotations

import pytest

from crucibleforge import plugins
from crucibleforge.families._build import build, item
from crucibleforge.families._draw import Draw
from crucibleforge.families.longctx._archive import found, spread, worded
from crucibleforge.types import RUNGS

FORMS = ("{who} sold {count} hats.", "it was {who} who sold {count} hats.", "{count} hats were sold by {who}.")
FIELDS = {"who": "[A-Z][a-z]+", "count": "[0-9]+"}


@pytest.mark.parametrize("part", range(5))
def test_each_needle_lies_in_a_part_of_its_own(part):
    order = spread(Draw("spread"), range(5), range(100, 145))
    assert len([one for one in order[part * 10 : part * 10 + 10] if one < 5]) == 1


def test_spreading_keeps_everything():
    assert sorted(spread(Draw("spread"), range(5), range(5, 50))) == list(range(50))


@pytest.mark.parametrize("form", [*range(60), *(1 << bit for bit in range(6, 40))])
def test_a_statement_is_read_back_from_whatever_stands_around_it(form):
    line = worded(FORMS, form, {"who": "Ada", "count": "3"})
    assert list(found(FORMS, FIELDS, line)) == [{"who": "Ada", "count": "3"}]


def test_half_a_sentence_states_nothing():
    assert not list(found(FORMS, FIELDS, "Nobody believed that Ada sold 3 hats."))


@pytest.mark.parametrize("name", ["relay-registers", "tally-sheet", "not-there"])
@pytest.mark.parametrize(("rung", "context"), [*zip(RUNGS, (2048, 4096, 8192, 16_384, 32_768), strict=True)])
def test_prompt_and_reply_fit_the_context_of_the_rung(name, rung, context):
    family = plugins.find("families", f"longctx/{name}")
    case = build(family, rung, 1, item(family, rung, 1))
    assert context / 2 < case.needs.context_tokens <= context
