"""From a family to its cases: draw an instance, give it an id, a hash and its needs."""

from __future__ import annotations

from hashlib import sha256
from math import ceil
from typing import Any

import msgspec

from crucibleforge import plugins
from crucibleforge.chat import Dialogue, Message
from crucibleforge.families._kit import Draft, Draw, Family
from crucibleforge.graders import ByRunning
from crucibleforge.types import Case, Grading, Level, Needs

CHARS_PER_TOKEN = 3
"""A cautious guess: English text takes about four, digits and code fewer."""

_TEMPLATE_TOKENS = 64  # what a chat template wraps around the messages of one round


def draft(family: Family, level: Level, index: int, form: str = "canonical") -> Draft:
    """Draw the instance `index` (from 1) of a level; another `form` gives other instances of the same kind."""
    return family.make(family.levels[level], Draw(form, family.name, level, index))


def build(family: Family, level: Level, index: int, draft: Draft) -> Case:
    """Make a draft the case `category/family/level.index`."""
    dialogue = Dialogue(
        messages=_opening(draft),
        max_tokens=family.max_tokens[level],
        turns=draft.turns,
        tools=draft.tools,
        answers=draft.answers,
        max_rounds=draft.max_rounds,
    )
    return Case(
        id=f"{family.name}/{level}.{index}",
        hash=_digest(dialogue),
        dialogue=dialogue,
        expected=draft.expected,
        grading=Grading(family.grading.grader, {**family.grading.settings, **draft.settings}),
        needs=_needs(dialogue, family.grading.grader),
        smoke=level == "easy" and index == 1,
    )


def fresh(family: Family, draft: Draft, case_id: str, seed: str) -> list[dict[str, Any]]:
    """The inputs that a draft is given beside its own under this seed; empty where the family draws none."""
    return family.hidden(draft, Draw("hidden", seed, case_id)) if family.hidden else []


def marking_hash(case: Case) -> str:
    """16 hex digits over all that decides a verdict and is not sent: the expected answer and the grading."""
    return _digest([case.expected, case.grading])


def _opening(draft: Draft) -> tuple[Message, ...]:
    user = Message("user", draft.prompt)
    return (Message("system", draft.system), user) if draft.system else (user,)


def _needs(dialogue: Dialogue, grader: str) -> Needs:
    sent = [message.content for message in dialogue.messages]
    sent += dialogue.turns
    sent += [msgspec.json.encode(tool).decode() for tool in dialogue.tools]
    sent += [answer.result for answer in dialogue.answers]
    reply_tokens = (dialogue.max_tokens + _TEMPLATE_TOKENS) * dialogue.max_rounds
    return Needs(
        context_tokens=ceil(sum(map(len, sent)) / CHARS_PER_TOKEN) + reply_tokens,
        tools=bool(dialogue.tools),
        sandbox=isinstance(plugins.find("graders", grader), ByRunning),
    )


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]
