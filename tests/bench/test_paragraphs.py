from __future__ import annotations

import string

import pytest

from crucibleforge.bench._facts import LIMIT
from crucibleforge.bench._paragraphs import TOPICS, values
from crucibleforge.families._draw import Draw
from crucibleforge.graders._gauge import words_of


@pytest.mark.parametrize("topic", TOPICS)
def test_a_paragraph_and_its_short_form_hold_every_fact_once(topic):
    kinds = sorted(values(Draw("x")))
    assert sorted(topic.labels) == kinds
    for text in (topic.long, topic.short):
        assert sorted(name for _, name, _, _ in string.Formatter().parse(text) if name) == kinds


@pytest.mark.parametrize("topic", TOPICS)
def test_a_paragraph_must_lose_half_its_words_and_the_short_form_has_room(topic):
    facts = values(Draw("x"))
    assert len(words_of(topic.long.format(**facts))) >= 2 * LIMIT
    assert len(words_of(topic.short.format(**facts))) <= LIMIT * 2 // 3


def test_no_number_of_a_paragraph_can_be_taken_for_another():
    for number in range(200):
        facts = values(Draw(number))
        share, day = int(facts["share"].split()[0]), int(facts["date"].split()[0])
        year, total = int(facts["date"].split()[2]), int(facts["total"].replace(",", ""))
        assert len({share, day, year, total}) == 4
        assert total > 9999
        assert share > 31 >= day > 12
