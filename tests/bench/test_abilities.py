from __future__ import annotations

from time import process_time

import pytest
from judged import SEED, asked, never, verdicts

from crucibleforge.bench import _median
from crucibleforge.bench.abilities import ABILITY, CHECKS, FITNESS, judge, questions, right
from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.errors import SandboxMissing
from crucibleforge.families import _hostile
from crucibleforge.families._dress import said
from crucibleforge.programs import Limits, Program, Raised, Ran, Returned

QUESTIONS = questions(SEED)


def by_right_median(program: Program) -> Ran:
    """What a right program gives, without running any."""
    return Ran(tuple(Returned([_median.median(call.args[0]), True]) for call in program.calls), "told")


def broken(program: Program) -> Ran:
    """What a wrong program gives, without running any."""
    return Ran((Raised("ValueError"),) * len(program.calls), "told")


def all_of(text_of, run=never, finish="stop", seed=SEED):
    return [one for question in questions(seed) for one in judge(question, said(text_of(question), finish), run)]


def test_the_eight_checks_are_answered_by_six_questions_in_the_order_of_the_screen():
    assert [check.key for check in CHECKS] == [
        "median", "pets", "shape", "evens", "facts", "outline", "structure", "brevity",
    ]  # fmt: skip
    assert [check for question in QUESTIONS for check in question.checks] == list(CHECKS)
    assert {check.kind for check in ABILITY} == {"ability"}
    assert {check.kind for check in FITNESS} == {"fitness"}


@pytest.mark.slow
def test_a_strong_model_passes_all_eight_over_two_hundred_seeds():
    for number in range(200):
        judged = all_of(right, by_right_median, seed=f"{number:x}")
        assert [one.outcome for one in judged] == ["pass"] * 8
        assert all(one.why and one.score == 1 for one in judged)


@pytest.mark.slow
def test_the_program_of_a_strong_model_passes_in_the_real_sandbox(sandbox):
    question = asked("median")
    (one,) = judge(question, said(right(question)), lambda program: sandbox.run(program, Limits()))
    assert (one.outcome, one.why) == ("pass", "14 of 14 hidden inputs right")
    assert one.isolation == sandbox.isolation
    sorting = right(question).replace("ordered = sorted(numbers)", "numbers.sort(); ordered = numbers")
    (one,) = judge(question, said(sorting), lambda program: sandbox.run(program, Limits()))
    assert one.outcome == "fail"
    assert one.why.endswith("changed its list")


def test_a_seed_gives_its_questions_again_and_another_one_gives_others():
    assert questions(SEED) == QUESTIONS
    others = questions(SEED + "1")
    assert all(
        one.case != other.case for one, other in zip(QUESTIONS, others, strict=True) if one.checks[0].key != "evens"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\t ",
        "I'm sorry, but I can't help with that.",
        "As an AI model I cannot access files, run programs, read logs, group them or count errors.",
        "Sure!",
        "{}",
        "<think>I had better think about it",
        "ANSWER: unknown",
    ],
)
def test_a_reply_that_says_nothing_passes_nothing(text):
    assert [one.outcome for one in all_of(lambda _: text)].count("pass") == 0


@pytest.mark.parametrize("dress", ["{}", "You said: {}", "> {}\n\nOkay.", "{0}\n\n{0}", "```\n{}\n```"])
def test_a_reply_that_echoes_the_question_passes_nothing(dress):
    for number in range(10):
        judged = all_of(lambda question: dress.format(question.messages[0].content), seed=f"{number}")
        assert [(one.key, one.why) for one in judged if one.outcome == "pass"] == []


def test_a_reply_that_was_cut_never_passes_and_nothing_of_it_is_run():
    judged = all_of(right, never, finish="length")
    assert {one.outcome for one in judged} == {"truncated"}
    assert all(one.why.startswith("TRUNCATED") for one in judged)
    assert judged[-1].why == f"TRUNCATED; so far {judged[-1].figure:.2f} times as long as the request, VERBOSE above 3"


def test_a_cut_reply_says_where_it_was_cut():
    usage = Usage(completion_tokens=512, reasoning_tokens=500)
    cut = Reply(text="", finish="length", usage=usage, timing=Timing(total_s=1.0), reasoning="hm")
    (one,) = judge(QUESTIONS[1], cut, never)
    assert (one.outcome, one.why) == ("truncated", "TRUNCATED at 512 tokens (500 reasoning tokens)")


@pytest.mark.parametrize(
    ("reply", "outcome", "why"),
    [
        (Reply(text="", finish="stop", usage=Usage(), timing=Timing(total_s=0.0)), "unanswered", "empty reply"),
        (
            Reply(text="", finish="stop", usage=Usage(), timing=Timing(total_s=0.0), reasoning="30"),
            "unanswered",
            "empty reply, stopped inside its reasoning",
        ),
        (
            Reply(text="", finish="content_filter", usage=Usage(), timing=Timing(total_s=0.0)),
            "refused",
            "the server's content filter stopped the reply",
        ),
    ],
)
def test_no_reply_is_told_from_a_wrong_one(reply, outcome, why):
    judged = [one for question in QUESTIONS for one in judge(question, reply, never)]
    assert {(one.outcome, one.why) for one in judged} == {(outcome, why)}


def test_one_check_that_fails_takes_no_other_with_it():
    outcomes = [one.outcome for one in all_of(right, broken)]
    assert outcomes == ["fail", *["pass"] * 7]


def test_a_missing_sandbox_is_no_verdict():
    def refuse(program):
        raise SandboxMissing("no sandbox")

    with pytest.raises(SandboxMissing):
        verdicts(asked("median"), right(asked("median")), run=refuse)


def test_no_answer_is_sent():
    for question in QUESTIONS:
        sent = " ".join(message.content for message in question.messages)
        assert right(question) not in sent


@pytest.mark.slow
def test_any_reply_gets_a_verdict_with_a_reason_in_linear_time():
    """Texts are timed once for all eight; the longest has ten million characters."""
    for reply in _hostile.replies("bench-llm", 100):
        began = process_time()
        judged = [one for question in QUESTIONS for one in judge(question, reply, broken)]
        assert process_time() - began < 3
        assert [one.outcome for one in judged].count("pass") == 0
        assert all(one.why and "\n" not in one.why and len(one.why) < 400 for one in judged)


@pytest.mark.slow
def test_hostile_ends_of_right_replies_get_a_verdict():
    ends = (
        "\ud800" * 1000,
        "[" * 100_000,
        "{" * 100_000,
        "\n{" * 50_000,
        "\n1" * 50_000,
        " a" * 200_000,
        "```\n" * 50_000,
    )
    for question in QUESTIONS:
        for end in ends:
            began = process_time()
            for text in (right(question) + end, end + right(question)):
                assert all(one.why for one in judge(question, said(text), by_right_median))
            assert process_time() - began < 3
