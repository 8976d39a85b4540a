import made
import pytest

from crucibleforge.report.scorecard import Overall, Part, Rate, categories, failures, invalid, overall
from crucibleforge.types import Failure, Recovery, Row

CASES = [made.case(f"math/sum/L1.{number}") for number in range(1, 6)]


def row(outcome, number=1, reply=None, **fields):
    case = CASES[number - 1]
    attempt = made.attempt(case, *([reply] if reply else []), **fields)
    return Row(attempt.job, case, attempt, made.verdict(case, outcome))


def rows(*outcomes):
    return [row(outcome, number) for number, outcome in enumerate(outcomes, start=1)]


def test_delivered_is_over_all_counted_and_the_other_over_those_that_answered():
    (score,) = categories(rows("pass", "fail", "truncated", "unanswered", "refused"), CASES, {})
    assert (score.rate.passed, score.rate.total) == (1, 5)
    assert (score.when_answered.passed, score.when_answered.total) == (1, 2)
    assert score.lost == Part(2, 5)


def test_where_nothing_was_lost_both_are_the_same():
    (score,) = categories(rows("pass", "fail", "partial"), CASES, {})
    assert (score.rate, score.lost) == (score.when_answered, Part(0, 3))


def test_rows_that_are_not_counted_are_not_lost_either():
    (score,) = categories(rows("pass", "skipped", "pending"), CASES, {})
    assert (score.rate.total, score.lost) == (1, Part(0, 1))


def test_a_recovered_answer_is_delivered_and_counted_apart():
    recovery = Recovery(0, "overflow", (made.reply("", reasoning="hm", finish="length"),), "no_think")
    (score,) = categories([row("pass", recoveries=(recovery,)), row("pass", 2)], CASES, {})
    assert (score.rate.passed, score.when_answered.passed, score.recovered) == (2, 2, 1)


def test_an_attempt_to_recover_that_brought_nothing_recovers_nothing():
    recovery = Recovery(0, "overflow", (made.reply("", reasoning="hm", finish="length"),))
    (score,) = categories([row("truncated", recoveries=(recovery,))], CASES, {})
    assert (score.recovered, score.lost) == (0, Part(1, 1))


def test_an_overall_needs_rows_in_every_category_that_counts():
    half, none = Rate(1, 2, 0.1, 0.9), Rate(0, 0, None, None)
    assert overall([(1.0, half), (1.0, none)]) is None
    assert overall([(1.0, half), (0.0, none)]) == Overall(50.0, pytest.approx(10.0), pytest.approx(90.0))
    assert overall([]) is None


THOUGHT = made.reply("", reasoning="hm")
TAGGED = made.reply("<think>hm")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ([], ""),
        (rows("skipped"), ""),
        (rows("truncated", "truncated", "skipped"), "every reply was cut off"),
        (rows("truncated", "fail"), ""),
        (rows("truncated", "pass"), ""),
        ([row("unanswered", 1, THOUGHT), row("unanswered", 2, TAGGED)], "every reply stopped inside its reasoning"),
        ([row("truncated"), row("unanswered", 2, THOUGHT)], "every reply was cut off or stopped inside its reasoning"),
        ([row("truncated"), row("unanswered", 2, made.reply(""))], ""),
    ],
)
def test_a_model_is_invalid_iff_every_counted_row_was_cut_off_or_lost_in_reasoning(found, why):
    assert invalid(found) == why


def test_every_row_that_did_not_pass_has_its_reason():
    case = CASES[0]
    failed = made.failed(case, failure=Failure("timeout", "no reply in time", 1))
    found = failures([row("pass"), row("fail", 2), Row(failed.job, case, failed)])
    assert [(one.case_id, one.outcome, one.why) for one in found] == [
        (CASES[1].id, "fail", ""),
        (case.id, "error", "no reply in time (1 try)"),
    ]


def test_a_row_that_failed_keeps_the_seed_of_its_hidden_inputs():
    case = CASES[0]
    marked = Row(made.attempt(case).job, case, made.attempt(case), made.verdict(case, "fail", seed="ab"))
    assert [one.seed for one in failures([marked])] == ["ab"]
