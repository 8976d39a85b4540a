from statistics import correlation

import made
import pytest

from crucibleforge.report.difficulty import difficulties, gathered, to_read
from crucibleforge.report.scorecard import Source
from crucibleforge.types import Job, Row

EASY = [made.case(f"math/f/L1.{n}", hash=f"e{n}") for n in (1, 2)]
HARD = [made.case(f"math/f/L4.{n}", hash=f"h{n}") for n in (1, 2)]
OTHER = made.case("coding/g/L2.1", hash="g1")
RESERVE = made.case("math/f/L5.1", hash="r1")
SUITE = [OTHER, *EASY, *HARD, RESERVE]


def row(case, outcome="pass", label="m", repeat=1, text="ANSWER: 41", why="got 41, expected 42", **fields):
    attempt = made.attempt(case, made.reply(text), label=label, repeat=repeat)
    given = (
        None
        if outcome is None
        else made.verdict(case, outcome, label, repeat, why="" if outcome == "pass" else why, **fields)
    )
    return Row(Job(label, case.id, repeat), case, attempt, given)


def rows_of(label, marks, cases=SUITE):
    """One row a case: `+` passes, `-` fails, a blank was not asked."""
    return [
        row(case, "pass" if mark == "+" else "fail", label)
        for case, mark in zip(cases, marks, strict=True)
        if mark != " "
    ]


def source(rows, *, cases=SUITE, **fields):
    labels = dict.fromkeys(row.job.label for row in rows)
    return Source(
        made.plan(cases, *(made.target(label, **fields.pop("target", {})) for label in labels), **fields), rows
    )


def evidence(*rows, suite=SUITE):
    return gathered([source(list(rows))], suite)


def rung(found, name, family="math/f"):
    return next(one for one in difficulties(found) if (one.family, one.rung) == (family, name))


def panel(**marks):
    return evidence(*(row for label, of in marks.items() for row in rows_of(label, of)))


def test_rungs_come_by_family_and_rung_with_their_counts():
    found = difficulties(evidence(*rows_of("a", "+++---"), *rows_of("b", "++    ")))
    assert [(one.family, one.rung, one.models, one.items, one.rows, one.rate.passed) for one in found] == [
        ("coding/g", "L2", 2, 1, 2, 2),
        ("math/f", "L1", 2, 2, 3, 3),
        ("math/f", "L4", 1, 2, 2, 0),
        ("math/f", "L5", 1, 1, 1, 0),
    ]


def test_the_interval_takes_repeats_of_one_case_as_one():
    one = rung(evidence(row(HARD[0]), row(HARD[1], "fail")), "L4")
    three = rung(
        evidence(
            *(row(case, end, repeat=n) for n in (1, 2, 3) for case, end in zip(HARD, ("pass", "fail"), strict=True))
        ),
        "L4",
    )
    assert (three.rate.passed, three.rate.total) == (3, 6)
    assert (three.rate.low, three.rate.high) == pytest.approx((one.rate.low, one.rate.high))
    assert (one.rate.low, one.rate.high) == pytest.approx((0.0945, 0.9055), abs=1e-4)


def test_replies_that_were_cut_off_or_not_read_are_shares_of_the_rows():
    found = rung(
        evidence(
            row(HARD[0], "truncated", why="TRUNCATED at 9 tokens; unparsed: no number"),
            row(HARD[1], "fail", why="unparsed: two answers"),
            row(HARD[0], "pass", "n"),
            row(HARD[1], "fail", "n", why="it was unparsed"),
        ),
        "L4",
    )
    assert (found.truncated, found.unparsed, found.rows) == (0.25, 0.25, 4)


def test_discrimination_is_the_mean_correlation_of_an_item_with_the_rest():
    #        OTHER EASY  HARD  RESERVE
    marks = {"a": "++++++", "b": "++++--", "c": "+++---", "d": "-+---+"}
    hard = [[1, 1, 0, 0], [1, 0, 0, 0]]
    rests = [[4 / 4, 3 / 4, 3 / 4, 1 / 4], [4 / 4, 4 / 4, 3 / 4, 1 / 4]]
    expected = [correlation(own, rest) for own, rest in zip(hard, rests, strict=True)]
    found = rung(panel(**marks), "L4")
    assert (found.discrimination, found.discriminating) == (pytest.approx(sum(expected) / 2), 2)


def test_the_reserve_is_no_part_of_the_rest():
    with_it, without = (
        {label: f"{of}{end}" for label, of in zip("abc", ("++++-", "+++--", "-+---"), strict=True)} for end in "+-"
    )
    assert rung(panel(**with_it), "L4") == rung(panel(**without), "L4")


def test_the_rest_is_what_all_of_the_models_were_asked():
    found = rung(panel(a="+++++ ", b="-++++ ", c="-  -- "), "L4")
    assert found.discrimination == pytest.approx((correlation([1, 1, 0], [1, 0.5, 0]) * 2) / 2)


@pytest.mark.parametrize(
    "marks",
    [
        {"a": "++++++", "b": "------"},
        {"a": "++++++", "b": "++-+++", "c": "-+-+++"},
        {"a": "   + +", "b": "   - -", "c": "   + -"},
    ],
    ids=["two models", "all did alike", "nothing else was asked"],
)
def test_discrimination_that_cannot_be_told_is_none(marks):
    found = difficulties(panel(**marks))
    hard = next(one for one in found if one.rung == "L4")
    assert (hard.discrimination, hard.discriminating) == (None, 0)


def test_models_that_are_alike_but_for_rounding_are_alike():
    third = [
        row(case, "pass" if n == 1 else "fail", label, n)
        for label in "abc"
        for case in [*EASY, OTHER]
        for n in (1, 2, 3)
    ]
    own = [row(HARD[0], end, label) for label, end in zip("abc", ("pass", "fail", "pass"), strict=True)]
    assert rung(evidence(*third, *own), "L4").discrimination is None


def test_three_models_at_ninety_percent_make_a_rung_saturated():
    assert rung(panel(a="++++++", b="+++--+", c="+++---"), "L1").flag == "saturated"
    assert rung(panel(a="++++++", b="+++--+", c="++----"), "L1").flag == ""
    assert rung(panel(a="++++++", b="+++--+"), "L1").flag == ""


def test_what_three_models_never_pass_may_be_impossible():
    assert rung(panel(a="+++--+", b="+++--+", c="+++---"), "L4").flag == "impossible"
    assert rung(panel(a="+++--+", b="+++--+", c="+++-+-"), "L4").flag == ""
    assert rung(panel(a="+++--+", b="+++--+"), "L4").flag == ""


SIX = {"a": "++++++", "b": "++++++", "c": "+++++-", "d": "+++---", "e": "-++---", "f": "--+---"}


def test_up_to_five_models_a_label_is_structural():
    found = panel(**{label: SIX[label] for label in "abcde"})
    assert (rung(found, "L4").label, rung(found, "L4").basis) == ("hard", "structural")
    assert rung(found, "L1").label == "easy"


def test_from_six_models_a_rung_is_hard_when_the_middle_passes_half_or_less():
    found = panel(**SIX)
    assert [(one.rung, one.label, one.basis) for one in difficulties(found)] == [
        ("L2", "not hard", "operational"),
        ("L1", "not hard", "operational"),
        ("L4", "hard", "operational"),
        ("L5", "hard", "operational"),
    ]


def test_the_strongest_and_weakest_do_not_decide_what_is_hard():
    marks = SIX | {"g": "++++++", "h": "++++++"}
    assert rung(panel(**marks), "L4").label == "not hard"


def test_a_row_without_a_verdict_says_nothing():
    found = evidence(row(EASY[0]), row(EASY[1], None), row(HARD[0], "skipped"), row(HARD[1], "pending"))
    assert [(one.rung, one.rows) for one in difficulties(found)] == [("L1", 1)]


def test_the_newest_verdict_about_a_question_counts():
    found = gathered([source(rows_of("a", "------")), source(rows_of("a", "++    "))], SUITE)
    assert (rung(found, "L1").rate.passed, rung(found, "L1").rate.total) == (1, 2)


def test_rows_of_an_older_question_are_counted_as_stale():
    older = made.case(HARD[0].id, hash="older")
    found = gathered([source([row(older), row(HARD[1])])], SUITE)
    assert (found.stale, len(found.rows["m"])) == (1, 1)


def test_questions_of_a_fresh_form_count_as_they_are():
    drawn = made.case(HARD[0].id, hash="drawn")
    found = gathered([source([row(HARD[0])]), source([row(drawn, "fail")], form="some-key")], SUITE)
    assert (found.stale, rung(found, "L4").items, rung(found, "L4").rows) == (0, 2, 2)


def test_a_label_that_became_another_model_is_the_newest_one():
    old, new = source(rows_of("a", "++++++"), target={"model_id": "old"}), source(rows_of("a", "-     "))
    assert [one.rows for one in difficulties(gathered([old, new], SUITE))] == [1]


def test_what_a_good_model_missed_is_to_be_read():
    good = [row(case, label="good") for case in [*EASY, HARD[0]]]
    found = to_read(evidence(*good, row(HARD[1], "fail", "good", text="So it is\n\nANSWER: 41")), SUITE)
    (one,) = found
    assert (one.case_id, one.case_hash, one.expected) == ("math/f/L4.2", "h2", "42")
    (miss,) = one.misses
    assert (miss.label, miss.passed, miss.total, miss.outcome) == ("good", 3, 4, "fail")
    assert (miss.why, miss.answer) == ("got 41, expected 42", "So it is ANSWER: 41")


def test_what_only_poor_models_missed_is_not():
    assert to_read(panel(a=" ++-- ", b=" +--- "), SUITE) == ()


def test_a_category_is_judged_by_itself():
    found = to_read(panel(a="-+++  "), SUITE)
    assert found == ()


def test_a_cut_reply_says_nothing_of_its_question():
    rows = [*rows_of("a", " +++  "), row(HARD[1], "truncated", "a")]
    assert to_read(evidence(*rows), SUITE) == ()


def test_the_reserve_is_read_too_but_makes_no_model_good():
    assert [one.case_id for one in to_read(panel(a=" ++---"), SUITE)] == []
    assert [one.case_id for one in to_read(panel(a=" +++--"), SUITE)] == ["math/f/L4.2", "math/f/L5.1"]


def test_what_most_models_missed_comes_first():
    found = to_read(panel(a=" ++-+ ", b=" +++- ", c=" +++- "), SUITE)
    assert [(one.case_id, len(one.misses)) for one in found] == [("math/f/L4.2", 2), ("math/f/L4.1", 1)]


def test_questions_of_fresh_forms_are_not_for_the_list():
    drawn = made.case(HARD[0].id, hash="drawn")
    runs = [source(rows_of("a", " ++++ ")), source([row(drawn, "fail", "a")], form="some-key")]
    assert to_read(gathered(runs, SUITE), SUITE) == ()


def test_the_end_of_a_long_answer_is_shown_in_one_harmless_line():
    good = [row(case, label="m") for case in [*EASY, HARD[0]]]
    text = "blah " * 5000 + "\x1b[2J\nANSWER: 41"
    (one,) = to_read(evidence(*good, row(HARD[1], "fail", text=text)), SUITE)
    answer = one.misses[0].answer
    assert len(answer) <= 120
    assert answer.startswith("...")
    assert answer.endswith("?[2J ANSWER: 41")
