import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from time import monotonic

import made
import pytest

from crucibleforge.errors import InputError, Stopped, Trouble
from crucibleforge.programs import Ran, Returned
from crucibleforge.run.ask import Patience
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import opened
from crucibleforge.types import Grading, Served, Verdict

CASES = [made.case(f"math/sum/easy.{n}") for n in range(1, 9)]
PROGRAM = made.case("coding/f/easy.1", grading=Grading("program", {"entry": "f"}), expected=[{"args": [1], "returns": 2}])


class Watch:
    def __init__(self) -> None:
        self.seen = []

    def opened(self, target, served):
        self.seen.append(("opened", target.label))

    def asked(self, attempt):
        self.seen.append(("asked", attempt.job.case_id))

    def marked(self, verdict):
        self.seen.append(("marked", verdict.job.case_id))


class World:
    """A provider whose targets answer by the given function; counts what is in flight."""

    def __init__(self, answer=lambda _request: made.reply(), served=Served("fake"), down=()) -> None:  # noqa: B008
        self.answer, self.served, self.down = answer, served, down
        self.in_flight, self.most, self.asked, self.closed = 0, 0, 0, 0

    @asynccontextmanager
    async def open(self, target):
        if target.label in self.down:
            raise InputError(f"{target.label} is down")
        try:
            yield self
        finally:
            self.closed += 1

    async def ask(self, request):
        self.asked += 1
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(0)
            reply = self.answer(request)
            if asyncio.iscoroutine(reply):
                reply = await reply
        finally:
            self.in_flight -= 1
        if isinstance(reply, Exception):
            raise reply
        return reply


@contextmanager
def bench(tmp_path, world, plan, cases, execute=None, halt=lambda: None):
    run = folder.find(tmp_path, plan.key) or folder.create(tmp_path, plan, cases)
    with opened(run.folder) as log:
        yield Bench(
            run=run,
            log=log,
            execute=execute or (lambda _: Ran((Returned(2),), "test")),
            halt=halt,
            watch=Watch(),
            patience=Patience(1, 0.001, 0.001),
            providers=lambda _kind: world,
        )


def carried(tmp_path, world, plan=None, cases=CASES):
    with bench(tmp_path, world, plan or made.plan(cases), cases) as made_bench:
        unfinished = asyncio.run(carry_out(made_bench))
        return made_bench.run.rows(), unfinished


def test_every_row_is_asked_and_marked(tmp_path):
    rows, unfinished = carried(tmp_path, World())
    assert ([row.verdict.outcome for row in rows], unfinished) == (["pass"] * 8, {})


def test_a_complete_run_asks_nothing_more(tmp_path):
    carried(tmp_path, World())
    world = World()
    carried(tmp_path, world)
    assert (world.asked, world.closed) == (0, 0)


def test_no_more_requests_run_at_once_than_the_target_allows(tmp_path):
    world = World()
    rows, _ = carried(tmp_path, world, made.plan(CASES, made.target(concurrency=3)))
    assert world.most == 3
    assert max(row.attempt.in_flight for row in rows) == 3


def test_a_single_slot_means_alone(tmp_path):
    rows, _ = carried(tmp_path, World())
    assert {row.attempt.in_flight for row in rows} == {1}


def test_failures_are_kept_shown_and_owed_again(tmp_path):
    fail = iter([made.reply(), Trouble("transport", "gone"), *[made.reply()] * 6])
    rows, unfinished = carried(tmp_path, World(lambda _: next(fail)))
    assert [row.attempt.failure is None for row in rows] == [True, False] + [True] * 6
    assert unfinished == {}
    world = World()
    rows, _ = carried(tmp_path, world)
    assert (world.asked, all(row.is_settled for row in rows)) == (1, True)


def test_three_failures_in_a_row_give_up_this_target_and_no_other(tmp_path):
    plan = made.plan(CASES, made.target("bad", model_id="bad"), made.target("good"))
    turn = iter([Trouble("transport", "gone")] * 3)
    world = World(lambda _: next(turn, made.reply()))
    rows, unfinished = carried(tmp_path, world, plan)
    assert unfinished == {"bad": "gone"}
    assert sum(row.is_settled for row in rows if row.job.label == "good") == 8
    assert sum(row.attempt is not None for row in rows if row.job.label == "bad") == 3


def test_a_refused_key_gives_up_at_once(tmp_path):
    world = World(lambda _: Trouble("auth", "no"))
    _, unfinished = carried(tmp_path, world)
    assert (world.asked, unfinished) == (1, {"m": "no"})


def test_a_target_that_cannot_be_opened_leaves_the_others_alone(tmp_path):
    plan = made.plan(CASES, made.target("down"), made.target("up"))
    rows, unfinished = carried(tmp_path, World(down=("down",)), plan)
    assert unfinished == {"down": "down is down"}
    assert sum(row.is_settled for row in rows) == 8


def test_the_only_target_being_down_is_the_users_to_mend(tmp_path):
    with pytest.raises(InputError, match="m is down"):
        carried(tmp_path, World(down=("m",)))


def test_cases_over_the_window_are_skipped_and_not_asked(tmp_path):
    cases = [CASES[0], made.case("longctx/l/hard.1", needs=made.Needs(9000))]
    world = World(served=Served("fake", context_length=4096))
    rows, _ = carried(tmp_path, world, made.plan(cases), cases)
    assert [row.verdict.outcome for row in rows] == ["pass", "skipped"]
    assert (rows[1].verdict.why, world.asked) == ("needs up to 9,000 tokens of context, 4,096 served", 1)


def test_the_smaller_of_configured_and_served_window_counts(tmp_path):
    cases = [CASES[0], made.case("longctx/l/hard.1", needs=made.Needs(9000))]
    plan = made.plan(cases, made.target(context_length=1000))
    rows, _ = carried(tmp_path, World(served=Served("fake", context_length=99999)), plan, cases)
    assert rows[1].verdict.why == "needs up to 9,000 tokens of context, 1,000 served"


def test_a_window_that_fits_nothing_is_the_users_to_mend(tmp_path):
    with pytest.raises(InputError, match="100 tokens, the smallest case needs 300"):
        carried(tmp_path, World(served=Served("fake", context_length=100)))


def test_a_server_that_finds_the_prompt_too_long_skips_the_case(tmp_path):
    world = World(lambda _: Trouble("context", "too long"))
    rows, unfinished = carried(tmp_path, world)
    assert ({row.verdict.outcome for row in rows}, unfinished) == ({"skipped"}, {})


def test_replies_that_nobody_marked_are_marked_without_asking(tmp_path):
    plan = made.plan(CASES[:1])
    run = folder.create(tmp_path, plan, CASES[:1])
    with opened(run.folder) as log:
        log.append(made.attempt(CASES[0]))
    world = World()
    rows, _ = carried(tmp_path, world, plan, CASES[:1])
    assert (rows[0].verdict.outcome, world.asked) == ("pass", 0)


def test_marking_goes_on_beside_asking(tmp_path):
    marked = threading.Event()

    async def second_waits_for_the_first_mark(request):
        if "math/sum" in request.messages[-1].content:
            assert await asyncio.to_thread(marked.wait, 5)
        return made.reply("```python\ndef f(x):\n    return 2\n```")

    def execute(_program):
        marked.set()
        return Ran((Returned(2),), "test")

    cases = [PROGRAM, CASES[0]]
    with bench(tmp_path, World(second_waits_for_the_first_mark), made.plan(cases), cases, execute) as made_bench:
        asyncio.run(carry_out(made_bench))
        assert all(row.is_settled for row in made_bench.run.rows())


def test_a_cancelled_run_ends_what_is_being_marked_and_keeps_what_was_done(tmp_path):
    started, halted = threading.Event(), threading.Event()

    def execute(_program):
        started.set()
        halted.wait(10)
        raise Stopped("stopped")

    async def never_ends(request):
        if "easy.2" in request.messages[-1].content:
            await asyncio.sleep(60)
        return made.reply("```python\ndef f(x):\n    return 2\n```")

    async def interrupted(made_bench):
        task = asyncio.create_task(carry_out(made_bench))
        await asyncio.to_thread(started.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    cases = [PROGRAM, CASES[1]]
    world = World(never_ends)
    began = monotonic()
    with bench(tmp_path, world, made.plan(cases), cases, execute, halted.set) as made_bench:
        asyncio.run(interrupted(made_bench))
        rows = made_bench.run.rows()
    assert monotonic() - began < 5
    assert (world.closed, rows[0].attempt is not None, rows[0].verdict, rows[1].attempt) == (1, True, None, None)


def test_the_log_holds_what_was_opened(tmp_path):
    with bench(tmp_path, World(served=Served("fake", "x", 4096)), made.plan(CASES[:1]), CASES[:1]) as made_bench:
        asyncio.run(carry_out(made_bench))
        events, _ = made_bench.run.events()
    assert events[0].served == Served("fake", "x", 4096)
    assert isinstance(events[-1], Verdict)
    assert made_bench.watch.seen == [("opened", "m"), ("asked", CASES[0].id), ("marked", CASES[0].id)]
