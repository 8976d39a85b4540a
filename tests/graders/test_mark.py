from __future__ import annotations

import time

import pytest

from crucibleforge.chat import Dialogue, Reply, Timing, Usage
from crucibleforge.errors import UnknownName
from crucibleforge.families._dress import called, said
from crucibleforge.graders._mark import mark
from crucibleforge.programs import Call, Program, Raised, Ran, Returned
from crucibleforge.types import Case, Finding, Grading, Needs

SOURCE = "def f(x):\n    return x\n"


def asked(grader, expected, **settings):
    return Case(
        id="math/x/easy.0",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=expected,
        grading=Grading(grader, settings),
        needs=Needs(100),
    )


def replied(text, finish="stop", reasoning="", **usage):
    return Reply(text=text, finish=finish, reasoning=reasoning, usage=Usage(**usage), timing=Timing(total_s=0.0))


def never(program):
    raise AssertionError(f"{program} must not run")


class Sandbox:
    def __init__(self, *results):
        self.results = results
        self.given: list[Program] = []

    def __call__(self, program):
        self.given.append(program)
        return Ran(self.results, "bwrap")


NUMERIC = asked("numeric", 42)
CODE = asked("program", [{"args": [3], "returns": 3}], entry="f")


def test_a_grader_by_reading_runs_nothing():
    assert mark(NUMERIC, (said("ANSWER: 42"),), never) == (Finding("pass", 1.0), "numeric@2", "")


def test_a_grader_by_running_names_the_isolation():
    sandbox = Sandbox(Returned(3))
    finding, grader, isolation = mark(CODE, (said(SOURCE),), sandbox)
    assert (finding.outcome, grader, isolation) == ("pass", "program@2", "bwrap")
    assert sandbox.given == [Program(SOURCE, "f", (Call((3,)),))]


def test_without_code_nothing_runs():
    finding, grader, isolation = mark(CODE, (said("No idea."),), never)
    assert (finding.why, grader, isolation) == ("no code in reply", "program@2", "")


@pytest.mark.parametrize(
    ("reply", "finding"),
    [
        (replied(""), Finding("unanswered", 0.0, "empty reply")),
        (replied(" \n", reasoning="42"), Finding("unanswered", 0.0, "empty reply, stopped inside its reasoning")),
        (replied("", "content_filter"), Finding("refused", 0.0, "the server's content filter stopped the reply")),
        (replied("", "length"), Finding("truncated", 0.0, "TRUNCATED; no answer in reply")),
        (
            replied("", "length", completion_tokens=90, reasoning_tokens=80),
            Finding("truncated", 0.0, "TRUNCATED at 90 tokens (80 reasoning tokens); no answer in reply"),
        ),
    ],
)
def test_an_empty_reply_says_what_became_of_it(reply, finding):
    assert mark(NUMERIC, (reply,), never)[0] == finding


def test_a_cut_reply_says_so_before_the_grader_s_reason():
    finding, _, _ = mark(NUMERIC, (replied("ANSWER: 42", "length", completion_tokens=10),), never)
    assert finding == Finding("truncated", 0.0, "TRUNCATED at 10 tokens; unparsed: the last answer was begun and not finished")


def test_a_cut_program_that_fails_is_truncated_and_keeps_its_score():
    calls = [{"args": [3], "returns": 3}, {"args": [4], "returns": 4}]
    cut = replied(f"```python\n{SOURCE}```\nIt wor", "length")
    finding, _, _ = mark(asked("program", calls, entry="f"), (cut,), Sandbox(Returned(3), Raised("time limit")))
    assert (finding.outcome, finding.score, finding.why) == ("truncated", 0.5, "TRUNCATED; f(4): time limit")


def test_what_passed_before_the_cut_stays_a_pass():
    assert mark(NUMERIC, (replied("ANSWER: 42\nThis", "length"),), never)[0] == Finding("pass", 1.0)


def test_calls_without_text_are_no_empty_reply():
    case = asked("tools", {"calls": [{"name": "get", "arguments": {}}]})
    assert mark(case, (called(("get", "{}")),), never)[0].outcome == "pass"
    assert mark(case, (called(("get", "{}")), said("")), never)[0].outcome == "pass"


TOOLS = asked("tools", {"calls": [{"name": "get", "arguments": {}}]})


@pytest.mark.parametrize("case", [NUMERIC, CODE, TOOLS], ids=lambda case: case.grading.grader)
def test_a_call_that_the_server_could_not_parse_fails_in_the_server_s_words(case):
    finding, _, isolation = mark(case, (replied("bad JSON at 7\n", "malformed"),), never)
    assert finding == Finding("fail", 0.0, "the server could not parse the tool call: bad JSON at 7")
    assert isolation == ""


def test_a_call_that_could_not_be_parsed_is_not_made_good_by_those_before_it():
    finding, _, _ = mark(TOOLS, (called(("get", "{}")), replied("", "malformed")), never)
    assert (finding.outcome, finding.why) == ("fail", "the server could not parse the tool call")


def test_the_server_s_words_are_cut_short_and_cannot_steer_a_terminal():
    why = mark(TOOLS, (replied("\x1b[31m" + "x" * 10_000, "malformed"),), never)[0].why
    assert len(why) < 200
    assert why.isprintable()


def test_an_unknown_grader_is_named():
    with pytest.raises(UnknownName, match="unknown grader 'numerik'"):
        mark(asked("numerik", 42), (said("42"),), never)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["<think>" * 140_000, "[" * 200_000, "```" * 330_000, "ANSWER: {" * 100_000, "a " * 500_000]
)
@pytest.mark.parametrize(
    "case",
    [
        NUMERIC,
        CODE,
        asked("exact", "Tove", choices=["Tove", "Pim"]),
        asked("tools", {"calls": [{"name": "get", "arguments": {}}], "answer": 42}),
        asked("checks", None, checks=[{"type": "forbids_word", "word": "a"}, {"type": "json_equals", "value": 1}]),
    ],
    ids=lambda case: case.grading.grader,
)
def test_a_hostile_reply_fails_in_no_time(case, text):
    start = time.process_time()
    finding, _, _ = mark(case, (said(text),), never)
    assert finding.outcome in {"fail", "partial", "unanswered"}
    assert time.process_time() - start < 2


def test_a_setting_that_the_grader_does_not_know_is_an_error_of_the_case():
    with pytest.raises(ValueError, match=r"math/x/easy\.0: the grader numeric knows no setting tolerence"):
        mark(asked("numeric", 42, tolerence=1), (said("ANSWER: 42"),), never)
