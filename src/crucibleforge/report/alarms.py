"""Alarms: what a reader must know before believing a number on the board."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from crucibleforge.report.scorecard import Alarm, CategoryScore, Scorecard
from crucibleforge.types import Row

CUT_SHARE = 0.30
"""More replies than this that end at their budget make a score one of the budget."""
MIN_BLOCK = 5
"""Fewer rows than this are at 0% or 100% by chance often enough."""
_MIN_FINISHED = 5
_ENOUGH = 0.95


def alarms(card: Scorecard, rows: Sequence[Row]) -> Iterable[Alarm]:
    """The alarms about one model, worst first; about an invalid one there is nothing more to say."""
    replies = _Replies(rows)
    if card.invalid:
        text = f"INVALID: {card.invalid} ({card.lost.count} of {card.lost.total} rows), so no score is known"
        yield Alarm(card.label, "invalid", text + (f"; {replies.advice()}" if replies.cut else ""))
        return
    if replies.count and len(replies.cut) > CUT_SHARE * replies.count:
        share = f"{100 * len(replies.cut) / replies.count:.0f}% of replies were cut off at their budget"
        yield Alarm(card.label, "cut_off", f"{share} ({len(replies.cut)} of {replies.count}): {replies.advice()}")
    blocks = [score for score in card.categories if score.rate.total >= MIN_BLOCK]
    if none := [_failed(score) for score in blocks if score.rate.passed == 0]:
        yield Alarm(card.label, "all_failed", f"0% in {', '.join(none)}; look at a few before you believe it")
    if full := [_passed(score) for score in blocks if score.rate.passed == score.rate.total]:
        yield Alarm(card.label, "all_passed", f"100% in {', '.join(full)}; look at a few before you believe it")


class _Replies:
    """How long a model's replies were, in tokens: those that were cut, those that came to their end."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.count = 0
        self.cut: list[int] = []
        self.finished: list[int] = []
        self.reasons = False
        for row in rows:
            for reply in row.attempt.replies if row.attempt else ():
                tokens = reply.usage.completion_tokens
                self.count += 1
                self.reasons = self.reasons or bool(reply.reasoning)
                if reply.finish == "length":
                    sent = (row.attempt.max_tokens if row.attempt else 0) or row.case.dialogue.max_tokens
                    self.cut.append(tokens or sent)
                elif reply.finish in {"stop", "tool_calls"} and tokens is not None:
                    self.finished.append(tokens)

    def advice(self) -> str:
        """The budget that would do, as far as these replies can tell.

        The 95th percentile of those that finished is an answer only where it lies above every budget that cut one
        off: those that finish are the short ones, so below that it says nothing about the rest.
        """
        most = max(self.cut)
        setting = "; `thinking_max_tokens_factor` and `thinking_max_tokens_cap` set it" if self.reasons else ""
        if len(self.finished) >= _MIN_FINISHED:
            enough = sorted(self.finished)[ceil(_ENOUGH * len(self.finished)) - 1]
            if enough > most:
                reason = f"95% of the {len(self.finished)} that finished took no more"
                return f"a budget of about {_rounded(enough):,} tokens would do ({reason}){setting}"
        doubt = setting or "; if they repeat themselves, none will do"
        return f"allow at least {_rounded(2 * most):,} tokens, twice the most that was used up{doubt}"


def _rounded(tokens: int) -> int:
    """Up to a multiple of 100: no more is known."""
    return 100 * ceil(tokens / 100)


def _failed(score: CategoryScore) -> str:
    lost = f", {score.lost.count} of them lost" if score.lost.count else ""
    return f"{score.name} ({score.rate.total} of {score.rate.total} failed{lost})"


def _passed(score: CategoryScore) -> str:
    return f"{score.name} ({score.rate.total} of {score.rate.total} passed)"
