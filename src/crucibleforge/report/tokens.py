"""What a model's replies took: tokens by the servers' own counts, and money. Nothing is guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from crucibleforge.chat import CountSource, Reply
from crucibleforge.types import Attempt, Price


class Spent(Struct, frozen=True, kw_only=True):
    """Sums over all billed replies, those lost to reasoning among them.

    Prompt and completion are short by the `uncounted` replies. `cached_tokens` are part of the prompt, None where no
    server counted them; `reasoning_tokens` are part of the completion, None where a reply that reasons has no such
    count. `cost_usd` is None when not all of it is known; `price` is the newest run's, each cost is of its own time.
    """

    replies: int
    uncounted: int
    prompt_tokens: int
    cached_tokens: int | None
    completion_tokens: int
    reasoning_tokens: int | None
    cost_usd: float | None
    price: Price | None


def billed(attempts: Iterable[Attempt]) -> tuple[Reply, ...]:
    """Every reply that a server would charge for.

    One whose tool call could not be parsed came as an error: without counts, and nobody charges for it.
    """
    return tuple(
        reply
        for attempt in attempts
        for reply in (*attempt.replies, *(lost for recovery in attempt.recoveries for lost in recovery.lost))
        if reply.finish != "malformed"
    )


def spent(attempts: Sequence[Attempt], price: Price | None) -> Spent:
    """The sums over a model's attempts, also those that a failure ended after some replies."""
    replies = billed(attempts)
    reasoning = [reply.usage.reasoning_tokens for reply in replies if _reasons(reply)]
    costs = [attempt.cost_usd for attempt in attempts if attempt.replies or attempt.recoveries]
    paid = [cost for cost in costs if cost is not None]
    return Spent(
        replies=len(replies),
        uncounted=sum(1 for reply in replies if _is_uncounted(reply)),
        prompt_tokens=sum(reply.usage.prompt_tokens or 0 for reply in replies),
        cached_tokens=_known(reply.usage.cached_tokens for reply in replies),
        completion_tokens=sum(reply.usage.completion_tokens or 0 for reply in replies),
        reasoning_tokens=None if None in reasoning else _known(reasoning),
        cost_usd=sum(paid) if paid and len(paid) == len(costs) else None,
        price=price,
    )


def count_notes(attempts: Iterable[Attempt]) -> Iterable[str]:
    """What a reader should know of the counts: who made them where it was not the usage, and what is doubtful."""
    replies = billed(attempts)
    sources: Counter[CountSource] = Counter(reply.usage.source for reply in replies if not _is_uncounted(reply))
    for source in ("timings", "stats"):
        if sources[source]:
            part = "tokens" if sources[source] == len(replies) else f"tokens of {_replies(sources[source])}"
            yield f"{part} counted by {source}"
    if uncounted := sum(1 for reply in replies if _is_uncounted(reply)):
        yield f"{_replies(uncounted)} without a token count"
    doubts = Counter(doubt for reply in replies for doubt in set(reply.usage.doubts))
    yield from (f"usage {doubt} in {_replies(count)}" for doubt, count in sorted(doubts.items()))


def _is_uncounted(reply: Reply) -> bool:
    return reply.usage.prompt_tokens is None or reply.usage.completion_tokens is None


def _reasons(reply: Reply) -> bool:
    return bool(reply.reasoning) or reply.usage.reasoning_tokens is not None


def _known(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count} replies"
