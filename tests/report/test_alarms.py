import made
import pytest

from crucibleforge.chat import Usage
from crucibleforge.report.alarms import alarms
from crucibleforge.report.board import board
from crucibleforge.report.scorecard import Source
from crucibleforge.store.fold import fold

SUITE = [made.case(f"{category}/f/L1.{number}") for category in ("coding", "math") for number in range(1, 11)]


def reply(finish, tokens, **fields):
    return made.reply(finish=finish, usage=Usage(1, tokens), **fields)


def raised(answers):
    """Alarms about a model that answered the suite's cases in turn with (outcome, reply)."""
    pairs = list(zip(SUITE, answers, strict=False))
    events = [made.attempt(case, said, max_tokens=400) for case, (_, said) in pairs]
    events += [made.verdict(case, outcome) for case, (outcome, _) in pairs]
    plan = made.plan(SUITE)
    rows = fold(plan, {case.id: case for case in SUITE}, events)
    card = board([Source(plan, rows)], SUITE, {}, "now").cards[0]
    return [(alarm.kind, alarm.text) for alarm in alarms(card, rows)]


def mixed(cut, finished, tokens=20, **fields):
    """`cut` replies that were cut off at 400 tokens, `finished` ones of `tokens`, half of which pass."""
    done = [("pass" if number % 2 else "fail", reply("stop", tokens)) for number in range(finished)]
    return [*done, *[("truncated", reply("length", 400, **fields))] * cut]


def test_an_ordinary_model_raises_none():
    assert raised(mixed(0, 20)) == []


@pytest.mark.parametrize(("cut", "kinds"), [(3, []), (4, ["cut_off"])])
def test_more_than_three_in_ten_cut_off_is_an_alarm(cut, kinds):
    assert [kind for kind, _ in raised(mixed(cut, 10 - cut))] == kinds


def test_the_budget_that_would_do_is_what_nearly_all_that_finished_took():
    ((_, text),) = raised(mixed(4, 6, tokens=1234))
    assert text == (
        "40% of replies were cut off at their budget (4 of 10): a budget of about 1,300 tokens would do "
        "(95% of the 6 that finished took no more)"
    )


def test_where_only_short_replies_finished_they_say_nothing_about_the_long_ones():
    ((_, text),) = raised(mixed(4, 6, tokens=399))
    assert text == (
        "40% of replies were cut off at their budget (4 of 10): allow at least 800 tokens, twice the most that was "
        "used up; if they repeat themselves, none will do"
    )


def test_a_model_that_reasons_is_told_the_settings():
    ((_, text),) = raised(mixed(4, 6, reasoning="hm"))
    assert text.endswith("used up; `thinking_max_tokens_factor` and `thinking_max_tokens_cap` set it")


def test_a_cut_reply_without_a_count_took_what_was_sent():
    ((_, text),) = raised([*mixed(0, 6), *[("truncated", reply("length", None))] * 4])
    assert "at least 800 tokens" in text


def test_a_model_without_any_answer_is_invalid_and_told_so_once():
    ((kind, text),) = raised([("truncated", reply("length", 400, reasoning="hm"))] * 20)
    assert kind == "invalid"
    assert text == (
        "INVALID: every reply was cut off (20 of 20 rows), so no score is known; allow at least 800 tokens, twice the "
        "most that was used up; `thinking_max_tokens_factor` and `thinking_max_tokens_cap` set it"
    )


def test_one_that_stopped_in_its_reasoning_by_itself_needs_no_budget():
    ((kind, text),) = raised([("unanswered", made.reply("", reasoning="hm"))] * 20)
    assert (kind, text) == (
        "invalid",
        "INVALID: every reply stopped inside its reasoning (20 of 20 rows), so no score is known",
    )


@pytest.mark.parametrize(("count", "is_alarm"), [(4, False), (5, True)])
@pytest.mark.parametrize(("outcome", "kind"), [("fail", "all_failed"), ("pass", "all_passed")])
def test_a_block_of_five_at_either_end_is_an_alarm(count, is_alarm, outcome, kind):
    assert [found for found, _ in raised([(outcome, made.reply())] * count)] == [kind] * is_alarm


def test_blocks_at_one_end_share_an_alarm_that_tells_the_lost_from_the_failed():
    answers = [("fail", made.reply())] * 8 + [("truncated", reply("length", 400))] * 2 + [("fail", made.reply())] * 10
    assert raised(answers) == [
        (
            "all_failed",
            "0% in coding (10 of 10 failed, 2 of them lost), math (10 of 10 failed); look at a few before you believe it",
        )
    ]


def test_all_passed_reads_as_all_failed_does():
    assert raised([("pass", made.reply())] * 10) == [
        ("all_passed", "100% in coding (10 of 10 passed); look at a few before you believe it")
    ]
