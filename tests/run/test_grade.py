import made
import msgspec

from crucibleforge.run.grade import current, skipped, verdict
from crucibleforge.types import Grading, Job, Row


def never(_program):
    raise AssertionError("nothing is to be run")


def test_a_verdict_is_the_graders_finding_about_this_job():
    case = made.case()
    found = verdict(case, made.attempt(case, made.reply("ANSWER: 41"), label="n", repeat=2), never)
    assert (found.job, found.outcome, found.why, found.grader) == (Job("n", case.id, 2), "fail", "got 41, expected 42", "numeric@1")


def test_marking_twice_gives_the_same_bytes():
    case = made.case()
    pair = [msgspec.json.encode(verdict(case, made.attempt(case), never)) for _ in range(2)]
    assert pair[0] == pair[1]


def test_a_skipped_row_says_what_would_fit():
    row = Row(Job("m", "x", 1), made.case())
    assert (skipped(row, 9000, 4096).outcome, skipped(row, 9000, 4096).why) == (
        "skipped",
        "needs up to 9,000 tokens of context, 4,096 served",
    )


def test_the_same_question_is_marked_by_todays_rule():
    old = made.case(expected=41)
    new = made.case(expected=42, grading=Grading("exact", {}))
    assert current(old, [new]) == new


def test_another_question_keeps_its_own_rule():
    old = made.case(expected=41)
    assert current(old, [made.case(hash="another")]) == old
