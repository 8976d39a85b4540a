import asyncio
import os
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from time import monotonic

import made
import pytest

from crucibleforge.chat import Dialogue, Message
from crucibleforge.errors import FolderUnusable, InputError, Stopped, Trouble
from crucibleforge.programs import Ran, Returned
from crucibleforge.run.ask import Patience
from crucibleforge.run.budget import Budget
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import opened
from crucibleforge.types import Adapted, Attempt, Grading, Price, Served, Thinking, Verdict

CASES = [made.case(f"math/sum/L1.{n}") for n in range(1, 9)]
PROGRAM = made.case("coding/f/L1.1", grading=Grading("program", {"entry": "f"}), expected=[{"args": [1], "returns": 2}])


def dialogue(question, max_tokens):
    return Dialogue((Message("user", question),), max_tokens)


class Watch:
    def __init__(self) -> None:
        self.seen = []

    def opened(self, target, served):
        self.seen.append(("opened", target.label))

    def asked(self, attempt):
        self.seen.append(("asked", attempt.job.case_id))

    def marked(self, verdict):
        self.seen.append(("marked", verdict.job.case_id))

    def adapted(self, event):
        self.seen.append(("adapted", event.what))


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

    def notices(self):
        return []

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


def target(label="m", **fields):
    return made.target(label, **({"thinking": Thinking("off")} | fields))


def plan_of(cases, *targets):
    return made.plan(cases, *(targets or [target()]))


@contextmanager
def bench(tmp_path, world, plan, cases, execute=None, halt=lambda: None, **more):
    run = folder.find(tmp_path, plan.key) or folder.create(tmp_path, plan, cases)
    with opened(run.folder) as log:
        yield Bench(
            run=run,
            log=log,
            execute=execute or (lambda _: Ran((Returned(2),), "test")),
            halt=halt,
            watch=Watch(),
            **({"patience": Patience(1, 0.001, 0.001), "providers": lambda _kind: world} | more),
        )


def carried(tmp_path, world, plan=None, cases=CASES, **more):
    with bench(tmp_path, world, plan or plan_of(cases), cases, **more) as made_bench:
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
    rows, _ = carried(tmp_path, world, plan_of(CASES, target(concurrency=3)))
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
    plan = plan_of(CASES, target("bad", model_id="bad"), target("good"))
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
    plan = plan_of(CASES, target("down"), target("up"))
    rows, unfinished = carried(tmp_path, World(down=("down",)), plan)
    assert unfinished == {"down": "down is down"}
    assert sum(row.is_settled for row in rows) == 8


def test_the_only_target_being_down_is_the_users_to_mend(tmp_path):
    with pytest.raises(InputError, match="m is down"):
        carried(tmp_path, World(down=("m",)))


def test_cases_over_the_window_are_skipped_and_not_asked(tmp_path):
    cases = [CASES[0], made.case("longctx/l/L3.1", needs=made.Needs(9000))]
    world = World(served=Served("fake", context_length=4096))
    rows, _ = carried(tmp_path, world, plan_of(cases), cases)
    assert [row.verdict.outcome for row in rows] == ["pass", "skipped"]
    assert (rows[1].verdict.why, world.asked) == ("needs up to 9,000 tokens of context, 4,096 served", 1)


def test_the_smaller_of_configured_and_served_window_counts(tmp_path):
    cases = [CASES[0], made.case("longctx/l/L3.1", needs=made.Needs(9000))]
    plan = plan_of(cases, target(context_length=1000))
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
    plan = plan_of(CASES[:1])
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
    with bench(tmp_path, World(second_waits_for_the_first_mark), plan_of(cases), cases, execute) as made_bench:
        asyncio.run(carry_out(made_bench))
        assert all(row.is_settled for row in made_bench.run.rows())


def test_a_cancelled_run_ends_what_is_being_marked_and_keeps_what_was_done(tmp_path):
    started, halted = threading.Event(), threading.Event()

    def execute(_program):
        started.set()
        halted.wait(10)
        raise Stopped("stopped")

    async def never_ends(request):
        if "L1.2" in request.messages[-1].content:
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
    with bench(tmp_path, world, plan_of(cases), cases, execute, halted.set) as made_bench:
        asyncio.run(interrupted(made_bench))
        rows = made_bench.run.rows()
    assert monotonic() - began < 5
    assert (world.closed, rows[0].attempt is not None, rows[0].verdict, rows[1].attempt) == (1, True, None, None)


def test_the_log_holds_what_was_opened(tmp_path):
    with bench(tmp_path, World(served=Served("fake", "x", 4096)), plan_of(CASES[:1]), CASES[:1]) as made_bench:
        asyncio.run(carry_out(made_bench))
        events, _ = made_bench.run.events()
    assert events[0].served == Served("fake", "x", 4096)
    assert isinstance(events[-1], Verdict)
    assert made_bench.watch.seen == [("opened", "m"), ("asked", CASES[0].id), ("marked", CASES[0].id)]


def test_the_longest_is_asked_first_and_one_slow_case_does_not_hold_up_the_others(tmp_path):
    order = []

    def answer(request):
        order.append(request.messages[-1].content)
        return made.reply()

    small, large = made.case("a/f/L1.1"), made.case("b/f/L1.1", dialogue=dialogue("b", 900))
    carried(tmp_path, World(answer), cases=[small, large])
    assert order == ["b", "question a/f/L1.1"]


def test_a_template_that_the_server_cannot_handle_gives_up_no_target(tmp_path):
    rows, unfinished = carried(tmp_path, World(lambda _: Trouble("template", "cannot build a parser")))
    assert ({row.attempt.failure.kind for row in rows}, {row.verdict for row in rows}, unfinished) == ({"template"}, {None}, {})


def test_a_wrong_model_gives_up_at_once(tmp_path):
    world = World(lambda _: Trouble("wrong_model", "this is another model"))
    _, unfinished = carried(tmp_path, world)
    assert (world.asked, unfinished) == (1, {"m": "this is another model"})


def test_what_was_lost_to_reasoning_is_kept_and_billed(tmp_path):
    lost = made.reply("", reasoning="hm", finish="length")
    turn = iter([lost, made.reply()])
    plan = plan_of(CASES[:1], target(thinking=Thinking("on", factor=1), price=Price(0.0, 1e6)))
    rows, _ = carried(tmp_path, World(lambda _: next(turn)), plan, CASES[:1])
    attempt = rows[0].attempt
    assert (attempt.replies, attempt.recoveries[0].lost) == ((made.reply(),), (lost,))
    assert (attempt.cost_usd, attempt.max_tokens) == (40.0, 100)


def test_a_reply_that_no_recovery_bettered_is_billed_once(tmp_path):
    lost = made.reply("", reasoning="hm", finish="length")
    plan = plan_of(CASES[:1], target(thinking=Thinking("on", factor=1), price=Price(0.0, 1e6)))
    rows, _ = carried(tmp_path, World(lambda _: lost), plan, CASES[:1])
    attempt = rows[0].attempt
    assert attempt.replies == (lost,)
    assert attempt.cost_usd == 20.0 * len(attempt.recoveries[0].lost)


def test_what_is_learnt_of_a_target_stands_in_the_log_and_is_told(tmp_path):
    plan = plan_of(CASES[:1], target(thinking=Thinking("auto")))
    world = World(lambda _: made.reply(reasoning="hm"))
    with bench(tmp_path, world, plan, CASES[:1]) as made_bench:
        asyncio.run(carry_out(made_bench))
        adapted = [event for event in made_bench.run.events()[0] if isinstance(event, Adapted)]
    assert [(event.label, "reasons before it answers" in event.what) for event in adapted] == [("m", True)]
    assert ("adapted", adapted[0].what) in made_bench.watch.seen


def test_a_hosted_server_that_refuses_gets_fewer_at_once(tmp_path):
    cases = [made.case(f"math/sum/L1.{n}") for n in range(1, 40)]
    world = World()

    async def no_more_than_three(_request):
        over = world.in_flight > 3
        await asyncio.sleep(0)
        return Trouble("overload", "slow down", retry_after_s=0.001) if over else made.reply()

    world.answer = no_more_than_three
    plan = plan_of(cases, target(base_url="https://api.example.com/v1"))
    with bench(tmp_path, world, plan, cases, patience=Patience(1000, 0.001, 0.001)) as made_bench:
        unfinished = asyncio.run(carry_out(made_bench))
        assert all(row.is_settled for row in made_bench.run.rows())
    assert (unfinished, 4 <= world.most < 8) == ({}, True)
    assert ("adapted", "2 requests at once after HTTP 429") in made_bench.watch.seen


def test_a_run_ends_before_the_case_that_might_break_its_budget_and_resuming_does_not_begin_at_nought(tmp_path):
    plan = plan_of(CASES, target(price=Price(0.0, 1000.0)))  # a case costs 0.10 at most and 0.02 really
    rows, unfinished = carried(tmp_path, World(), plan, budget=Budget(max_cost_usd=0.135))
    assert unfinished == {"m": "stopped at the budget of $0.14: $0.04 spent"}
    assert sum(row.is_settled for row in rows) == 2
    world = World()
    _, unfinished = carried(tmp_path, world, plan, budget=Budget(max_cost_usd=0.135))
    assert (world.asked, world.closed, list(unfinished)) == (0, 0, ["m"])
    rows, unfinished = carried(tmp_path, World(), plan, budget=Budget(max_cost_usd=1.0))
    assert (all(row.is_settled for row in rows), unfinished) == (True, {})


def test_room_that_is_only_held_by_what_is_in_flight_is_waited_for(tmp_path):
    plan = plan_of(CASES, target(price=Price(0.0, 1000.0), concurrency=8))
    world = World()
    _, unfinished = carried(tmp_path, world, plan, budget=Budget(max_cost_usd=0.245))
    assert (world.most, unfinished) == (2, {})


def test_a_limit_on_cost_needs_prices(tmp_path):
    with pytest.raises(InputError, match="max-cost needs a price for 'm'"):
        carried(tmp_path, World(), budget=Budget(max_cost_usd=1.0))


def test_when_time_is_over_nothing_more_is_begun_and_the_rest_is_owed(tmp_path):
    time = iter(range(100))
    rows, unfinished = carried(
        tmp_path, World(), budget=Budget(max_minutes=0.1, grace_s=100.0), clock=lambda: float(next(time))
    )
    assert unfinished == {"m": "stopped at the budget of 0.1 minutes"}
    assert 0 < sum(row.is_settled for row in rows) < 8


def test_what_is_in_flight_when_the_grace_ends_is_cut_off_and_owed(tmp_path):
    async def never(_request):
        await asyncio.sleep(60)

    world = World(never)
    rows, unfinished = carried(tmp_path, world, budget=Budget(max_minutes=1e-4, grace_s=0.01))
    assert unfinished == {"m": "stopped at the budget of 0.0001 minutes"}
    assert (world.closed, world.in_flight, {row.attempt for row in rows}) == (1, 0, {None})


def test_a_full_disk_ends_the_run_with_its_own_error(tmp_path):
    run = folder.create(tmp_path, plan_of(CASES), CASES)

    def full(descriptor, data):
        if b'"attempt"' in data:
            raise OSError(28, "No space left on device")
        return os.write(descriptor, data)

    with opened(run.folder, write=full) as log, pytest.raises(FolderUnusable, match="no space left"):
        asyncio.run(
            carry_out(
                Bench(run=run, log=log, execute=None, halt=lambda: None, watch=Watch(), providers=lambda _: World())
            )
        )
    assert [type(event) for event in run.events()[0] if isinstance(event, Attempt)] == []


def test_the_event_loop_gets_its_turn_soon_while_marking_is_busy_and_only_then(tmp_path):
    before, during = sys.getswitchinterval(), []
    world = World(lambda _: during.append(sys.getswitchinterval()) or made.reply())
    carried(tmp_path, world, cases=CASES[:1])
    assert (during[0] <= 1e-3, sys.getswitchinterval()) == (True, before)
