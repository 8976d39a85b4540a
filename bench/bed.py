"""What the benches share: a run of made cases in a folder that goes away, carried out by the real scheduler."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from crucibleforge import machine
from crucibleforge.chat import Dialogue, Message
from crucibleforge.programs import Program, Ran
from crucibleforge.run.plan import Settings, make
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import now, opened
from crucibleforge.types import Case, Grading, Needs, Selection, Target, Thinking


class Nobody:
    """Watches nothing."""

    def opened(self, *_: object) -> None: ...
    def asked(self, *_: object) -> None: ...
    def marked(self, *_: object) -> None: ...
    def adapted(self, *_: object) -> None: ...


@dataclass(frozen=True)
class Took:
    """Wall seconds of asking and marking, and how many rows passed and failed."""

    wall_s: float
    settled: int
    passed: int


def target(url: str, slots: int) -> Target:
    return Target(
        label="fake",
        provider="bench",
        kind="openai",
        model_id="fake",
        base_url=url,
        concurrency=slots,
        thinking=Thinking(mode="off"),
    )


def case(number: int, script: dict, max_tokens: int = 64, rounds: int = 1) -> Case:
    """A numeric case whose prompt tells the endpoint what to do."""
    messages = (Message("user", json.dumps(script) if script else f"How much is {number} + 42 - {number}?"),)
    dialogue = Dialogue(messages, max_tokens, turns=("And now?",) * (rounds - 1), max_rounds=rounds)
    return Case(
        id=f"math/made/L1.{number}",
        hash=f"{number:08x}",
        dialogue=dialogue,
        expected=42,
        grading=Grading("numeric", {}),
        needs=Needs(1000),
    )


@contextmanager
def run_of(cases: Sequence[Case], asked: Target) -> Iterator[folder.Run]:
    settings = Settings(
        suite=tuple(cases),
        selection=Selection(),
        form="canonical",
        repeats=1,
        isolation="not needed",
        machine=machine.describe(),
        created=now(),
    )
    with tempfile.TemporaryDirectory(prefix="crucibleforge-bench-") as place:
        yield folder.create(Path(place), make((asked,), cases, settings), cases)


def carry(run: folder.Run) -> Took:
    def nothing(program: Program) -> Ran:
        raise AssertionError(program)

    with opened(run.folder) as log:
        began = perf_counter()
        unfinished = asyncio.run(carry_out(Bench(run=run, log=log, execute=nothing, halt=lambda: None, watch=Nobody())))
        wall_s = perf_counter() - began
    assert not unfinished, unfinished
    rows = run.rows()
    settled = sum(row.is_settled for row in rows)
    assert settled == len(rows), f"{settled} of {len(rows)} rows are settled"
    return Took(wall_s, settled, sum(row.verdict.outcome == "pass" for row in rows if row.verdict))
