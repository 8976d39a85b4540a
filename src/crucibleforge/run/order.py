"""In which order the cases of a target are asked. Pure.

The longest chain decides when a run ends: a long case that is begun last runs alone while the other slots idle. So the
longest expected comes first, whatever its category (Graham 1969, SIAM J. Appl. Math. 17:416: at most a third over the
best possible).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from crucibleforge.types import Case, Row

_CHARACTERS_PER_TOKEN = 3.5
PREFILL_FACTOR = 5
"""Prompts are read about this many times faster than answers are written, on CPUs and GPUs alike; a guess."""


def longest_first(rows: Iterable[Row]) -> list[Row]:
    """Longest expected first; of equals the chains of several rounds, which no second slot can shorten."""
    return sorted(rows, key=lambda row: (-length(row.case), not _is_chain(row.case)))


def length(case: Case) -> float:
    """Expected length of a whole dialogue in tokens of reply, every reply taken to use its budget."""
    return case.dialogue.max_tokens * case.dialogue.max_rounds + prompt_tokens(case) / PREFILL_FACTOR


def prompt_tokens(case: Case) -> float:
    """Expected tokens sent over all rounds; each round sends the opening again."""
    dialogue = case.dialogue
    opening = sum(len(message.content) for message in dialogue.messages)
    opening += len(msgspec.json.encode(dialogue.tools)) if dialogue.tools else 0
    later = sum(map(len, dialogue.turns)) + sum(len(answer.result) for answer in dialogue.answers)
    return (opening * dialogue.max_rounds + later) / _CHARACTERS_PER_TOKEN


def _is_chain(case: Case) -> bool:
    return case.dialogue.max_rounds > 1 or bool(case.dialogue.turns)
