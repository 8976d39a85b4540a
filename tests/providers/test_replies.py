import asyncio
import json
from pathlib import Path

import made
import pytest

from crucibleforge.chat import Dialogue, Message, Request
from crucibleforge.errors import InputError, Trouble
from crucibleforge.providers import Shelved
from crucibleforge.providers.replies import PROVIDER, file_target, pinned
from crucibleforge.report.board import board
from crucibleforge.report.markdown import rendered
from crucibleforge.report.scorecard import Source
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import opened
from crucibleforge.types import Sampling, Thinking

CASES = [made.case(f"math/sum/L2.{n}", hash=f"h{n}") for n in range(1, 7)]
TWO_ROUNDS = made.case(
    "math/sum/L3.1", hash="t", dialogue=Dialogue((Message("user", "q"),), 10, turns=("q2",), max_rounds=2)
)


class Watch:
    def opened(self, target, served):
        pass

    def asked(self, attempt):
        pass

    def marked(self, verdict):
        pass

    def adapted(self, event):
        pass


def written(*lines, name="Elsewhere 1.jsonl"):
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file_target(Path(name))


def answered(*cases, text="ANSWER: 42"):
    return [{"id": f"{case.id}#{case.hash}", "text": text} for case in cases]


def carried(target, cases=CASES, results="results", **fields):
    """Run to the end: the run, and why it could not be finished."""
    plan = made.plan(list(cases), target, **fields)
    run = folder.find(Path(results), plan.key) or folder.create(Path(results), plan, cases)
    with opened(run.folder) as log:
        bench = Bench(run=run, log=log, execute=None, halt=lambda: None, watch=Watch())
        return run, asyncio.run(carry_out(bench))


def outcomes(run):
    return [row.verdict.outcome if row.verdict else None for row in run.rows()]


def asked(target, request):
    async def work():
        async with PROVIDER.open(target) as session:
            assert isinstance(session, Shelved)
            return await session.ask(request)

    return asyncio.run(work())


def test_a_file_is_a_target_without_what_a_file_cannot_do():
    target = written(*answered(CASES[0]))
    assert (target.label, target.kind, target.context_length, target.price) == ("elsewhere-1", "replies", None, None)
    assert target.path == str(Path("Elsewhere 1.jsonl").resolve())
    assert (target.thinking, target.sampling) == (Thinking("off", recovery=False), Sampling(None, None, None))


def test_other_bytes_are_another_model():
    assert written(*answered(CASES[0])).identity != written(*answered(CASES[1])).identity
    assert written(*answered(CASES[0])).identity == written(*answered(CASES[0])).identity


def test_a_provider_of_models_yaml_is_tied_to_its_file_too():
    entry = made.target("mine", kind="replies", path=written().path, base_url="", model_id="any")
    assert pinned(entry).label == "mine"
    assert pinned(entry).model_id == written().model_id


def test_right_answers_pass_through_the_same_path_as_any_models():
    run, unfinished = carried(written(*answered(*CASES)))
    assert (outcomes(run), unfinished) == (["pass"] * 6, {})


def test_a_wrong_answer_fails():
    run, _ = carried(written(*answered(*CASES[:3]), *answered(*CASES[3:], text="ANSWER: 41")))
    assert outcomes(run) == ["pass"] * 3 + ["fail"] * 3


def test_what_the_file_lacks_is_left_unasked_and_told():
    run, unfinished = carried(written(*answered(*CASES[:2])))
    assert outcomes(run) == ["pass"] * 2 + [None] * 4
    assert [row.attempt for row in run.rows()[2:]] == [None] * 4
    assert unfinished == {"elsewhere-1": "Elsewhere 1.jsonl holds 2 of the 6 answers that are owed"}


def test_answers_of_another_suite_are_missing_and_told_in_one_line():
    other = [{"id": f"{case.id}#older", "text": "ANSWER: 42"} for case in CASES[4:]]
    run, unfinished = carried(written(*answered(*CASES[:3]), *other))
    assert outcomes(run) == ["pass"] * 3 + [None] * 3
    assert unfinished == {
        "elsewhere-1": "Elsewhere 1.jsonl holds 3 of the 6 answers that are owed "
        "(2 with the hash of another suite)"
    }


def test_a_file_of_which_nothing_fits_leaves_no_trace_in_the_log():
    run, unfinished = carried(written())
    assert (run.events()[0], unfinished) == ([], {"elsewhere-1": "Elsewhere 1.jsonl holds 0 of the 6 answers that are owed"})


def test_the_board_shows_a_part_as_a_part_and_no_speed():
    usage = {"prompt_tokens": 5, "completion_tokens": 500}
    lines = [
        {
            "custom_id": f"{case.id}#{case.hash}",
            "response": {
                "status_code": 200,
                "body": {
                    "model": "big",
                    "usage": usage,
                    "choices": [{"message": {"content": "ANSWER: 42"}, "finish_reason": "stop"}],
                },
            },
        }
        for case in CASES[:2]
    ]
    run, _ = carried(written(*lines))
    shown = board([Source(run.plan, run.rows())], CASES, {}, "now")
    (card,) = shown.cards
    assert (card.overall, card.speed, card.completion_tokens, card.errors) == (None, None, 1000, 0)
    assert card.notes == ("partial (2/6 cases)", "answered by big")
    assert "| - | elsewhere-1 | - | - | - | none | - |" in rendered(shown)


def test_failures_of_the_batch_are_rows_without_a_verdict_and_end_nothing():
    bad = [
        {
            "custom_id": f"{case.id}#{case.hash}",
            "response": {"status_code": status, "body": {"error": {"message": "no"}}},
        }
        for case, status in zip(CASES, [500, 500, 500, 401, 429], strict=False)
    ]
    run, unfinished = carried(written(*bad, *answered(CASES[5])))
    assert (outcomes(run), unfinished) == ([None] * 5 + ["pass"], {})
    kinds = [(row.attempt.failure.kind, row.attempt.failure.tries) for row in run.rows()[:5]]
    assert kinds == [("transport", 1)] * 3 + [("auth", 1), ("overload", 1)]


def test_repeats_are_the_lines_of_one_id_in_turn():
    lines = [*answered(CASES[0]), *answered(CASES[0], text="ANSWER: 1"), *answered(CASES[0])]
    run, unfinished = carried(written(*lines), CASES[:1], repeats=4)
    assert outcomes(run) == ["pass", "fail", "pass", None]
    assert unfinished == {"elsewhere-1": "Elsewhere 1.jsonl holds 3 of the 4 answers that are owed"}


def test_every_round_gets_its_reply():
    rounds = [{"text": "ANSWER: 1"}, {"text": "ANSWER: 42"}]
    run, _ = carried(written({"id": TWO_ROUNDS.id, "replies": rounds}), [TWO_ROUNDS])
    assert [reply.text for reply in run.rows()[0].attempt.replies] == ["ANSWER: 1", "ANSWER: 42"]


def test_a_dialogue_without_its_last_round_is_left_unasked():
    run, unfinished = carried(written({"id": TWO_ROUNDS.id, "text": "ANSWER: 1"}), [TWO_ROUNDS])
    assert outcomes(run) == [None]
    assert unfinished == {"elsewhere-1": "Elsewhere 1.jsonl holds 0 of the 1 answers that are owed (1 without the last round)"}


def test_a_reply_that_was_lost_to_reasoning_is_not_asked_for_again():
    line = {"id": CASES[0].id, "text": "", "reasoning": "hm", "finish": "length"}
    run, _ = carried(written(line), CASES[:1])
    (row,) = run.rows()
    assert (row.verdict.outcome, row.attempt.recoveries, row.attempt.max_tokens) == ("truncated", (), 100)


def test_a_file_that_changed_since_the_run_began_is_refused():
    target = written(*answered(*CASES))
    written(*answered(*CASES, text="ANSWER: 7"))
    with pytest.raises(InputError) as caught:
        carried(target)
    assert caught.value.message.endswith("Elsewhere 1.jsonl is not the file that this run began with")


def test_a_request_that_belongs_to_no_case_has_no_reply():
    with pytest.raises(Trouble) as caught:
        asked(written(*answered(*CASES)), Request((Message("user", "hello"),), (), 9))
    assert (caught.value.kind, caught.value.message) == ("rejected", "Elsewhere 1.jsonl holds no reply to this request")


def test_a_probe_tells_whether_the_file_can_be_read():
    good = written()
    assert asyncio.run(PROVIDER.probe(good)).state == "up"
    Path("bad.jsonl").write_text("{\n")
    down = asyncio.run(PROVIDER.probe(made.target(kind="replies", path="bad.jsonl")))
    assert (down.state, down.detail.split(":")[0]) == ("down", "bad.jsonl line 1")
