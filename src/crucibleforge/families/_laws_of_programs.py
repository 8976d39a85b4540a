"""Laws about cases that are marked by running: our own solution passes, and what is too slow runs out of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from crucibleforge.families._build import hidden
from crucibleforge.families._dress import said
from crucibleforge.families._law import Drawn, Look, called, json, marked, short
from crucibleforge.families._laws_of_marks import runs_programs
from crucibleforge.programs import Program, Ran
from crucibleforge.types import RUNGS, Case

_SEEDS = ("first", "second")
SLOWEST_S = 3.0
"""CPU seconds of our own solution on any one input: a model's program may take ten times as long."""


def of_case(look: Look, one: Drawn) -> Iterator[str]:
    """The reference passes on stored and hidden inputs; slow programs and those that know the stored inputs do not."""
    if not runs_programs(look):
        return
    reference = one.case.grading.settings.get("reference", "")
    if not one.item.answer or not reference:
        yield one.at("a case that is marked by running needs inputs in its answer and a `reference` in its settings")
        return
    fresh: list[dict[str, Any]] = []
    if one.slot == 1 or look.extent.is_whole:
        seeds = _SEEDS if one.rung == RUNGS[0] or look.extent.is_whole else _SEEDS[:1]
        drawn = [called("hidden", hidden, look.family, one.item.instance, one.case.id, seed) for seed in seeds]
        fresh = drawn[0]
        if not all(drawn):
            yield one.at("no hidden inputs, so that the stored ones could be known by heart")
        elif len(drawn) > 1 and json(drawn[0]) == json(drawn[1]):
            yield one.at("two seeds give the same hidden inputs")
    case = msgspec.structs.replace(one.case, expected=[*one.item.answer, *fresh])
    slowest: list[float] = [0.0]

    def timed(program: Program) -> Ran:
        ran = look.run(program)
        slowest.extend(ran.cpu_s)
        return ran

    finding = marked(case, (said(f"```python\n{reference}```"),), timed)
    look.tally["references"] += 1
    if finding.outcome != "pass":
        yield one.at(f"the reference does not pass: {finding.why}")
        return
    if max(slowest) > SLOWEST_S:
        yield one.at(f"the reference takes {max(slowest):.1f} s of CPU on one input, at most {SLOWEST_S:g}")
    if fresh:
        yield from _by_heart(look, one, case)
        yield from _too_slow(look, one, case)


def _by_heart(look: Look, one: Drawn, case: Case) -> Iterator[str]:
    settings = one.case.grading.settings
    if settings.get("form", "function") != "function":
        return
    table = {repr(call["args"]): call["returns"] for call in one.item.answer}
    source = f"TABLE = {table!r}\n\n\ndef {settings['entry']}(*args):\n    return TABLE.get(repr(list(args)))\n"
    look.tally["refused"] += 1
    if any(not call.get("size") for call in case.expected[len(one.item.answer) :]):
        case = msgspec.structs.replace(case, expected=_small(case.expected))
    if marked(case, (said(f"```python\n{source}```"),), look.run).outcome == "pass":
        yield one.at("a program that knows the stored inputs by heart passes")


def _too_slow(look: Look, one: Drawn, case: Case) -> Iterator[str]:
    if look.family.slow is None or look.tally["timed rungs"] >= look.extent.timed:
        return
    programs: tuple[str, ...] = called("slow", look.family.slow, one.item)
    look.tally["timed rungs"] += bool(programs)
    sized = [call for call in case.expected if call.get("size")]
    if programs and not sized:
        yield one.at("slow programs but no input with a size to find them out")
        return
    for number, source in enumerate(programs, start=1):
        reply = (said(f"```python\n{source}```"),)
        right = marked(msgspec.structs.replace(case, expected=_small(case.expected)), reply, look.run)
        if right.outcome != "pass":
            yield one.at(f"slow program {number} is wrong, not slow: {right.why}")
            continue
        finding = marked(case, reply, look.run)
        look.tally["timed out"] += 1
        if "time limit" not in finding.why:
            yield one.at(f"slow program {number} does not run out of time: {finding.outcome}, {short(finding.why)}")


def _small(inputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The inputs that measure no growth."""
    return [call for call in inputs if not call.get("size")]
