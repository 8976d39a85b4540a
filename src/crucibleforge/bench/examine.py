"""Examine one model: make room if we may, measure its speed, ask the eight checks, and put everything back.

What has been found out stands in the record at any moment, so that whoever is interrupted loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from time import monotonic
from typing import Protocol

from msgspec import Struct

from crucibleforge import machine, plugins
from crucibleforge.bench.abilities import judge, questions
from crucibleforge.bench.measure import Measurement, Progress
from crucibleforge.bench.protocol import Options
from crucibleforge.bench.record import SCHEMA, Answer, Record, Resident, Subject
from crucibleforge.bench.summary import summarized
from crucibleforge.bench.weighed import Weighed, decode_plausibility, prefill_plausibility
from crucibleforge.errors import Trouble
from crucibleforge.programs import Program, Ran
from crucibleforge.providers import Session
from crucibleforge.providers._emptied import emptied
from crucibleforge.providers._local import Found
from crucibleforge.providers._residents import load
from crucibleforge.run.ask import Asker, Patience
from crucibleforge.store.log import now
from crucibleforge.types import Served, Target

QUICK_S = 57.0
"""When the checks of `quick` end at the latest, counted from when the model is resident."""
QUICK_SPEED_S = 33.0
"""What of it the speed may take where the checks are asked as well."""


class Watch(Protocol):
    """Who is told how it goes."""

    def opened(self, served: Served) -> None:
        """The model answers."""
        ...

    def moved(self, progress: Progress) -> None:
        """A timed request is sent, or is back."""
        ...

    def asked(self, answer: Answer) -> None:
        """A question was answered and marked, or failed."""
        ...

    def say(self, text: str) -> None:
        """A line for the user."""
        ...


class Job(Struct, frozen=True, kw_only=True):
    """What is to be done with a model.

    `run` runs programs, `halt` ends the one that runs; without `run` nothing is asked but speed. `server` is who serves
    the model, if it was found on this machine, `others` are further servers that may hold the same GPU. With `consent`
    models are unloaded for the time.
    """

    target: Target
    options: Options
    weighed: Weighed
    seed: str
    version: str
    run: Callable[[Program], Ran] | None
    halt: Callable[[], None] = lambda: None
    server: Found | None = None
    others: tuple[Found, ...] = ()
    consent: bool = False


class Examination:
    """One model, examined once: `carry_out`, and then, even where that was cut short, `record`."""

    def __init__(self, job: Job, watch: Watch) -> None:
        self._job = job
        self._watch = watch
        self._at = now()
        self._subject = _subject(job, None)
        self._measurement: Measurement | None = None
        self._resident = Resident()
        self._load_s: float | None = None
        self._answers: list[Answer] = []
        self._notes: list[str] = []
        self._is_whole = False

    async def carry_out(self) -> None:
        """Do everything; a cancelled one keeps what was found out.

        Raises:
            InputError: the model cannot be opened.
            Trouble: not even the first request brought a reply.
        """
        job = self._job
        async with AsyncExitStack() as stack:
            await self._make_room(stack)
            begin_s = monotonic()
            session = await stack.enter_async_context(plugins.find("providers", job.target.kind).open(job.target))
            if job.target.kind == "llamacpp":
                # Its process was started by us, for this model: from there to its first sign of health.
                self._load_s = monotonic() - begin_s
            self._subject = _subject(job, session.served)
            self._watch.opened(session.served)
            begin_s = monotonic()
            self._measurement = Measurement(session, job.options, self._watch.moved)
            await self._measurement.run()
            if job.run is not None:
                await self._ask(session, job.run, begin_s)
        self._is_whole = True

    def record(self) -> Record:
        """What has been found out so far."""
        job, speed = self._job, None if self._measurement is None else self._measurement.result()
        decode = None if speed is None else decode_plausibility(job.weighed, speed)
        read = None if speed is None else prefill_plausibility(job.weighed, speed)
        hardware = job.weighed.hardware
        return Record(
            summary=summarized(self._subject, speed, decode, self._answers),
            schema=SCHEMA,
            version=job.version,
            at=self._at,
            is_whole=self._is_whole and (speed is None or speed.is_whole),
            seed=job.seed,
            subject=self._subject,
            machine=machine.describe(),
            hardware=hardware.name if hardware else None,
            hardware_from=("detected" if hardware.is_detected else "stated") if hardware else "",
            resident=self._resident,
            load_s=self._load_s,
            decode_plausibility=decode,
            prefill_plausibility=read,
            answers=tuple(self._answers),
            speed=speed,
            notes=tuple(self._notes),
        )

    async def _make_room(self, stack: AsyncExitStack) -> None:
        """Unload what else is in memory, where there is consent, and load this model by the server's own interface."""
        job = self._job
        for found in (*((job.server,) if job.server else ()), *job.others):
            keep = job.target.model_id if found is job.server else ""
            cleared = await stack.enter_async_context(
                emptied(found, keep=keep, consent=job.consent, say=self._watch.say)
            )
            if cleared.as_found is not None:
                so_far = self._resident
                self._resident = Resident(
                    (*(so_far.before or ()), *(one.instance for one in cleared.as_found)),
                    (*so_far.unloaded, *(one.instance for one in cleared.displaced)),
                    (*so_far.left, *(one.instance for one in cleared.left)),
                )
        if job.server is not None and job.consent:
            try:
                self._load_s = (await load(job.server, job.target.model_id)).load_s
            except Trouble as trouble:
                self._note(f"{job.target.model_id} was left to the server to load: {trouble.message}")

    async def _ask(self, session: Session, run: Callable[[Program], Ran], begin_s: float) -> None:
        job = self._job
        asker = Asker(session, job.target, Patience(), say=self._watch.say)
        is_quick = job.options.mode == "quick"
        if not is_quick:
            await asker.prepare()
        asked_now = questions(job.seed)
        for question in sorted(asked_now, key=lambda one: one.max_tokens) if is_quick else asked_now:
            keys = tuple(check.key for check in question.checks)
            left_s = QUICK_S - (monotonic() - begin_s) if is_quick else None
            if left_s is not None and left_s <= 1:
                self._note(f"{', '.join(keys)} not asked: out of time")
                continue
            try:
                async with asyncio.timeout(left_s):
                    asked = await asker.conduct(question.case)
            except TimeoutError:
                self._note(f"{', '.join(keys)} not answered in time")
                continue
            if asked.failure is not None or not asked.replies:
                why = asked.failure.message if asked.failure else "no reply"
                answer = Answer(keys, question.messages, asked.replies, failure=why)
            else:
                try:
                    judged = await asyncio.to_thread(judge, question, asked.replies[-1], run)
                except asyncio.CancelledError:
                    job.halt()
                    raise
                answer = Answer(keys, question.messages, asked.replies, judged)
            self._answers.append(answer)
            self._watch.asked(answer)

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._watch.say(text)


def _subject(job: Job, served: Served | None) -> Subject:
    target, weighed, found = job.target, job.weighed, job.server
    offered = weighed.offered
    return Subject(
        label=target.label,
        model=target.model_id,
        server=served.server if served else (found.kind if found else target.kind),
        served=served.model if served else None,
        server_version=found.version if found else None,
        base_url=target.base_url,
        file=weighed.file,
        size_bytes=weighed.size_bytes,
        size_from=weighed.size_from,
        quant=weighed.quant,
        params=offered.params if offered else None,
        context_tokens=served.context_length if served else None,
        slots=served.slots if served else None,
    )
