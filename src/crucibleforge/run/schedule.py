"""Carry out what a run owes: targets one after the other, requests side by side, marking beside them.

Rows are written as they come, so whatever ends this — Ctrl-C, a crash, a dead server — loses only the requests that
were in flight.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, Self

from crucibleforge import plugins
from crucibleforge.chat import Reply
from crucibleforge.errors import InputError, Stopped
from crucibleforge.programs import Program, Ran
from crucibleforge.providers import Provider, Session, Shelved
from crucibleforge.run.ask import Asked, Asker, Patience, cost
from crucibleforge.run.budget import Budget, Ledger, check
from crucibleforge.run.grade import skipped, verdict
from crucibleforge.run.held import parted
from crucibleforge.run.order import longest_first
from crucibleforge.run.owed import to_ask, to_mark
from crucibleforge.run.slots import Slot, Slots, allowed
from crucibleforge.store.fold import fold
from crucibleforge.store.folder import Run
from crucibleforge.store.log import Log, now
from crucibleforge.types import Adapted, Attempt, Case, Failure, Job, Opened, Row, Served, Target, Verdict

_FAILURES_IN_A_ROW = 3
_OF_ONE_CASE = {"context", "template"}
"""What a server cannot do with one case says nothing of the next."""
_MARKED_AT_A_TIME_S = 0.02
_TURN_S = 1e-4


class Watcher(Protocol):
    """Who wants to know how it goes: the terminal."""

    def opened(self, target: Target, served: Served) -> None:
        """A target is ready to be asked."""

    def asked(self, attempt: Attempt) -> None:
        """A case has its replies, or failed for a reason that is not the model's."""

    def marked(self, verdict: Verdict) -> None:
        """A case has its verdict."""

    def adapted(self, event: Adapted) -> None:
        """Something about a target was learnt on the way."""


@dataclass(frozen=True)
class Bench:
    """All that carrying out a run needs; `halt` ends what `execute` is doing, from another thread.

    `ready` makes a target of the plan fit for opening: a plan names no file of the user's cache. `owed` picks the rows
    to ask. `clock` is monotonic, in seconds.
    """

    run: Run
    log: Log
    execute: Callable[[Program], Ran]
    halt: Callable[[], None]
    watch: Watcher
    ready: Callable[[Target], Target] = lambda target: target
    owed: Callable[[Iterable[Row]], list[Row]] = to_ask
    patience: Patience = field(default_factory=Patience)
    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = monotonic
    providers: Callable[[str], Provider] = lambda kind: plugins.find("providers", kind)


async def carry_out(bench: Bench) -> dict[str, str]:
    """Ask and mark all that is owed.

    Returns:
        For each target that could not be finished, why.

    Raises:
        InputError: nothing at all could be asked, because the only target cannot be opened; or the budget cannot be
            kept.
    """
    check(bench.budget, bench.run.plan)
    events, _ = bench.run.events()
    rows = fold(bench.run.plan, bench.run.cases, events)
    ledger = Ledger(bench.budget, bench.run.plan, bench.run.cases, bench.clock)
    ledger.read(events)
    del events
    unfinished: dict[str, str] = {}
    with _quick_turns(), ThreadPoolExecutor(1, "marking") as executor:
        async with _Marking(bench, executor) as marking:
            for row in to_mark(rows):
                marking.put(row.case, row.attempt)
            for target in bench.run.plan.targets:
                owed = longest_first(row for row in bench.owed(rows) if row.job.label == target.label)
                try:
                    why = await _in_time(bench, marking, ledger, bench.ready(target), owed) if owed else ""
                except InputError as error:
                    if len(bench.run.plan.targets) == 1:
                        raise
                    why = error.message
                if why:
                    unfinished[target.label] = why
    return unfinished


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Let the event loop have the interpreter soon after bytes arrive, however busy the marking thread is.

    With Python's own 5 ms each wake-up beside a busy thread is 5 ms late, and so is the stamp of a token; with 0.1 ms
    it is 0.3 ms (medians, measured).
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class _Marking:
    """Marks attempts in one thread of its own, in the order in which they came."""

    def __init__(self, bench: Bench, executor: ThreadPoolExecutor) -> None:
        self._bench = bench
        self._executor = executor
        self._waiting: deque[tuple[Case, Attempt]] = deque()
        self._news = asyncio.Event()
        self._is_closing = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_closing = True
        self._news.set()
        if kind is not None:
            self._task.cancel()
            self._bench.halt()
        try:
            await self._task
        except asyncio.CancelledError:
            if kind is None:
                raise

    def put(self, case: Case, attempt: Attempt | None) -> None:
        if self._task.done():
            # What ended it, a failing sandbox say, must not be found out when everything has been asked and paid for.
            self._task.result()
        if attempt is not None:
            self._waiting.append((case, attempt))
            self._news.set()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting or not self._is_closing:
            self._news.clear()
            if not self._waiting:
                await self._news.wait()
                continue
            try:
                made = await loop.run_in_executor(self._executor, self._some)
            except Stopped:
                return
            await self._bench.log.append_soon(*made)
            for each in made:
                self._bench.watch.marked(each)

    def _some(self) -> list[Verdict]:
        """Mark for a moment: handing over each verdict alone would cost more than most of them take to find."""
        until = monotonic() + _MARKED_AT_A_TIME_S
        made: list[Verdict] = []
        while self._waiting and (not made or monotonic() < until):
            case, attempt = self._waiting.popleft()
            made.append(verdict(case, attempt, self._bench.execute, self._bench.run.plan))
        return made


async def _in_time(bench: Bench, marking: _Marking, ledger: Ledger, target: Target, owed: Sequence[Row]) -> str:
    """Ask a target, cutting off at the end of the time that there is."""
    if ledger.is_time_over or not ledger.has_room(target, owed[0].case):
        return ledger.why()
    try:
        async with asyncio.timeout(ledger.cut_s) as limit:
            return await _target(bench, marking, ledger, target, owed)
    except TimeoutError:
        if not limit.expired():
            raise
        return ledger.why()


async def _target(bench: Bench, marking: _Marking, ledger: Ledger, target: Target, owed: Sequence[Row]) -> str:
    async with bench.providers(target.kind).open(target) as session:
        window = _window(target, session.served)
        if window is not None and all(row.case.needs.context_tokens > window for row in owed):
            least = min(row.case.needs.context_tokens for row in owed)
            raise InputError(
                f"the context of '{target.label}' is too small: {window:,} tokens, the smallest case needs {least:,}",
                hint="serve it with a larger context, or raise `context_length` in models.yaml",
            )
        owed, lacking = parted(session, owed) if isinstance(session, Shelved) else (owed, "")
        if not owed:
            return lacking
        bench.log.append(Opened(label=target.label, at=now(), served=session.served))
        bench.watch.opened(target, session.served)
        asking = _Asking(bench, marking, ledger, target, session)
        await asking.ask_all(_fitting(bench, owed, window))
        return asking.gave_up or lacking


def _fitting(bench: Bench, owed: Sequence[Row], window: int | None) -> list[Row]:
    """The rows that fit into the window; the others get their verdict unasked."""
    if window is None:
        return list(owed)
    for row in owed:
        if row.case.needs.context_tokens > window:
            _record(bench, skipped(row, row.case.needs.context_tokens, window))
    return [row for row in owed if row.case.needs.context_tokens <= window]


def _record(bench: Bench, verdict: Verdict) -> None:
    bench.log.append(verdict)
    bench.watch.marked(verdict)


def _window(target: Target, served: Served) -> int | None:
    known = [length for length in (target.context_length, served.context_length) if length is not None]
    return min(known) if known else None


class _Asking:
    """Asks the rows of one open target side by side; counts what is in flight and how many failures came in a row."""

    def __init__(self, bench: Bench, marking: _Marking, ledger: Ledger, target: Target, session: Session) -> None:
        self._bench = bench
        self._marking = marking
        self._ledger = ledger
        self._target = target
        self._slots = Slots(allowed(target, session.served), self._say)
        self._asker = Asker(session, target, bench.patience, say=self._say, overloaded=self._slots.overloaded)
        self._tasks: set[asyncio.Task[None]] = set()
        self._beside: dict[Job, int] = {}
        self._failures = 0
        self._is_shelved = isinstance(session, Shelved)
        self._error: BaseException | None = None
        self.gave_up = ""

    async def ask_all(self, owed: Sequence[Row]) -> None:
        """Ask these, in order, until none is left or the target is given up; the first error ends it all."""
        if not owed:
            return
        await self._asker.prepare()
        queue = deque(owed)
        try:
            while self._error is None and (self._tasks or (queue and not self.gave_up)):
                while queue and self._may_begin(queue[0]):
                    self._begin(queue.popleft())
                if self._tasks:
                    await self._slots.change()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._error is not None:
            raise self._error

    def _may_begin(self, row: Row) -> bool:
        if self.gave_up or self._slots.in_flight >= self._slots.now:
            return False
        if self._ledger.is_time_over:
            self.gave_up = self._ledger.why()
        elif not self._ledger.has_room(self._target, row.case):
            # What is in flight is counted at its worst: there may be room again when it has ended.
            self.gave_up = "" if self._tasks else self._ledger.why()
            return False
        return not self.gave_up

    def _begin(self, row: Row) -> None:
        self._ledger.begin(self._target, row.job)
        task = asyncio.create_task(self._one(row, self._slots.take()))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and self._error is None:
            self._error = task.exception()
        self._slots.stir()

    async def _one(self, row: Row, slot: Slot) -> None:
        attempt = await self._attempt(row, slot)
        self._ledger.book(attempt)
        await self._bench.log.append_soon(attempt)
        self._bench.watch.asked(attempt)
        if attempt.failure is None:
            self._marking.put(row.case, attempt)
        elif attempt.failure.kind == "context":
            job, why = row.job, attempt.failure.message
            _record(self._bench, Verdict(job=job, case_hash=row.case.hash, outcome="skipped", score=0.0, why=why))

    async def _attempt(self, row: Row, slot: Slot) -> Attempt:
        self._beside[row.job] = 0
        for job in self._beside:
            self._beside[job] = max(self._beside[job], len(self._beside))
        with slot:
            try:
                asked = await self._asker.conduct(row.case, row.job.repeat)
            finally:
                beside = self._beside.pop(row.job)
            # Before the slot is free: nothing more may be sent to a target that has just been given up.
            self._heed(asked.failure)
            if asked.failure is None:
                slot.accepted()
        return Attempt(
            job=row.job,
            case_hash=row.case.hash,
            at=now(),
            replies=asked.replies,
            failure=asked.failure,
            recoveries=asked.recoveries,
            max_tokens=asked.max_tokens,
            cost_usd=cost(_billed(asked), self._target.price),
            in_flight=beside,
        )

    def _heed(self, failure: Failure | None) -> None:
        """Give the target up where a failure says that the next request would fare no better."""
        if failure is None or self._is_shelved:
            self._failures = 0
        elif failure.kind in {"auth", "wrong_model"}:
            self.gave_up = failure.message
        elif failure.kind not in _OF_ONE_CASE:
            self._failures += 1
            if self._failures >= _FAILURES_IN_A_ROW:
                self.gave_up = failure.message

    def _say(self, what: str) -> None:
        event = Adapted(label=self._target.label, at=now(), what=what)
        self._bench.log.append(event)
        self._bench.watch.adapted(event)


def _billed(asked: Asked) -> tuple[Reply, ...]:
    """Every reply that was paid for; where no recovery helped, the first that was lost is also the one that stands."""
    lost = (reply for each in asked.recoveries for reply in each.lost[0 if each.mode else 1 :])
    return (*asked.replies, *lost)
