from __future__ import annotations

import re
from collections import Counter
from math import log

import pytest

from crucibleforge.families._build import items
from crucibleforge.families.longctx._archive import FAMILY as NAMES
from crucibleforge.families.longctx._archive import Record
from crucibleforge.families.longctx.not_there import FAMILY, NOT_STATED, Muster, solve, verify

PILOT, COOK, GUNNER = (3, 2, 0), (3, 2, 1), (7, 0, 4)
ADA, BO = 4, 90


def held(asked, *facts):
    muster = Muster(asked, tuple(Record(what, told, form) for form, (what, told) in enumerate(facts)))
    answer = solve(muster)
    assert verify(muster) == answer
    return answer


def test_a_record_states_its_own_post_and_no_other():
    assert held((PILOT, COOK), ("fact", (*PILOT, ADA))) == [NAMES[ADA], NOT_STATED]


@pytest.mark.parametrize("what", ["wish", "denial"])
def test_a_wish_or_a_denial_states_nothing(what):
    assert held((PILOT,), (what, (*PILOT, ADA))) == [NOT_STATED]


def test_the_same_person_is_found_either_way_round():
    assert held((PILOT, GUNNER), ("same", (*GUNNER, *PILOT)), ("fact", (*GUNNER, ADA))) == [NAMES[ADA]] * 2


def test_the_same_person_of_whom_no_record_has_a_name_is_not_stated():
    assert held((PILOT,), ("same", (*PILOT, *GUNNER)), ("wish", (*GUNNER, BO))) == [NOT_STATED]


def test_another_person_is_not_the_same():
    assert held((PILOT,), ("differ", (*PILOT, *GUNNER)), ("fact", (*GUNNER, ADA))) == [NOT_STATED]


@pytest.mark.parametrize(
    "facts",
    [
        [("fact", (*PILOT, ADA)), ("fact", (*PILOT, BO))],
        [("fact", (*PILOT, ADA)), ("same", (*PILOT, *GUNNER)), ("denial", (*GUNNER, ADA))],
        [("fact", (*PILOT, ADA)), ("fact", (*GUNNER, ADA)), ("differ", (*PILOT, *GUNNER))],
    ],
)
def test_records_that_contradict_each_other_are_refused(facts):
    with pytest.raises(ValueError, match=r"two holders|denied|different"):
        held((PILOT,), *facts)


def best_match(lines, question):
    """The line that BM25 ranks first (Robertson and Zaragoza 2009, k1 1.2, b 0.75)."""
    texts = [re.findall(r"\w+", line.casefold()) for line in lines]
    among = Counter(word for text in texts for word in set(text))
    usual = sum(map(len, texts)) / len(texts)

    def score(number):
        text = texts[number]
        damp = 1.2 * (0.25 + 0.75 * len(text) / usual)
        return sum(
            log(1 + (len(texts) - among[word] + 0.5) / (among[word] + 0.5)) * many * 2.2 / (many + damp)
            for word, many in Counter(text).items()
            if word in question
        )

    return lines[max(range(len(lines)), key=score)]


@pytest.mark.slow
def test_searching_for_the_words_of_a_question_seldom_finds_its_answer():
    found = []
    for item in items(FAMILY, "L3", 12):
        _, records, questions, _ = item.draft.prompt.split("\n\n")
        for question, name in zip(questions.splitlines(), item.answer, strict=True):
            if name != NOT_STATED:
                found.append(name in best_match(records.splitlines(), re.findall(r"\w+", question.casefold())))
    assert len(found) > 10
    assert sum(found) <= 0.2 * len(found)
