"""Models that reason before they answer: found out, given room, and asked again when the answer was lost.

A reply is lost when it holds reasoning and no answer: the budget ran out (`overflow`), or the model stopped inside its
own thought. What was lost is kept, billed and counted; it never becomes the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from crucibleforge.chat import Message, Reply, Request
from crucibleforge.errors import Trouble
from crucibleforge.types import Recovery, Thinking

Ask = Callable[[Request], Awaitable[Reply]]
_PROBE_TOKENS = 256
_TAIL_CHARACTERS = 6000
_ANSWER_NOW = (
    "You have thought about it long enough. Give the final answer now, in the form asked for, and nothing else."
)


class Thinker:
    """What is known of one target's reasoning. `say` is told when that changes."""

    def __init__(self, settings: Thinking, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say
        self._thinks = settings.mode == "on"
        self._is_probed = False
        self._refuses_switch = False

    @property
    def is_undecided(self) -> bool:
        """True while a probe would tell something."""
        return self._settings.mode == "auto" and not self._thinks and not self._is_probed

    def probe(self) -> Request:
        """An easy question; a model that reasons does so even here."""
        self._is_probed = True
        question = "A shelf holds 3 boxes with 4 cups each, and 5 cups stand beside it. How many cups are there?"
        return Request((Message("user", question),), (), _PROBE_TOKENS)

    def look(self, reply: Reply) -> None:
        """Learn from a reply; one without reasoning decides nothing: some models reason on hard questions only."""
        if reply.reasoning and not self._thinks and self._settings.mode == "auto":
            self._thinks = True
            self._say(
                f"reasons before it answers: budgets are {self._settings.factor} times as large, "
                f"up to {self._settings.cap:,} tokens"
            )

    def budget(self, max_tokens: int) -> int:
        """Tokens to allow a reply whose answer alone may take `max_tokens`."""
        if not self._thinks:
            return max_tokens
        return max(max_tokens, min(self._settings.cap, max_tokens * self._settings.factor))

    def is_lost(self, reply: Reply, category: str) -> bool:
        """True when the reply should be asked for again."""
        return self._settings.recovery and category not in self._settings.no_recovery and cause(reply) is not None

    async def recover(self, request: Request, reply: Reply, place: int, ask: Ask) -> tuple[Reply, Recovery]:
        """Ask again, one rung after the other, until a reply brings an answer.

        Args:
            request: What was asked, with the case's own budget.
            reply: The reply that was lost.
            place: Its round in the dialogue, from 0.
            ask: Asks once, retries included.

        Returns:
            The reply that counts, which is the lost one if no rung brought another, and what happened.
        """
        why = cause(reply)
        assert why is not None
        lost: list[Reply] = [reply]
        errors = []
        for mode, rung in self._rungs(request, reply):
            try:
                found = await ask(rung)
            except Trouble as trouble:
                # Ours or the server's, and no reason to lose what came before it.
                errors.append(f"{mode}: {trouble.message}")
                self._refuses_switch = self._refuses_switch or (mode == "no_think" and trouble.kind == "rejected")
                continue
            if _is_answer(found):
                return found, Recovery(place, why, tuple(lost), mode, "; ".join(errors))
            lost.append(found)
        return reply, Recovery(place, why, tuple(lost), None, "; ".join(errors))

    def _rungs(self, request: Request, reply: Reply) -> list[tuple[Literal["budget", "no_think", "continue"], Request]]:
        rungs: list[tuple[Literal["budget", "no_think", "continue"], Request]] = []
        roomy = self.budget(request.max_tokens)
        used = reply.usage.completion_tokens
        if reply.finish == "length" and used is not None and used < roomy // 2:
            # It was cut before it was known to reason, so it never had the room that its kind gets.
            rungs.append(("budget", msgspec.structs.replace(request, max_tokens=roomy)))
        if not self._refuses_switch:
            rungs.append(("no_think", msgspec.structs.replace(request, thinking=False)))
        said = Message("assistant", reply.reasoning[-_TAIL_CHARACTERS:])
        goading = (*request.messages, said, Message("user", _ANSWER_NOW))
        switch = None if self._refuses_switch else False
        rungs.append(("continue", msgspec.structs.replace(request, messages=goading, thinking=switch)))
        return rungs


def _is_answer(reply: Reply) -> bool:
    return bool(reply.tool_calls or (reply.text.strip() and reply.finish != "length"))


def cause(reply: Reply) -> Literal["overflow", "stopped in reasoning"] | None:
    """Why a reply holds reasoning and no answer; None where it holds one, or neither."""
    if reply.text.strip() or reply.tool_calls or not reply.reasoning:
        return None
    return "overflow" if reply.finish == "length" else "stopped in reasoning"
