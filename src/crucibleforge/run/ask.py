"""Ask one case: every round of its dialogue, with retries where the same request may yet succeed."""

from __future__ import annotations

from collections.abc import Callable

import stamina
from msgspec import Struct

from crucibleforge.errors import Trouble
from crucibleforge.providers import Session
from crucibleforge.run.dialogue import next_request
from crucibleforge.types import Dialogue, Failure, Price, Reply, Request


class Patience(Struct, frozen=True):
    """How often a request is tried and how long waited between, in seconds; a server's own wish is capped."""

    tries: int = 3
    first_wait_s: float = 2.0
    longest_wait_s: float = 60.0


async def conduct(session: Session, dialogue: Dialogue, patience: Patience) -> tuple[tuple[Reply, ...], Failure | None]:
    """Every reply of a dialogue, and the failure that ended it early if one did."""
    replies: tuple[Reply, ...] = ()
    while request := next_request(dialogue, replies):
        tried = 0

        def counted() -> None:
            nonlocal tried
            tried += 1

        try:
            replies = (*replies, await _asked(session, request, patience, counted))
        except Trouble as trouble:
            return replies, Failure(trouble.kind, trouble.message, tried, trouble.status)
    return replies, None


async def _asked(session: Session, request: Request, patience: Patience, counted: Callable[[], None]) -> Reply:
    def healing(error: Exception) -> bool | float:
        if not isinstance(error, Trouble) or not error.may_heal:
            return False
        if error.retry_after_s is not None:
            return min(error.retry_after_s, patience.longest_wait_s)
        return True

    async for attempt in stamina.retry_context(
        on=healing,
        attempts=patience.tries,
        timeout=None,
        wait_initial=patience.first_wait_s,
        wait_max=patience.longest_wait_s,
        wait_jitter=patience.first_wait_s / 2,
    ):
        with attempt:
            counted()
            return await session.ask(request)
    raise AssertionError("the last attempt returns or raises")


def cost(replies: tuple[Reply, ...], price: Price | None) -> float | None:
    """US dollars for these replies; None without a price or when the server did not count."""
    if price is None:
        return None
    total = 0.0
    for reply in replies:
        if reply.usage.prompt_tokens is None or reply.usage.completion_tokens is None:
            return None
        total += (reply.usage.prompt_tokens * price.input + reply.usage.completion_tokens * price.output) / 1e6
    return total
