"""Events to rows: case facts, the last attempt, the last verdict about it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crucibleforge.types import Attempt, Case, Event, Job, Row, RunPlan, Verdict


def jobs(plan: RunPlan) -> Iterable[Job]:
    """Every job of a plan: targets in turn, cases in the suite's order, then repeats."""
    for target in plan.targets:
        for case_id in plan.case_hashes:
            for repeat in range(1, plan.repeats + 1):
                yield Job(target.label, case_id, repeat)


def fold(plan: RunPlan, cases: dict[str, Case], events: Iterable[Event]) -> list[Row]:
    """One row a job, in the plan's order. A new attempt voids the verdict about the one before it."""
    rows = {job: Row(job, cases[job.case_id]) for job in jobs(plan)}
    for event in events:
        match event:
            case Attempt() if event.job in rows:
                rows[event.job] = Row(event.job, rows[event.job].case, event)
            case Verdict() if event.job in rows:
                rows[event.job] = msgspec.structs.replace(rows[event.job], verdict=event)
            case _:
                pass
    return list(rows.values())
