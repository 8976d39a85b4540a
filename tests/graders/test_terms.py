from __future__ import annotations

from itertools import product

from crucibleforge.graders._terms import DEFINITIONS, clash, definitions
from crucibleforge.graders._vocabulary import VOCABULARY, gauge


def test_a_prompt_defines_just_the_terms_that_its_rules_use():
    assert definitions(["lowercase"]) == []
    assert definitions(["line_count", "word_count", "word_count"]) == [DEFINITIONS["word"], DEFINITIONS["line"]]


def test_rules_clash_both_ways_and_with_themselves_unless_they_can_be_about_different_things():
    assert all(clash(one, other) == clash(other, one) for one, other in product(VOCABULARY, repeat=2))
    assert clash("line_count", "line_count")
    assert not clash("contains_word", "contains_word")
    assert clash("uppercase", "lowercase")
    assert not clash("line_count", "word_count")


def test_the_definition_of_a_word_says_what_is_counted():
    assert gauge("word_count", {"min": 4, "max": 4}).test("so well-kept is one") == ""
    assert "so well-kept is one word" in DEFINITIONS["word"]
