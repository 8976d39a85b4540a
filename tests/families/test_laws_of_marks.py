from __future__ import annotations

from adding import found

from crucibleforge.families._dress import alone, answers, said
from crucibleforge.types import Grading


def test_a_grader_that_accepts_a_near_miss_is_found():
    assert any(line.startswith("near miss 4 passes") for line in found(grading=Grading("numeric", {"tolerance": 1})))


def test_a_grader_that_accepts_every_answer_is_found():
    faults = found(grading=Grading("numeric", {"tolerance": 10**12}))
    assert any("passes against another answer" in line for line in faults)
    assert any(line.startswith("shortcut ") for line in faults)


def test_a_right_reply_that_is_refused_is_found():
    faults = found(right=lambda item: (*answers(item.answer), (said("I think it is a lot."),)))
    assert [line for line in faults if line.startswith("right reply 13 does not pass")]


def test_too_few_replies_of_a_kind_are_found():
    faults = found(right=lambda item: answers(item.answer)[:5], near_misses=lambda item: alone("ANSWER: 1"))
    assert "right gives 5 different dialogues, at least 12 are due" in faults
    assert "near_misses gives 1 different dialogues, at least 8 are due" in faults


def test_a_shortcut_that_passes_is_found():
    faults = found(shortcuts=lambda item: answers(item.answer)[:1])
    assert any(line.startswith("shortcut 7 passes 3 of 3 draws, lastly with: ANSWER: ") for line in faults)


def test_a_setting_that_the_grader_does_not_know_is_an_error_in_the_family():
    assert any("surprise" in line for line in found(grading=Grading("numeric", {"surprise": True})))
