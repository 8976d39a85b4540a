"""What a run may cost and how long it may take; it ends before the request that might break either.

What was spent is read from the rows of the run, so that resuming does not begin at nought; minutes count per
invocation. What a failed request may have cost without leaving a count is not known to anybody here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

from msgspec import Struct

from crucibleforge.errors import InputError
from crucibleforge.types import Attempt, Case, Event, Job, RunPlan, Target

# On the safe side of the 3 to 4 that text has: a bound on cost has to hold for code and for digits too.
_CHARACTERS_PER_TOKEN = 2.0


class Budget(Struct, frozen=True, kw_only=True):
    """Limits of a run; None is none. Past `max_minutes` requests in flight get `grace_s` more seconds."""

    max_cost_usd: float | None = None
    max_minutes: float | None = None
    grace_s: float = 5.0


def check(budget: Budget, plan: RunPlan) -> None:
    """Refuse a limit on cost that could not be kept.

    Raises:
        InputError: a target has no price, and is neither the embedded server nor a file of replies, which cost nothing.
    """
    if budget.max_cost_usd is None:
        return
    for target in plan.targets:
        if target.price is None and not _is_free(target):
            raise InputError(
                f"max-cost needs a price for '{target.label}'",
                hint="give it a `price` in models.yaml: `{input: 0, output: 0}` if it costs nothing",
            )


class Ledger:
    """What one run has spent and may yet spend."""

    def __init__(
        self, budget: Budget, plan: RunPlan, cases: dict[str, Case], clock: Callable[[], float] = monotonic
    ) -> None:
        self._budget = budget
        self._targets = {target.label: target for target in plan.targets}
        self._cases = cases
        self._clock = clock
        self._began = clock()
        self._in_flight: dict[Job, float] = {}
        self._reasons = {target.label: target.thinking.mode == "on" for target in plan.targets if _is_known(target)}
        self._spent = 0.0

    @property
    def spent_usd(self) -> float:
        """What the rows seen so far cost."""
        return self._spent

    def read(self, events: Iterable[Event]) -> None:
        """Take in what the run's log holds; an attempt that a later one replaced was paid for all the same."""
        for event in events:
            if isinstance(event, Attempt):
                self.book(event)

    def book(self, attempt: Attempt) -> None:
        """Take in an attempt that has ended."""
        self._in_flight.pop(attempt.job, None)
        case, target = self._cases.get(attempt.job.case_id), self._targets.get(attempt.job.label)
        if case is None or target is None:
            return
        if attempt.replies and not _is_known(target):
            shown = attempt.max_tokens > case.dialogue.max_tokens or any(reply.reasoning for reply in attempt.replies)
            self._reasons[target.label] = shown or self._reasons.get(target.label, False)
        # Without a count by the server, the bound is all that is certain.
        self._spent += self._bound(target, case) if attempt.cost_usd is None else attempt.cost_usd

    def begin(self, target: Target, job: Job) -> None:
        """Note a case as begun."""
        self._in_flight[job] = self._bound(target, self._cases[job.case_id])

    def has_room(self, target: Target, case: Case) -> bool:
        """True when this case may be begun beside what is in flight without a chance to exceed the cost."""
        most = self._budget.max_cost_usd
        return most is None or self._spent + sum(self._in_flight.values()) + self._bound(target, case) <= most

    @property
    def is_time_over(self) -> bool:
        """True when no case may be begun any more."""
        return self._budget.max_minutes is not None and self._left_s() <= 0

    @property
    def cut_s(self) -> float | None:
        """Seconds until what is still in flight is cut off; None: never."""
        return None if self._budget.max_minutes is None else max(self._left_s() + self._budget.grace_s, 0.0)

    def why(self) -> str:
        """Why a run stopped that stopped at its budget."""
        if self.is_time_over:
            return f"stopped at the budget of {self._budget.max_minutes:g} minutes"
        return f"stopped at the budget of ${self._budget.max_cost_usd:.2f}: ${self._spent:.2f} spent"

    def _left_s(self) -> float:
        assert self._budget.max_minutes is not None
        return self._began + self._budget.max_minutes * 60 - self._clock()

    def _bound(self, target: Target, case: Case) -> float:
        return most_usd(target, case, reasons=self._reasons.get(target.label, True))


def most_usd(target: Target, case: Case, *, reasons: bool) -> float:
    """The most that a case can cost in US dollars, every reply using its whole budget; 0 without a price.

    A model that reasons gets its larger budget, and for each round two further replies that recover a lost one.
    """
    if target.price is None:
        return 0.0
    dialogue, thinking = case.dialogue, target.thinking
    reply, extra, sendings = dialogue.max_tokens, 0, 1
    if reasons:
        reply = max(reply, min(thinking.cap, reply * thinking.factor))
        if thinking.recovery and case.category not in thinking.no_recovery:
            extra, sendings = 2 * dialogue.max_tokens, 3
    rounds = dialogue.max_rounds
    characters = sum(len(message.content) for message in dialogue.messages) + sum(map(len, dialogue.turns))
    characters += sum(len(answer.result) for answer in dialogue.answers)
    characters += sum(len(tool.description) + len(str(tool.parameters)) for tool in dialogue.tools)
    said = reply * rounds * (rounds - 1) / 2  # each round sends the replies before it again
    prompt = sendings * (rounds * characters / _CHARACTERS_PER_TOKEN + said)
    return (prompt * target.price.input + rounds * (reply + extra) * target.price.output) / 1e6


def _is_known(target: Target) -> bool:
    return target.thinking.mode != "auto"


def _is_free(target: Target) -> bool:
    return target.kind in {"llamacpp", "replies"}
