"""Records of `bench-llm` without a model: what a measurement of a simulated one and given verdicts come to."""

import asyncio

from timed_model import TimedModel

from crucibleforge.bench._question import Judged
from crucibleforge.bench.abilities import CHECKS
from crucibleforge.bench.measure import Measurement
from crucibleforge.bench.measured import Measured
from crucibleforge.bench.protocol import Options
from crucibleforge.bench.record import SCHEMA, Answer, Record, Subject
from crucibleforge.bench.summary import summarized
from crucibleforge.bench.weighed import Weighed, decode_plausibility, prefill_plausibility
from crucibleforge.speed.bounds import Model
from crucibleforge.speed.hardware import parse_hardware
from crucibleforge.types import Machine

MACHINE = Machine(system="Linux", python="3.11", cpu="CPU", cores=2, memory_bytes=8_000_000_000)
SUBJECT = Subject(label="fake", model="fake-1", server="openai", size_bytes=16_500_000_000, size_from="file", quant="Q4_K_M")


def measured(**options) -> Measured:
    """A simulated model of 100 tok/s, measured."""
    model = TimedModel()
    measurement = Measurement(model, Options("r", **({"mode": "quick"} | options)), lambda _: None, model.clock)
    asyncio.run(measurement.run())
    return measurement.result()


def answers(wrong=()) -> tuple[Answer, ...]:
    """Every check answered; those of `wrong` failed."""
    return tuple(
        Answer((check.key,), (), judged=(judged(check.key, is_right=check.key not in wrong),)) for check in CHECKS
    )


def judged(key: str, *, is_right: bool) -> Judged:
    """A verdict."""
    figure = {"figure": 0.4} if key == "brevity" else {}
    return Judged(key, "pass", 1.0, "as asked", **figure) if is_right else Judged(key, "fail", 0.0, "not as asked", **figure)


def record(speed=None, given=(), *, subject=SUBJECT, **more) -> Record:
    """A record of these parts."""
    known = Weighed(Model(dense_bytes=16.5e9), parse_hardware(["RTX 5090"]))
    decode = decode_plausibility(known, speed) if speed else None
    read = prefill_plausibility(known, speed) if speed else None
    return Record(
        summary=summarized(subject, speed, decode, given),
        schema=SCHEMA,
        version="0",
        at="2026-11-29T12:00:00Z",
        seed="5eed",
        subject=subject,
        machine=MACHINE,
        decode_plausibility=decode,
        prefill_plausibility=read,
        answers=tuple(given),
        speed=speed,
        **({"is_whole": True, "hardware": "RTX 5090", "hardware_from": "stated"} | more),
    )
