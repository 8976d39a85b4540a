"""A plan: what will be asked of whom, fixed before the first request. Pure, and an estimate of what it takes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from math import ceil

import msgspec
from msgspec import Struct

from crucibleforge.run.order import PREFILL_FACTOR, prompt_tokens
from crucibleforge.store.folder import run_id
from crucibleforge.suite.expand import revision
from crucibleforge.suite.hidden import new_seed
from crucibleforge.types import Case, Machine, RunPlan, Selection, Target

FORMAT = 1
DEFAULT_TOK_PER_S = 30.0
"""Assumed where no earlier run of the model has told: about what a reader's own GPU gives with a mid-size model."""


class Settings(Struct, frozen=True, kw_only=True):
    """How a run is done, beyond what is asked of whom. Each has a seed of its own, which is no part of the key."""

    suite: tuple[Case, ...]
    selection: Selection
    form: str
    repeats: int
    isolation: str
    machine: Machine
    created: str
    seed: str = msgspec.field(default_factory=new_seed)


class Estimate(Struct, frozen=True, kw_only=True):
    """What one target's part of a plan takes at most; `cost_usd` None without a price.

    `minutes` is a guess, None where the replies are there already and are only read.
    """

    label: str
    rows: int
    prompt_tokens: int
    completion_tokens: int
    tok_per_s: float
    is_measured: bool
    minutes: float | None
    cost_usd: float | None


def make(targets: Sequence[Target], cases: Sequence[Case], settings: Settings) -> RunPlan:
    """The plan for these targets and cases; its key is the same whenever the same would be asked."""
    hashes = {case.id: case.hash for case in cases}
    asked = msgspec.json.encode((FORMAT, [target.identity for target in targets], hashes, settings.repeats))
    key = hashlib.sha256(asked).hexdigest()[:8]
    return RunPlan(
        v=FORMAT,
        id=run_id(settings.created, [target.label for target in targets], key),
        key=key,
        created=settings.created,
        revision=revision(settings.suite),
        targets=tuple(targets),
        case_hashes=hashes,
        repeats=settings.repeats,
        selection=settings.selection,
        form=settings.form,
        isolation=settings.isolation,
        version=version("crucibleforge"),
        machine=settings.machine,
        seed=settings.seed,
    )


def estimate(target: Target, cases: Sequence[Case], repeats: int, tok_per_s: float | None) -> Estimate:
    """An upper bound in tokens and money, a guess in minutes.

    Every reply is taken to use its whole budget; `tok_per_s` is the speed of an earlier run, None without one.
    """
    prompt = repeats * sum(ceil(prompt_tokens(case)) for case in cases)
    completion = repeats * sum(case.dialogue.max_tokens * case.dialogue.max_rounds for case in cases)
    speed = tok_per_s or DEFAULT_TOK_PER_S
    seconds = (completion / speed + prompt / (speed * PREFILL_FACTOR)) / (target.concurrency or 1)
    cost = None
    if target.price:
        cost = (prompt * target.price.input + completion * target.price.output) / 1e6
    return Estimate(
        label=target.label,
        rows=repeats * len(cases),
        prompt_tokens=prompt,
        completion_tokens=completion,
        tok_per_s=speed,
        is_measured=tok_per_s is not None,
        minutes=None if target.kind == "replies" else seconds / 60,
        cost_usd=cost,
    )
