import made
import msgspec
import pytest

from crucibleforge.chat import Timing, Usage
from crucibleforge.report.board import board
from crucibleforge.report.scorecard import Part, Source
from crucibleforge.store.fold import fold
from crucibleforge.types import Adapted, Failure, Price

A = made.case("math/sum/L1.1")
B = made.case("math/sum/L3.1")
C = made.case("coding/f/L1.1")
SUITE = [A, B, C]
BY_ID = {case.id: case for case in SUITE}
ALL_PASS = [event for case in SUITE for event in (made.attempt(case), made.verdict(case))]


def run(*events, plan=None, cases=SUITE, adapted=()):
    plan = plan or made.plan(cases)
    return Source(plan, fold(plan, {case.id: case for case in cases}, events), adapted)


def card(*runs, weights=None):
    return board(runs, SUITE, weights or {}, "now").cards[0]


def rates(found):
    return {score.name: (score.rate.passed, score.rate.total) for score in found.categories}


def test_a_complete_run_has_a_total_and_raw_counts():
    found = card(run(*ALL_PASS[:-1], made.verdict(C, "fail")))
    assert rates(found) == {"math": (2, 2), "coding": (0, 1)}
    assert (found.overall.percent, found.settled, found.planned) == (50.0, 3, 3)
    assert found.overall.low < 50.0 < found.overall.high


def test_a_partial_run_has_neither_total_nor_rank_and_says_so():
    found = card(run(*ALL_PASS[:2]))
    assert (found.overall, found.notes) == (None, ("partial (1/3 cases)",))


def test_a_skipped_case_is_in_no_denominator_and_makes_the_run_partial():
    found = card(run(*ALL_PASS[:4], made.verdict(C, "skipped", why="too long")))
    assert rates(found) == {"math": (2, 2), "coding": (0, 0)}
    assert (found.overall, found.notes) == (None, ("partial (2/3 cases)", "1 skipped: context too small"))


def test_an_error_of_ours_is_shown_and_never_scored():
    failed = made.failed(C, failure=Failure("transport", "gone", 3))
    found = card(run(*ALL_PASS[:4], failed))
    assert (rates(found)["coding"], found.errors) == ((0, 0), 1)
    assert found.notes == ("partial (2/3 cases)", "1 errored, not scored")
    assert [(f.outcome, f.why) for f in found.failures] == [("error", "gone (3 tries)")]


@pytest.mark.parametrize("outcome", ["fail", "partial", "refused", "truncated", "unanswered"])
def test_whatever_is_no_pass_counts_as_none(outcome):
    found = card(run(*ALL_PASS[:-1], made.verdict(C, outcome, why="because")))
    assert rates(found)["coding"] == (0, 1)
    assert [(f.case_id, f.outcome, f.why) for f in found.failures] == [(C.id, outcome, "because")]


def test_a_category_of_weight_nought_is_shown_and_not_counted():
    found = card(run(*ALL_PASS[:-1], made.verdict(C, "fail")), weights={"coding": 0.0})
    assert (rates(found)["coding"], found.overall.percent) == ((0, 1), 100.0)


def test_runs_of_parts_come_together():
    one, two = run(*ALL_PASS[:4], cases=[A, B]), run(*ALL_PASS[4:], cases=[C])
    assert card(one, two).overall.percent == 100.0


def test_the_newest_settled_row_counts():
    old, new = run(*ALL_PASS), run(made.attempt(A), made.verdict(A, "fail"), made.failed(B))
    assert rates(card(old, new)) == {"math": (1, 2), "coding": (1, 1)}


def test_another_model_under_the_same_label_is_not_mixed_in():
    newer = run(*ALL_PASS[:2], plan=made.plan(SUITE, made.target(model_id="y")))
    found = card(run(*ALL_PASS), newer)
    assert (found.model_id, found.settled) == ("y", 1)


def test_a_new_price_is_no_other_model():
    newer = run(*ALL_PASS[:2], plan=made.plan(SUITE, made.target(price=Price(1, 1))))
    assert card(run(*ALL_PASS), newer).settled == 3


def test_rows_of_an_older_question_do_not_count():
    old = msgspec.structs.replace(A, hash="old")
    found = card(run(made.attempt(old), made.verdict(old), *ALL_PASS[2:], cases=[old, B, C]))
    assert (found.settled, found.notes) == (2, ("partial (2/3 cases)", "1 row of an older suite not counted"))


def test_repeats_count_as_rows_and_not_as_more_cases():
    plan = made.plan(SUITE, repeats=2)
    twice = [e for case in SUITE for n in (1, 2) for e in (made.attempt(case, repeat=n), made.verdict(case, repeat=n))]
    found, once = card(run(*twice, plan=plan)), card(run(*ALL_PASS))
    assert rates(found) == {"math": (4, 4), "coding": (2, 2)}
    assert [s.rate.low for s in found.categories] == [s.rate.low for s in once.categories]


def timed(tokens, seconds):
    return made.reply(usage=Usage(5, tokens), timing=Timing(9.0, first_content_s=1.0, last_token_s=1.0 + seconds))


def test_speed_is_the_median_of_replies_that_were_alone():
    events = [
        made.attempt(A, timed(21, 1.0)),
        made.attempt(B, timed(41, 1.0)),
        made.attempt(C, timed(999, 1.0), in_flight=2),
    ]
    assert (card(run(*events)).speed.tok_per_s, card(run(*events)).speed.n, card(run(*events)).speed.alone) == (30.0, 2, True)


def test_speed_beside_other_requests_says_so():
    found = card(run(made.attempt(A, timed(21, 1.0), in_flight=2)))
    assert (found.speed.alone, found.notes[-1]) == (False, "tok/s beside other requests")


def test_tokens_and_cost_are_summed_and_a_missing_cost_makes_the_sum_unknown():
    priced = [made.attempt(case, cost_usd=0.5) for case in SUITE]
    found = card(run(*priced))
    assert (found.prompt_tokens, found.completion_tokens, found.cost_usd) == (30, 60, 1.5)
    assert card(run(*priced[:2], made.attempt(C))).cost_usd is None


def test_code_that_ran_without_a_sandbox_is_noted():
    assert card(run(*ALL_PASS[:-1], made.verdict(C, isolation="none"))).notes == ("code ran without a sandbox",)


def test_the_board_ranks_complete_models_first_best_first():
    plan = made.plan(SUITE, made.target("low"), made.target("part"), made.target("high"))
    events = [e for case in SUITE for e in (made.attempt(case, label="high"), made.verdict(case, label="high"))]
    events += [e for case in SUITE for e in (made.attempt(case, label="low"), made.verdict(case, "fail", label="low"))]
    events += [made.attempt(A, label="part"), made.verdict(A, label="part")]
    found = board([run(*events, plan=plan)], SUITE, {}, "now")
    assert [one.label for one in found.cards] == ["high", "low", "part"]


def test_a_planned_model_that_was_never_asked_has_no_line():
    plan = made.plan(SUITE, made.target("m"), made.target("n"))
    assert [one.label for one in board([run(*ALL_PASS, plan=plan)], SUITE, {}, "now").cards] == ["m"]


def test_both_numbers_and_the_lost_are_told_apart():
    found = card(run(*ALL_PASS[:2], made.attempt(B), made.verdict(B, "truncated"), *ALL_PASS[4:]))
    assert (found.overall.percent, found.when_answered.percent, found.lost) == (75.0, 100.0, Part(1, 3))


def test_where_a_category_brought_no_answer_there_is_no_score_when_answered():
    found = card(run(*ALL_PASS[:4], made.attempt(C), made.verdict(C, "truncated")))
    assert (found.overall.percent, found.when_answered) == (50.0, None)


def test_a_model_whose_every_reply_was_cut_off_is_invalid_and_not_nought():
    plan = made.plan(SUITE, made.target("cut"), made.target("low"))
    events = [made.attempt(case, made.reply("", finish="length"), label="cut") for case in SUITE]
    events += [made.verdict(case, "truncated", label="cut") for case in SUITE]
    events += [made.attempt(case, label="low") for case in SUITE]
    events += [made.verdict(case, "fail", label="low") for case in SUITE]
    found = board([run(*events, plan=plan)], SUITE, {}, "now")
    low, cut = found.cards
    assert (low.label, low.overall.percent, low.invalid) == ("low", 0.0, "")
    assert (cut.overall, cut.when_answered, cut.notes[0]) == (None, None, "INVALID: every reply was cut off")
    assert [(alarm.label, alarm.kind) for alarm in found.alarms] == [("cut", "invalid")]


def test_what_was_learnt_about_a_model_is_noted_once_and_about_no_other():
    learnt = tuple(Adapted(label=label, at="t", what=f"{label} refused seed") for label in ("m", "m", "n"))
    assert card(run(*ALL_PASS, adapted=learnt)).notes == ("m refused seed",)
    newer = run(*ALL_PASS, plan=made.plan(SUITE, made.target(model_id="y")))
    assert card(run(*ALL_PASS, adapted=learnt), newer).notes == ()


RESERVE = made.case("math/sum/L5.1")


def test_the_reserve_is_shown_and_never_counted():
    plain = card(run(*ALL_PASS))
    asked = run(*ALL_PASS, made.attempt(RESERVE), made.verdict(RESERVE, "fail"), cases=[*SUITE, RESERVE])
    found = card(asked)
    assert (found.overall, found.categories, found.settled, found.planned) == (plain.overall, plain.categories, 3, 3)
    assert (found.failures, found.notes) == ((), ("reserve: 0 of 1 passed, not counted",))


def test_a_reserve_that_was_asked_alone_is_shown_all_the_same():
    found = card(run(made.attempt(RESERVE), made.verdict(RESERVE), cases=[RESERVE]))
    assert (found.overall, found.invalid, found.settled) == (None, "", 0)
    assert found.notes == ("partial (0/3 cases)", "reserve: 1 of 1 passed, not counted")


def test_of_a_reserve_that_was_asked_twice_the_newest_settled_row_is_shown():
    runs = [run(made.attempt(RESERVE), made.verdict(RESERVE, outcome), cases=[RESERVE]) for outcome in ("pass", "fail")]
    unsettled = run(made.failed(RESERVE), cases=[RESERVE])
    assert card(*runs, unsettled).notes[-1] == "reserve: 0 of 1 passed, not counted"
