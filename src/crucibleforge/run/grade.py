"""Mark rows: the grader decides, the sandbox runs what must be run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from crucibleforge.graders._mark import mark
from crucibleforge.programs import Program, Ran
from crucibleforge.suite.hidden import seed_of, with_hidden
from crucibleforge.types import Attempt, Case, Row, RunPlan, Verdict


def verdict(case: Case, attempt: Attempt, run: Callable[[Program], Ran], plan: RunPlan) -> Verdict:
    """The verdict on an attempt that has its replies. The same attempt always gets the same one.

    All targets and repeats of a plan get the same hidden inputs, which are drawn from its seed.
    """
    finding, grader, isolation = mark(case, attempt.replies, run, partial(with_hidden, seed=plan.seed, form=plan.form))
    return Verdict(
        job=attempt.job,
        case_hash=attempt.case_hash,
        outcome=finding.outcome,
        score=finding.score,
        why=finding.why,
        elements=finding.elements,
        grader=grader,
        isolation=isolation,
        seed=seed_of(case, isolation, plan.seed, plan.form),
    )


def skipped(row: Row, needed: int, served: int) -> Verdict:
    """The verdict on a case that does not fit the served context: neither passed nor failed."""
    return Verdict(
        job=row.job,
        case_hash=row.case.hash,
        outcome="skipped",
        score=0.0,
        why=f"needs up to {needed:,} tokens of context, {served:,} served",
    )


def current(case: Case, suite: Sequence[Case]) -> Case:
    """A stored case with today's marking, where the suite still asks the very same question."""
    for other in suite:
        if other.id == case.id and other.hash == case.hash:
            return msgspec.structs.replace(case, expected=other.expected, grading=other.grading)
    return case
