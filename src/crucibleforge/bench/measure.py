"""Measure a model's speed: send the requests of the protocol and keep what comes back.

Everything is kept as it comes, so that whoever is interrupted still has what was measured up to then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from msgspec import Struct
from msgspec.structs import replace

from crucibleforge.bench._lag import Lag, watched
from crucibleforge.bench.measured import Cell, Course, Kept, Measured, cell, measured, row_of
from crucibleforge.bench.protocol import (
    QUICK_S,
    QUICK_TURN_S,
    WARM_UP,
    Guess,
    Options,
    Planned,
    further,
    order,
    plan,
    request,
    seconds,
    sent_characters,
    too_deep,
)
from crucibleforge.chat import Request
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.providers import Session
from crucibleforge.speed.client import verdict
from crucibleforge.speed.load import Load, is_enough
from crucibleforge.speed.sample import Sample, failed, sample

_MOST_FAILURES = 3
_REPLIES_A_LANE = 3
_LONGEST_WARM_UP_S = 5.0
_ASKED_FOR = {"depth", "load"}
"""`quick` has none of these by itself; whoever asks for them waits for them beyond its minute."""
_PACE = 4.0
_OUT_OF_TIME = "{} is left out, or in part: out of time"
_SLOWEST_PER_S = 0.5
"""Assumed where the warm-up's reply was too short for a rate."""


class Progress(Struct, frozen=True, omit_defaults=True):
    """Where the measuring stands. `sample` is what has just come; None: the request is about to be sent.

    `rep` counts from 1. `left_s` is about how long the rest will take.
    """

    cell: str
    rep: int
    reps: int
    left_s: float
    sample: Sample | None = None


class Measurement:
    """One model, measured once: `run`, and then, even where that was cut short, `result`.

    `tell` hears of every request as it is sent and as it comes back; `clock` counts seconds.
    """

    def __init__(
        self,
        session: Session,
        options: Options,
        tell: Callable[[Progress], None] = lambda _: None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._session = session
        self._options = options
        self._tell = tell
        self._clock = clock
        self._guess = Guess(_SLOWEST_PER_S, 1.0)
        self._kept: dict[str, Kept] = {}
        self._notes: list[str] = []
        self._client = verdict([], 0.0, 0.0)
        self._began_s = clock()
        self._took_s = 0.0
        self._left_s = 0.0
        self._beyond_s = 0.0
        self._in_a_row = 0
        self._is_whole = False

    def result(self) -> Measured:
        """What has been measured so far."""
        course = Course(self._took_s, self._client, self._is_whole, tuple(dict.fromkeys(self._notes)))
        return measured(self._options, self._cells(), course)

    async def run(self) -> None:
        """Measure everything that the options ask for; a cancelled one keeps what had come by then.

        Raises:
            Trouble: not even the warm-up brought a reply.
        """
        self._began_s = self._clock()
        try:
            async with watched() as lag:
                try:
                    await self._warm_up()
                    await self._cells_in_turn(lag)
                finally:
                    self._client = lag.client()
            self._is_whole = True
        finally:
            self._took_s = self._clock() - self._began_s
            self._notes += self._session.notices()

    async def _warm_up(self) -> None:
        """Wake everything up with requests of the real shape, and learn by the last how fast the model is."""
        for rep in range(WARM_UP.reps):
            asked = self._request(WARM_UP, rep)
            self._tell(Progress(WARM_UP.name, rep + 1, WARM_UP.reps, 0.0))
            taken = sample(await self._session.ask(asked))
            self._keep(WARM_UP, taken, asked)
            self._guess = _guessed(taken, sent_characters(asked), self._session)
            self._tell(Progress(WARM_UP.name, rep + 1, WARM_UP.reps, 0.0, taken))
            if self._clock() - self._began_s > _LONGEST_WARM_UP_S:
                return

    async def _cells_in_turn(self, lag: Lag) -> None:
        cells = plan(self._options, self._guess)
        left_out = too_deep(self._options, self._guess)
        self._notes += [f"depth {depth} does not fit the window and is left out" for depth in left_out]
        owed = list(order(cells))
        costs = [seconds(planned, self._guess) for planned, _ in owed]
        rows: list[Load] = []
        turn, turn_began_s, spent_s, done_s = -1, 0.0, 0.0, 0.0
        for at, (planned, rep) in enumerate(owed):
            if self._in_a_row >= _MOST_FAILURES:
                self._notes.append(f"{_MOST_FAILURES} requests in a row failed: the rest is left out")
                return
            # The guess was made of one short reply; how it has turned out so far says how the rest will.
            pace = min(max(spent_s / done_s, 1 / _PACE), _PACE) if done_s else 1.0
            self._left_s = pace * sum(costs[at:])
            began_s = self._clock()
            if planned.turn != turn:
                turn, turn_began_s = planned.turn, began_s
            if self._is_late(planned, began_s - turn_began_s if rep else 0.0, pace * costs[at]):
                self._notes.append(_OUT_OF_TIME.format(planned.name))
            elif planned.kind == "load" and rows and is_enough(rows, self._guess.slots, self._options.slo):
                self._notes.append(f"{planned.name} is left out: more streams would gain nothing")
            else:
                rows += await (self._load(planned, lag, rows) if planned.kind == "load" else self._alone(planned, rep))
                took_s = self._clock() - began_s
                spent_s, done_s = spent_s + took_s, done_s + costs[at]
                self._beyond_s += took_s if planned.kind in _ASKED_FOR else 0.0

    def _is_late(self, planned: Planned, in_turn_s: float, cost_s: float) -> bool:
        """True when the request would take `quick` over its minute, or its turn over what that may take.

        The first of each cell is held to the minute alone, so that no cell is left without any.
        """
        if self._options.mode != "quick" or planned.kind in _ASKED_FOR:
            return False
        turn_s = self._options.share * QUICK_TURN_S.get(planned.turn, QUICK_S)
        return self._left_of_quick_s() < cost_s or (in_turn_s > 0 and in_turn_s + cost_s > turn_s)

    def _left_of_quick_s(self) -> float:
        return self._options.quick_s + self._beyond_s - (self._clock() - self._began_s)

    async def _alone(self, planned: Planned, rep: int) -> list[Load]:
        """One request, or a conversation of two; no row of the table comes of it."""
        asked = self._request(planned, rep)
        taken = await self._ask(planned, asked, rep)
        if planned.kind == "cached" and taken.reply is not None:
            await self._ask(planned, further(asked, taken.reply.text), rep)
        return []

    async def _load(self, planned: Planned, lag: Lag, rows: list[Load]) -> list[Load]:
        """All lanes until each has had its part of requests and the time is over."""
        numbers, mark = iter(range(1_000_000)), len(lag.lags_s)
        until_s = self._clock() + planned.least_s
        kept = self._opened(planned)
        least = _REPLIES_A_LANE * planned.streams

        async def lane(number: int) -> None:
            while self._clock() < until_s or len(kept.samples) < least:
                await self._ask(planned, self._request(planned, next(numbers)), len(kept.samples), number)
                if self._in_a_row >= _MOST_FAILURES * planned.streams:
                    return

        async with asyncio.TaskGroup() as lanes:
            for number in range(planned.streams):
                lanes.create_task(lane(number))
        kept.lag_p99_s = verdict(lag.lags_s[mark:], 0.0, 0.0).lag_p99_s
        row = row_of(self._cell(kept), rows[0] if rows else None, self._options)
        return [] if row is None else [row]

    def _request(self, planned: Planned, number: int) -> Request:
        asked = request(planned, self._options.run_id, number, self._guess.characters_per_token)
        if self._options.mode != "quick" or planned.kind in _ASKED_FOR:
            return asked
        return replace(asked, deadline_s=max(self._left_of_quick_s(), 1.0))

    async def _ask(self, planned: Planned, asked: Request, rep: int, lane: int = 0) -> Sample:
        self._tell(Progress(planned.name, rep + 1, planned.reps, self._left_s))
        try:
            taken = sample(await self._session.ask(asked))
        except Trouble as trouble:
            taken = failed(f"{trouble.kind}: {trouble.message}")
            if trouble.kind == "timeout" and self._options.mode == "quick" and self._left_of_quick_s() <= 0:
                # It was cut off by us, which is no failure of the server's.
                self._notes.append(_OUT_OF_TIME.format(planned.name))
                return taken
        except Malformed as malformed:
            taken = failed(f"malformed: {malformed.message}")
        self._in_a_row = 0 if taken.is_whole else self._in_a_row + 1
        self._keep(planned, taken, asked, lane)
        self._tell(Progress(planned.name, rep + 1, planned.reps, self._left_s, taken))
        return taken

    def _keep(self, planned: Planned, taken: Sample, asked: Request, lane: int = 0) -> None:
        kept = self._opened(planned)
        kept.samples.append(taken)
        kept.lanes.append(lane)
        kept.sent_characters.append(sent_characters(asked))

    def _opened(self, planned: Planned) -> Kept:
        empty = Kept(plan=planned, samples=[], lanes=[], sent_characters=[])
        return self._kept.setdefault(planned.name, empty)

    def _cells(self) -> list[Cell]:
        return [self._cell(kept) for kept in self._kept.values()]

    def _cell(self, kept: Kept) -> Cell:
        return cell(kept, self._guess.characters_per_token)


def _guessed(taken: Sample, characters: int, session: Session) -> Guess:
    """Speeds and lengths by one short reply."""
    decode = taken.decode.per_s if taken.decode is not None else taken.e2e_per_s
    first_s, tokens = taken.ttft_any_s, taken.prompt_tokens
    return Guess(
        decode_per_s=max(decode or _SLOWEST_PER_S, _SLOWEST_PER_S),
        prefill_per_s=max((tokens or characters / 4) / first_s, 1.0) if first_s else 1.0,
        characters_per_token=characters / tokens if tokens else 4.0,
        context_tokens=session.served.context_length,
        slots=session.served.slots,
    )
