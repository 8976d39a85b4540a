"""Carry out what a run owes: targets one after the other, requests side by side, marking beside them.

Rows are written as they come, so whatever ends this — Ctrl-C, a crash, a dead server — loses only the requests that
were in flight.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, Self

import msgspec

from crucibleforge import plugins
from crucibleforge.errors import InputError, Stopped
from crucibleforge.programs import Program, Ran
from crucibleforge.providers import Provider, Session
from crucibleforge.run.ask import Patience, conduct, cost
from crucibleforge.run.grade import skipped, verdict
from crucibleforge.run.owed import to_ask, to_mark
from crucibleforge.store.folder import Run
from crucibleforge.store.log import Log, now
from crucibleforge.types import Attempt, Case, Failure, Job, Opened, Row, Served, Target, Verdict

_FAILURES_IN_A_ROW = 3


class Watcher(Protocol):
    """Who wants to know how it goes: the terminal."""

    def opened(self, target: Target, served: Served) -> None:
        """A target is ready to be asked."""

    def asked(self, attempt: Attempt) -> None:
        """A case has its replies, or failed for a reason that is not the model's."""

    def marked(self, verdict: Verdict) -> None:
        """A case has its verdict."""


@dataclass(frozen=True)
class Bench:
    """All that carrying out a run needs; `halt` ends what `execute` is doing, from another thread.

    `located` gives the model file of targets whose plan names none.
    """

    run: Run
    log: Log
    execute: Callable[[Program], Ran]
    halt: Callable[[], None]
    watch: Watcher
    located: dict[str, str] = field(default_factory=dict)
    patience: Patience = field(default_factory=Patience)
    providers: Callable[[str], Provider] = lambda kind: plugins.find("providers", kind)


async def carry_out(bench: Bench) -> dict[str, str]:
    """Ask and mark all that is owed.

    Returns:
        For each target that could not be finished, why.

    Raises:
        InputError: nothing at all could be asked, because the only target cannot be opened.
    """
    rows = bench.run.rows()
    unfinished: dict[str, str] = {}
    with ThreadPoolExecutor(1, "marking") as executor:
        async with _Marking(bench, executor) as marking:
            for row in to_mark(rows):
                marking.put(row.case, row.attempt)
            for target in bench.run.plan.targets:
                owed = [row for row in to_ask(rows) if row.job.label == target.label]
                try:
                    why = await _target(bench, marking, target, owed) if owed else ""
                except InputError as error:
                    if len(bench.run.plan.targets) == 1:
                        raise
                    why = error.message
                if why:
                    unfinished[target.label] = why
    return unfinished


class _Marking:
    """Marks attempts in one thread of its own, in the order in which they came."""

    def __init__(self, bench: Bench, executor: ThreadPoolExecutor) -> None:
        self._bench = bench
        self._executor = executor
        self._queue: asyncio.Queue[tuple[Case, Attempt] | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._queue.put_nowait(None)
        else:
            self._task.cancel()
            self._bench.halt()
        try:
            await self._task
        except asyncio.CancelledError:
            if kind is None:
                raise

    def put(self, case: Case, attempt: Attempt | None) -> None:
        if attempt is not None:
            self._queue.put_nowait((case, attempt))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while item := await self._queue.get():
            case, attempt = item
            try:
                made = await loop.run_in_executor(self._executor, verdict, case, attempt, self._bench.execute)
            except Stopped:
                return
            self._bench.log.append(made)
            self._bench.watch.marked(made)


async def _target(bench: Bench, marking: _Marking, target: Target, owed: Sequence[Row]) -> str:
    target = msgspec.structs.replace(target, path=bench.located.get(target.label, target.path))
    async with bench.providers(target.kind).open(target) as session:
        window = _window(target, session.served)
        if window is not None and all(row.case.needs.context_tokens > window for row in owed):
            least = min(row.case.needs.context_tokens for row in owed)
            raise InputError(
                f"the context of '{target.label}' is too small: {window:,} tokens, the smallest case needs {least:,}",
                hint="serve it with a larger context, or raise `context_length` in models.yaml",
            )
        bench.log.append(Opened(label=target.label, at=now(), served=session.served))
        bench.watch.opened(target, session.served)
        asking = _Asking(bench, marking, target, session, window)
        await _together(asking.work, deque(owed), target.concurrency)
        return asking.gave_up


async def _together(work: Callable[[deque[Row]], Coroutine[None, None, None]], queue: deque[Row], count: int) -> None:
    """Run `count` workers on one queue; the first error ends them all and is raised as it is, not in a group."""
    workers = [asyncio.create_task(work(queue)) for _ in range(min(count, len(queue)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _window(target: Target, served: Served) -> int | None:
    known = [length for length in (target.context_length, served.context_length) if length is not None]
    return min(known) if known else None


class _Asking:
    """The workers of one open target; they share what is in flight and how many failures came in a row."""

    def __init__(self, bench: Bench, marking: _Marking, target: Target, session: Session, window: int | None) -> None:
        self._bench = bench
        self._marking = marking
        self._target = target
        self._session = session
        self._window = window
        self._in_flight: dict[Job, int] = {}
        self._failures = 0
        self.gave_up = ""

    async def work(self, queue: deque[Row]) -> None:
        """Take rows until none is left or the target is given up."""
        while queue and not self.gave_up:
            row = queue.popleft()
            if self._window is not None and row.case.needs.context_tokens > self._window:
                self._record(skipped(row, row.case.needs.context_tokens, self._window))
                continue
            attempt = await self._attempt(row)
            self._bench.log.append(attempt)
            self._bench.watch.asked(attempt)
            if attempt.failure is None:
                self._failures = 0
                self._marking.put(row.case, attempt)
            else:
                self._failed(row, attempt.failure)

    async def _attempt(self, row: Row) -> Attempt:
        self._in_flight[row.job] = 0
        for job in self._in_flight:
            self._in_flight[job] = max(self._in_flight[job], len(self._in_flight))
        try:
            replies, failure = await conduct(self._session, row.case.dialogue, self._bench.patience)
        finally:
            beside = self._in_flight.pop(row.job)
        return Attempt(
            job=row.job,
            case_hash=row.case.hash,
            at=now(),
            replies=replies,
            failure=failure,
            cost_usd=cost(replies, self._target.price),
            in_flight=beside,
        )

    def _failed(self, row: Row, failure: Failure) -> None:
        if failure.kind == "context":
            verdict = Verdict(job=row.job, case_hash=row.case.hash, outcome="skipped", score=0.0, why=failure.message)
            self._record(verdict)
            return
        self._failures += 1
        if failure.kind == "auth" or self._failures >= _FAILURES_IN_A_ROW:
            self.gave_up = failure.message

    def _record(self, verdict: Verdict) -> None:
        self._bench.log.append(verdict)
        self._bench.watch.marked(verdict)
