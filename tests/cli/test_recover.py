import re
from pathlib import Path

import endpoint
import oracle
import pytest

from crucibleforge.store.folder import all_runs
from crucibleforge.suite.expand import scored, suite
from crucibleforge.types import Attempt

FAMILY = "math/mod-ladder"
COUNT = sum(case.family == FAMILY for case in suite())


def thinking_to_death(*, answers_without=True):
    """A model that never comes to an end of its thoughts, unless told not to have any."""
    right = oracle.answers()

    def answer(request):
        if answers_without and request.get("chat_template_kwargs") == {"enable_thinking": False}:
            return right(request)
        return endpoint.stream(endpoint.chat([{"reasoning_content": "hm"}], "length", request["max_tokens"], "fake"))

    return answer


@pytest.fixture
def lost_run(crucible, configure):
    """A finished run without recovery, every reply of which was lost; the server still runs."""
    with endpoint.serving(thinking_to_death()) as server:
        config = configure(server.url)
        config.write_text(config.read_text().replace("thinking: false", "thinking: true, recovery: false"))
        assert crucible("run", "--cases", FAMILY).code == 0
        yield server


def the_run():
    (run,) = all_runs(Path("results"))
    return run


def test_only_what_was_lost_is_asked_again_and_the_log_keeps_both(crucible, lost_run):
    assert {row.verdict.outcome for row in the_run().rows()} == {"truncated"}
    ended = crucible("recover")
    assert ended.code == 0
    rows = the_run().rows()
    assert {row.verdict.outcome for row in rows} == {"pass"}
    assert {recovery.mode for row in rows for recovery in row.attempt.recoveries} == {"no_think"}
    events, _ = the_run().events()
    assert len([event for event in events if isinstance(event, Attempt)]) == 2 * COUNT
    before = len(lost_run.requests)
    assert crucible("recover").err == "no row was lost to reasoning\n"
    assert len(lost_run.requests) == before


def test_a_model_that_is_not_meant_is_left_alone(crucible, lost_run):
    before = len(lost_run.requests)
    ended = crucible("recover", "--models", "fakke")
    assert (ended.code, len(lost_run.requests)) == (2, before)
    assert ended.err == "error: unknown model 'fakke'\nhint: did you mean `fake`? none of these runs has it\n"


def test_without_runs_it_says_how_to_make_one(crucible):
    ended = crucible("recover")
    assert (ended.code, ended.err) == (2, "error: no runs to recover\nhint: `crucibleforge run` makes one\n")


def test_a_run_with_recovery_finds_the_answers_by_itself_and_says_so(crucible, configure):
    with endpoint.serving(thinking_to_death()) as server:
        config = configure(server.url)
        config.write_text(config.read_text().replace("thinking: false", "thinking: auto"))
        ended = crucible("all", "--cases", FAMILY)
    assert ended.code == 0
    assert "[fake] reasons before it answers: budgets are 4 times as large, up to 32,768 tokens" in ended.err.splitlines()
    report = Path("results/report.md").read_text()
    counted = sum(case.family == FAMILY for case in scored(suite()))
    assert f"{counted} answers recovered" in report


def test_a_model_whose_every_reply_is_thought_to_death_is_invalid_and_not_bad(crucible, configure):
    with endpoint.serving(thinking_to_death(answers_without=False)) as server:
        configure(server.url)
        ended = crucible("all", "--cases", FAMILY)
    assert "INVALID" in ended.err + ended.out
    assert not re.search(r"(?<!\d)0%", ended.out + Path("results/report.md").read_text())
