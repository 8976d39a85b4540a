"""Ask one case: every round of its dialogue, with retries where the same request may yet succeed.

A reply that was lost to reasoning is asked for again (`thinking`); a tool call that the server could not parse is the
model's own reply, not trouble.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import stamina
from msgspec import Struct

from crucibleforge.chat import Reply, Request, Timing, Usage
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.providers import Session
from crucibleforge.run.dialogue import next_request
from crucibleforge.run.pace import Pace
from crucibleforge.run.thinking import Thinker
from crucibleforge.types import Case, Failure, Price, Recovery, Target


class Patience(Struct, frozen=True):
    """How often a request is tried and how long waited between, in seconds; a server's own wish is capped."""

    tries: int = 3
    first_wait_s: float = 2.0
    longest_wait_s: float = 60.0


class Asked(Struct, frozen=True, kw_only=True):
    """What came of a dialogue: its replies, the failure that ended it early, and what was lost on the way."""

    replies: tuple[Reply, ...]
    failure: Failure | None
    recoveries: tuple[Recovery, ...]
    max_tokens: int


class Asker:
    """Asks the cases of one open target; knows by and by how fast it is and whether it reasons.

    `say` is told in words for people what was learnt about the target; `overloaded` is called for each 429 or 503.
    """

    def __init__(
        self,
        session: Session,
        target: Target,
        patience: Patience,
        *,
        say: Callable[[str], None] = lambda _: None,
        overloaded: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._say = say
        self._patience = patience
        self._overloaded = overloaded
        self._pace = Pace(target.timeout_s)
        self._thinker = Thinker(target.thinking, say)

    async def prepare(self) -> None:
        """Find out whether the model reasons, where the configuration does not say."""
        if self._thinker.is_undecided:
            try:
                self._thinker.look(await self._once(self._thinker.probe()))
            except (Trouble, Malformed):
                return  # the first case will tell, and its failure is kept

    async def conduct(self, case: Case, repeat: int = 1) -> Asked:
        """Carry a case's dialogue through."""
        whose = f"{case.id}#{case.hash}"
        replies: tuple[Reply, ...] = ()
        recoveries: tuple[Recovery, ...] = ()
        budget = self._thinker.budget(case.dialogue.max_tokens)
        failure = None
        while request := next_request(case.dialogue, replies):
            try:
                reply = await self._answer(
                    msgspec.structs.replace(request, max_tokens=budget, case=whose, repeat=repeat, round=len(replies))
                )
            except Trouble as trouble:
                failure = Failure(trouble.kind, trouble.message, trouble.tries, trouble.status)
                break
            recovery = None
            if self._thinker.is_lost(reply, case.category):
                budget = self._thinker.budget(case.dialogue.max_tokens)
                reply, recovery = await self._thinker.recover(request, reply, len(replies), self._answer)
            replies = (*replies, reply)
            recoveries = recoveries if recovery is None else (*recoveries, recovery)
        return Asked(replies=replies, failure=failure, recoveries=recoveries, max_tokens=budget)

    async def _answer(self, request: Request) -> Reply:
        """A reply, also where the server could not parse the model's tool call."""
        try:
            reply = await self._tried(request)
        except Malformed as malformed:
            return Reply(text=malformed.message, finish="malformed", usage=Usage(), timing=Timing(total_s=0.0))
        self._thinker.look(reply)
        self._pace.look(reply)
        return reply

    async def _tried(self, request: Request) -> Reply:
        request = msgspec.structs.replace(request, deadline_s=self._pace.deadline_s(request))
        tried = 0

        def healing(error: Exception) -> bool | float:
            if not isinstance(error, Trouble) or not error.may_heal:
                return False
            if error.retry_after_s is not None:
                return min(error.retry_after_s, self._patience.longest_wait_s)
            return True

        try:
            async for attempt in stamina.retry_context(
                on=healing,
                attempts=self._patience.tries,
                timeout=None,
                wait_initial=self._patience.first_wait_s,
                wait_max=self._patience.longest_wait_s,
                wait_jitter=self._patience.first_wait_s / 2,
            ):
                with attempt:
                    tried += 1
                    return await self._once(request)
        except Trouble as trouble:
            trouble.tries = tried
            raise
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, request: Request) -> Reply:
        try:
            return await self._session.ask(request)
        except Trouble as trouble:
            if trouble.kind == "overload":
                self._overloaded()
            elif trouble.kind == "timeout":
                self._pace.was_late()
            raise
        finally:
            for notice in self._session.notices():
                self._say(notice)


def cost(replies: tuple[Reply, ...], price: Price | None) -> float | None:
    """US dollars for these replies; None without a price or when the server did not count one of them."""
    if price is None:
        return None
    total = 0.0
    for reply in replies:
        if reply.finish == "malformed":
            continue
        if reply.usage.prompt_tokens is None or reply.usage.completion_tokens is None:
            return None
        total += (reply.usage.prompt_tokens * price.input + reply.usage.completion_tokens * price.output) / 1e6
    return total
