"""What a family is made of. A family is one file with a constant `FAMILY`.

`generate` draws an instance. `solve` finds its answer, `verify` finds it again by another method and may call nothing
that `solve` calls. `ask` puts the instance into words. `right` and `near_misses` are replies that must and must not
pass, `shortcuts` what a model would say that did not think. `_contract` holds every family to that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from crucibleforge.chat import Reply, Tool, ToolAnswer
from crucibleforge.families._draw import Draw
from crucibleforge.types import Grading, Rung

ANSWER_LINE = "End with one line `ANSWER: <value>`."
"""The sentence that ends every prompt with a short answer; the extractor accepts more than it asks for."""

SLOTS: dict[Rung, int] = {"L1": 1, "L2": 1, "L3": 2, "L4": 2, "L5": 1}
"""Canonical cases of a family by rung: two thirds of those that count are hard."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What is asked. `prompt` is the first user message; the fields are those of `chat.Dialogue`.

    `settings` are laid over the family's grader settings.
    """

    prompt: str
    system: str = ""
    turns: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()
    max_rounds: int = 1
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """One drawn instance and what follows from it: the answer as JSON (a case's `expected`) and the draft."""

    instance: Any
    answer: Any
    draft: Draft


Dialogues = tuple[tuple[Reply, ...], ...]
"""Several dialogues, each the replies of one model from first to last."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of question on five rungs.

    L1 is smoke: a small model may pass it. L2 is the core, L3 and L4 are hard, L5 is a reserve that is not scored yet.
    `rungs` holds each rung's parameters, `slots` the number of its canonical cases; `max_tokens` bounds a reply and
    `prompt_tokens` a prompt (upper estimate at three characters a token).

    An instance is a frozen dataclass, or JSON. Two instances that ask the same are equal after `fingerprint`.
    `effort` is what the instance costs a solver, in any unit; it must not fall from rung to rung. `covariates` are
    further numbers in which a fresh form must resemble the canonical one.

    `chance` is the pass rate of guessing. `shortcuts` gives one dialogue a strategy, always in the same order. `shown`
    is the reason why the answer may stand in the prompt (it is one of the listed names, the haystack holds it); empty:
    it must not. `shared` names functions that `solve` and `verify` may both call, because they only read the instance.
    `small` are parameters under which `verify` may do by brute force what it cannot do on the rungs; None: the rungs
    themselves serve. `mutants` are wrong answers that no right reply may pass with; None: every leaf of the answer is
    changed in turn.

    For programs: `hidden` draws inputs that no file holds, each {"args", "returns"[, "size"]}; `slow` are sources that
    are right and must run out of time.

    `cost` is how many times fewer draws the laws look at, for instances that take long to make.
    """

    name: str
    rungs: dict[Rung, Any]
    generate: Callable[[Any, Draw], Any]
    solve: Callable[[Any], Any]
    verify: Callable[[Any], Any]
    ask: Callable[[Any], Draft]
    grading: Grading
    right: Callable[[Item], Dialogues]
    near_misses: Callable[[Item], Dialogues]
    shortcuts: Callable[[Item], Dialogues]
    effort: Callable[[Any], float]
    max_tokens: dict[Rung, int]
    prompt_tokens: dict[Rung, int]
    version: int = 1
    slots: dict[Rung, int] = field(default_factory=lambda: dict(SLOTS))
    fingerprint: Callable[[Any], Any] | None = None
    covariates: Callable[[Any], dict[str, float]] | None = None
    chance: float = 0.0
    shown: str = ""
    shared: tuple[str, ...] = ()
    small: Any = None
    mutants: Callable[[Item], list[Any]] | None = None
    hidden: Callable[[Any, Draw], list[dict[str, Any]]] | None = None
    slow: Callable[[Item], tuple[str, ...]] | None = None
    cost: int = 1
