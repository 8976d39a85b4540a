from __future__ import annotations

import pytest

from crucibleforge.families._build import items
from crucibleforge.families._draw import Draw
from crucibleforge.families.instruct._prose import BANK
from crucibleforge.families.instruct._rules import Rule, rule, spec
from crucibleforge.families.instruct._second import broken, measured
from crucibleforge.families.instruct._topics import TOPICS
from crucibleforge.families.instruct.bundle import FAMILY, Bundle, ask, verify
from crucibleforge.graders._terms import clash
from crucibleforge.graders.checks import built


def by_hand(*rules: Rule, text: str, mutants: tuple[str, ...]) -> Bundle:
    return Bundle("a harbor", ("boat",), rules, text, (), mutants)


def test_the_second_reading_finds_what_each_hand_made_mutant_breaks():
    rules = (
        rule("line_count", n=2),
        rule("rising_lines"),
        rule("forbids_letter", letter="e"),
        rule("words_from", words=("boat", "dock", "pier"), min=2),
    )
    # 4 and 6 words, no e, boat and dock.
    text = "A boat is out.\nA dock is not far off."
    mutants = (
        "A boat is out.\nA dock is not far off.\nAll of us wait for its tardy crowd.",
        "A boat is out now, I know.\nA dock is not far.",
        "A boat is there.\nA dock is not far off.",
        "A boat is out.\nA doc is not far off.",
    )
    answer = verify(by_hand(*rules, text=text, mutants=mutants))
    assert answer["values"] == [2, [4, 6], 0, ["boat", "dock"]]
    assert answer["breaks"] == [[0], [1], [2], [3]]


def test_a_witness_that_breaks_a_rule_is_no_witness():
    with pytest.raises(ValueError, match="rule 1 is broken by 'One"):
        verify(by_hand(rule("line_count", n=2), text="One.", mutants=("",)))


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["L2", "L3", "L4"])
def test_grader_and_second_reading_measure_alike_on_scrambled_texts(rung):
    draw = Draw("scrambled", rung)
    for item in items(FAMILY, rung, 4, first=9001):
        bundle = item.instance
        checks = built([spec(one) for one in bundle.rules])
        for _ in range(25):
            words = bundle.witness.split(" ")
            at = draw.below(len(words))
            words[at] = draw.pick(
                ("", "x\n", "BOAT,", "2nd", "it's", "- ", "'tis'", "\n\n", words[draw.below(len(words))])
            )
            text = " ".join(words).strip()
            assert [number for number, one in enumerate(checks) if one.gauge.test(text)] == broken(bundle.rules, text)
            kept = [number for number, one in enumerate(bundle.rules) if one.kind not in {"lowercase", "uppercase"}]
            assert [checks[number].gauge.measure(text) for number in kept] == [
                measured(bundle.rules[number], text) for number in kept
            ]


@pytest.mark.slow
@pytest.mark.parametrize("rung", FAMILY.rungs)
def test_no_two_rules_of_a_bundle_clash(rung):
    for item in items(FAMILY, rung, 3):
        kinds = [one.kind for one in item.instance.rules]
        assert not any(clash(one, other) for at, one in enumerate(kinds) for other in kinds[:at])


def test_every_topic_has_words_of_its_own_that_fillers_do_not_hold():
    fillers = {word for words in BANK.values() for word in words}
    for words in TOPICS.values():
        assert len({*words}) == 14
        assert not fillers & {*words}


def test_the_prompt_defines_what_its_rules_count():
    bundle = by_hand(rule("word_count", min=2, max=2), text="Two words.", mutants=("One",))
    assert "All lines together" not in ask(bundle).prompt
    assert "1. The text has exactly 2 words in all.\n\nA word is a run of letters, digits" in ask(bundle).prompt
