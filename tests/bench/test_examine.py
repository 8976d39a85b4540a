import asyncio
import json
import threading

import endpoint
import pytest
import strong
from judged import in_process

from crucibleforge.bench.examine import Examination, Job
from crucibleforge.bench.protocol import Options
from crucibleforge.bench.weighed import Weighed
from crucibleforge.errors import Trouble
from crucibleforge.types import Target

SEED = "5eed"


class Watch:
    def __init__(self):
        self.answers, self.said, self.cells = [], [], []
        self.is_under_way = asyncio.Event()

    def opened(self, served):
        self.served = served

    def moved(self, progress):
        self.cells.append(progress.cell)
        if progress.cell == "medium_200":
            self.is_under_way.set()

    def asked(self, answer):
        self.answers.append(answer)

    def say(self, text):
        self.said.append(text)


def job(url, *, mode="quick", run=in_process, halt=lambda: None):
    target = Target(label="fake", provider="url", kind="openai", model_id="fake", base_url=url)
    return Job(target=target, options=Options(SEED, mode), weighed=Weighed(), seed=SEED, version="0", run=run, halt=halt)


def examined(answer, **options):
    watch = Watch()
    with endpoint.serving(answer) as server:
        examination = Examination(job(server.url, **options), watch)
        asyncio.run(examination.carry_out())
    return examination.record(), watch


@pytest.fixture(scope="module")
def strong_record():
    return examined(strong.answers(SEED))


@pytest.mark.slow
def test_a_strong_model_scores_5_of_5_and_3_of_3(strong_record):
    summary = strong_record[0].summary
    assert (summary.ability_passed, summary.ability_asked) == (5, 5)
    assert (summary.fitness_passed, summary.fitness_asked) == (3, 3)
    assert summary.failed == {}
    assert (summary.json.right, summary.json.asked) == (2, 2)


@pytest.mark.slow
def test_speed_and_every_reply_are_kept(strong_record):
    record, watch = strong_record
    assert record.is_whole
    assert {"short_50", "medium_200", "long_800"} <= {cell.name for cell in record.speed.cells}
    assert record.summary.tok_per_s > 0
    assert [answer.checks for answer in record.answers] == [answer.checks for answer in watch.answers]
    assert all(answer.replies and answer.messages for answer in record.answers)
    assert watch.cells[0] == "warm-up"


@pytest.mark.slow
def test_a_check_that_fails_says_why_and_takes_nothing_from_the_others():
    summary = examined(strong.answers(SEED, wrong={"shape"}))[0].summary
    assert (summary.ability_passed, summary.ability_asked) == (4, 5)
    assert list(summary.failed) == ["shape"]
    assert summary.failed["shape"]


@pytest.mark.slow
def test_an_error_of_the_server_is_no_failure_of_the_model():
    good = strong.answers(SEED)

    def answer(request):
        if "syslog" in json.dumps(request):
            return endpoint.status(400, {"error": {"message": "no such luck"}})
        return good(request)

    record = examined(answer)[0]
    assert (record.summary.fitness_passed, record.summary.fitness_asked) == (0, 0)
    assert record.summary.ability_passed == 5
    (lost,) = [answer for answer in record.answers if answer.failure]
    assert "no such luck" in lost.failure
    assert lost.judged == ()


@pytest.mark.slow
def test_without_a_way_to_run_programs_nothing_is_asked_but_speed():
    record = examined(strong.answers(SEED), run=None)[0]
    assert record.answers == ()
    assert record.speed is not None


@pytest.mark.slow
def test_who_is_interrupted_keeps_what_was_measured():
    async def interrupted(url):
        watch = Watch()
        examination = Examination(job(url), watch)
        task = asyncio.ensure_future(examination.carry_out())
        await watch.is_under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return examination.record()

    with endpoint.serving(strong.answers(SEED)) as server:
        record = asyncio.run(interrupted(server.url))
    assert not record.is_whole
    assert record.speed.cells[0].name == "warm-up"


@pytest.mark.slow
def test_who_is_interrupted_while_a_program_runs_does_not_wait_for_it():
    is_running, is_ended = threading.Event(), threading.Event()

    def run(program):
        is_running.set()
        assert is_ended.wait(30)
        return in_process(program)

    async def interrupted(url):
        examination = Examination(job(url, run=run, halt=is_ended.set), Watch())
        task = asyncio.ensure_future(examination.carry_out())
        await asyncio.to_thread(is_running.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return examination.record()

    with endpoint.serving(strong.answers(SEED)) as server:
        record = asyncio.run(interrupted(server.url))
    assert is_ended.is_set()
    assert "median" not in [key for answer in record.answers for key in answer.checks]


def test_a_server_without_any_reply_is_trouble_and_leaves_an_empty_record():
    with endpoint.serving(lambda _: endpoint.status(400, {"error": {"message": "no"}})) as server:
        examination = Examination(job(server.url), Watch())
        with pytest.raises(Trouble):
            asyncio.run(examination.carry_out())
    assert examination.record().answers == ()
