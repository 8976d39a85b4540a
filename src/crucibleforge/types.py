"""The nouns of CrucibleForge: frozen, typed, and all that crosses a border between modules.

No behaviour lives here beyond names that a value can answer about itself. JSON values (`expected`, tool
arguments, program inputs) are `Any`: they are whatever JSON can say.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from crucibleforge.chat import Dialogue, Reply

Rung = Literal["L1", "L2", "L3", "L4", "L5"]

RUNGS: tuple[Rung, ...] = ("L1", "L2", "L3", "L4", "L5")

Level = Literal["easy", "medium", "hard", "reserve"]

LEVELS: tuple[Level, ...] = ("easy", "medium", "hard", "reserve")
"""What users call the rungs. `reserve` is kept for the day when the hard ones are no longer: shown, never scored."""

LEVEL_OF: dict[str, Level] = {"L1": "easy", "L2": "medium", "L3": "hard", "L4": "hard", "L5": "reserve"}

Outcome = Literal["pass", "fail", "partial", "refused", "truncated", "unanswered", "pending", "skipped"]
"""Why a row counts as it does. `pending`: a judge owes it. `skipped`: it does not fit the served context."""

FailureKind = Literal[
    "transport", "timeout", "overload", "auth", "rejected", "context", "template", "wrong_model", "protocol", "runaway"
]
"""What went wrong that is not the model's doing. `context`: the prompt does not fit the served window. `template`: the
server cannot handle this model's chat template. `runaway`: more bytes than any reply may have."""


class Needs(Struct, frozen=True, omit_defaults=True):
    """What a case asks of server and machine; `context_tokens` is an upper estimate, prompt and reply together."""

    context_tokens: int
    tools: bool = False
    sandbox: bool = False
    judge: bool = False


class Grading(Struct, frozen=True):
    """Which grader marks a case, with its settings (JSON values)."""

    grader: str
    settings: dict[str, Any]


class Case(Struct, frozen=True, kw_only=True):
    """One question, complete: it can be asked and marked without its family's code.

    `id` is `category/family/rung.slot`. `hash` covers the dialogue alone, so a mended grader or gold answer
    leaves stored replies valid. `expected` is never sent to the model.
    """

    id: str
    hash: str
    dialogue: Dialogue
    expected: Any
    grading: Grading
    needs: Needs
    smoke: bool = False

    @property
    def category(self) -> str:
        """First part of the id."""
        return self.id.split("/", 1)[0]

    @property
    def family(self) -> str:
        """`category/family`, the name under which the family is found."""
        return self.id.rsplit("/", 1)[0]

    @property
    def rung(self) -> str:
        """`L1` to `L5`: how hard it is by its structure, not by what models made of it."""
        return self.id.rsplit("/", 1)[1].split(".", 1)[0]

    @property
    def level(self) -> Level:
        """`easy`, `medium`, `hard` or `reserve`."""
        return LEVEL_OF[self.rung]


class Price(Struct, frozen=True):
    """US dollars per million tokens, and who says so."""

    input: float
    output: float
    source: str = "models.yaml"


class Sampling(Struct, frozen=True, omit_defaults=True):
    """Sampling parameters; None means that the parameter is not sent."""

    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = 42


class Thinking(Struct, frozen=True, omit_defaults=True):
    """How a model that reasons before it answers is treated.

    `mode` `auto`: found out by a probe, and later by the first reply with reasoning. A thinking model gets `factor`
    times a case's budget, at most `cap` tokens. `recovery`: a reply that was lost to reasoning is asked for again,
    except in the categories of `no_recovery`.
    """

    mode: Literal["auto", "on", "off"] = "auto"
    factor: int = 4
    cap: int = 32768
    recovery: bool = True
    no_recovery: tuple[str, ...] = ()


class Target(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model as it will be asked: resolved, and without any secret.

    `kind` names the provider's module, `provider` its entry in models.yaml. `headers` hold `${NAME}` unexpanded.
    `context_length` in tokens, None: whatever the server states. `concurrency` None: found out. `timeout_s` bounds one
    request until the model's speed is known, `stall_s` the silence within a reply.
    """

    label: str
    provider: str
    kind: str
    model_id: str
    base_url: str = ""
    path: str = ""
    api_key_env: str = ""
    headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    context_length: int | None = None
    concurrency: int | None = None
    timeout_s: float = 900.0
    stall_s: float = 300.0
    verify_model: bool = False
    sampling: Sampling = Sampling()
    thinking: Thinking = Thinking()
    price: Price | None = None

    @property
    def identity(self) -> Target:
        """The target without what cannot change an answer: two runs of one identity are runs of one model."""
        return msgspec.structs.replace(
            self, price=None, concurrency=None, timeout_s=0.0, stall_s=0.0, verify_model=False, api_key_env=""
        )


class Served(Struct, frozen=True, omit_defaults=True):
    """What an opened target says of itself; None where it does not say."""

    server: str
    model: str | None = None
    context_length: int | None = None
    slots: int | None = None


class Selection(Struct, frozen=True, omit_defaults=True):
    """Which part of the suite was asked for; empty means all of it."""

    categories: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    smoke: bool = False
    profile: str = ""


class Job(Struct, frozen=True):
    """The key of everything: this target, this case, this repeat (from 1)."""

    label: str
    case_id: str
    repeat: int


class Machine(Struct, frozen=True):
    """The client's machine; `memory_bytes` is what is installed."""

    system: str
    python: str
    cpu: str
    cores: int
    memory_bytes: int


class RunPlan(Struct, frozen=True, kw_only=True):
    """Written before the first request, never changed.

    `key` is a digest of all that decides what is asked; the same command finds its run again by it. `seed` is drawn
    for this run alone: the hidden inputs of programs come from it. `form` is `canonical`, or the key that the cases
    were drawn from.
    """

    v: int
    id: str
    key: str
    created: str
    revision: str
    targets: tuple[Target, ...]
    case_hashes: dict[str, str]
    repeats: int
    selection: Selection
    isolation: str
    version: str
    machine: Machine
    seed: str = ""
    form: str = "canonical"


class Failure(Struct, frozen=True, omit_defaults=True):
    """No reply, and not the model's doing; never scored. `status` is the HTTP status, None without one."""

    kind: FailureKind
    message: str
    tries: int
    status: int | None = None


class Recovery(Struct, frozen=True, omit_defaults=True):
    """How a reply that was lost to reasoning was asked for again.

    `round` is its place in the dialogue, from 0. `lost` are the replies without an answer, all billed; `mode` the rung
    that brought one (`budget`: more tokens, `no_think`: reasoning off, `continue`: reasoning handed back), None if
    none did and the first reply stands.
    """

    round: int
    cause: Literal["overflow", "stopped in reasoning"]
    lost: tuple[Reply, ...]
    mode: Literal["budget", "no_think", "continue"] | None = None
    error: str = ""


class Attempt(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="attempt", tag_field="type"):
    """The unit of writing, resuming and marking again: every reply of one dialogue, or the failure that ended it.

    `at` is UTC. `cost_usd` is None without a price or a count; it covers the replies that `recoveries` lost as well.
    `max_tokens` is the budget really sent. `in_flight` is the largest number of requests that ran at once while this
    one did, itself included.
    """

    job: Job
    case_hash: str
    at: str
    replies: tuple[Reply, ...] = ()
    failure: Failure | None = None
    recoveries: tuple[Recovery, ...] = ()
    max_tokens: int = 0
    cost_usd: float | None = None
    in_flight: int = 1


class Element(Struct, frozen=True, omit_defaults=True):
    """One thing that a grader looked at."""

    name: str
    passed: bool
    why: str = ""


class Finding(Struct, frozen=True, omit_defaults=True):
    """What a grader decided; `score` in [0, 1]; `why` explains all but a plain pass."""

    outcome: Outcome
    score: float
    why: str = ""
    elements: tuple[Element, ...] = ()


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="verdict", tag_field="type"):
    """A finding about a job; a later one supersedes, the log keeps both. Holds no time, so marking is repeatable.

    `seed` is what hidden inputs were drawn from, "" if there were none.
    """

    job: Job
    case_hash: str
    outcome: Outcome
    score: float
    why: str = ""
    elements: tuple[Element, ...] = ()
    grader: str = ""
    isolation: str = ""
    seed: str = ""


class Opened(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="opened", tag_field="type"):
    """A target was opened by a session of the run; `served` is its answer."""

    label: str
    at: str
    served: Served


class Healed(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="healed", tag_field="type"):
    """A torn last line was set aside in `kept_in` and cut off the log at byte `offset`."""

    at: str
    offset: int
    size_bytes: int
    kept_in: str


class Adapted(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="adapted", tag_field="type"):
    """Something about a target was learnt on the way; `what` says it in words for people."""

    label: str
    at: str
    what: str


Event = Attempt | Verdict | Opened | Healed | Adapted


class Row(Struct, frozen=True, omit_defaults=True):
    """Case facts, the last attempt and the last verdict about it; only ever computed."""

    job: Job
    case: Case
    attempt: Attempt | None = None
    verdict: Verdict | None = None

    @property
    def is_settled(self) -> bool:
        """True when nothing is owed any more, neither by the model nor by a grader."""
        return self.verdict is not None and self.verdict.outcome != "pending"
