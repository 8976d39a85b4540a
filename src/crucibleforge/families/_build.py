"""From a family to its cases: draw an instance, ask it, give it an id, a hash and its needs.

A case is known by its place (family, version, rung, slot) and its form's key. The canonical form takes what is drawn
first. A fresh form draws again until the item resembles the canonical ones of its rung, so that the two are equally
hard: a fresh form with larger numbers or longer prompts would be another test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from math import ceil
from typing import Any

import msgspec

from crucibleforge import plugins
from crucibleforge.chat import Dialogue, Message
from crucibleforge.families._draw import CANONICAL, Draw, seed
from crucibleforge.families._kit import Draft, Family, Item
from crucibleforge.graders import ByRunning
from crucibleforge.types import RUNGS, Case, Grading, Needs, Rung

CHARS_PER_TOKEN = 3
"""A cautious guess: English text takes about four, digits and code fewer."""

TRIES = 50
"""Draws until an item of a fresh form must resemble the canonical ones."""

_TEMPLATE_TOKENS = 64  # what a chat template wraps around the messages of one round
_BAND_DRAWS = 40
_BAND_FROM = 1001  # slots that no canonical case uses
_OUTSIDE = 0.05


def item(family: Family, rung: Rung, slot: int, form: str = CANONICAL) -> Item:
    """The item of a slot (from 1) of a rung.

    Raises:
        RuntimeError: in `TRIES` draws none resembled the canonical form.
    """
    if form == CANONICAL:
        return _drawn(family, rung, slot, form, 0)
    band = _band(family, rung)
    for attempt in range(TRIES):
        made = _drawn(family, rung, slot, form, attempt)
        if all(low <= value <= high for value, (low, high) in zip(_measures(family, made), band, strict=True)):
            return made
    raise RuntimeError(f"{family.name}/{rung}.{slot}: no item like the canonical ones in {TRIES} draws")


def items(family: Family, rung: Rung, count: int, first: int = 1) -> Iterator[Item]:
    """Items of the canonical key, from the slot `first`."""
    for slot in range(first, first + count):
        yield item(family, rung, slot)


def instance(family: Family, rung: Rung, slot: int, form: str = CANONICAL) -> Any:
    """What `generate` draws for a slot at the first attempt."""
    return family.generate(family.rungs[rung], _source(family, rung, slot, form, 0))


def made(family: Family, instance: Any) -> Item:
    """An instance with its answer and its draft."""
    return Item(instance, family.solve(instance), family.ask(instance))


def cases(family: Family, form: str = CANONICAL) -> Iterator[Case]:
    """A form's cases of one family, the easy ones first."""
    for rung in RUNGS:
        for slot in range(1, family.slots[rung] + 1):
            yield build(family, rung, slot, item(family, rung, slot, form))


def build(family: Family, rung: Rung, slot: int, item: Item) -> Case:
    """Make an item the case `category/family/rung.slot`."""
    draft = item.draft
    dialogue = Dialogue(
        messages=_opening(draft),
        max_tokens=family.max_tokens[rung],
        turns=draft.turns,
        tools=draft.tools,
        answers=draft.answers,
        max_rounds=draft.max_rounds,
    )
    grading = Grading(family.grading.grader, {**family.grading.settings, **draft.settings})
    return complete(f"{family.name}/{rung}.{slot}", dialogue, item.answer, grading)


def complete(case_id: str, dialogue: Dialogue, expected: Any, grading: Grading) -> Case:
    """A case with all that follows from what is asked and how it is marked: hash, needs, smoke.

    Answer and settings become plain JSON, as they are again once a case was stored: a grader sees one form only.
    """
    return Case(
        id=case_id,
        hash=_digest(dialogue),
        dialogue=dialogue,
        expected=_plain(expected),
        grading=Grading(grading.grader, _plain(grading.settings)),
        needs=_needs(dialogue, grading.grader),
        smoke=case_id.endswith("/L1.1"),
    )


def hidden(family: Family, instance: Any, case_id: str, seed: str) -> list[dict[str, Any]]:
    """Inputs of a program case that only this seed has; none where the family draws none."""
    return family.hidden(instance, Draw("hidden", seed, case_id)) if family.hidden else []


def marking_hash(case: Case) -> str:
    """16 hex digits over all that decides a verdict and is not sent: the expected answer and the grading."""
    return _digest([case.expected, case.grading])


def fingerprint(family: Family, instance: Any) -> str:
    """The same for two instances that ask the same."""
    return _digest(family.fingerprint(instance) if family.fingerprint else instance)


def _source(family: Family, rung: Rung, slot: int, form: str, attempt: int) -> Draw:
    return Draw(seed(form, family.name, family.version, rung, slot, attempt))


def _drawn(family: Family, rung: Rung, slot: int, form: str, attempt: int) -> Item:
    return made(family, family.generate(family.rungs[rung], _source(family, rung, slot, form, attempt)))


@lru_cache(maxsize=4096)
def _band_of(name: str, rung: Rung) -> tuple[tuple[float, float], ...]:
    return _measured_band(plugins.find("families", name), rung)


def _band(family: Family, rung: Rung) -> tuple[tuple[float, float], ...]:
    if family.name in plugins.names("families") and plugins.find("families", family.name) is family:
        return _band_of(family.name, rung)
    return _measured_band(family, rung)


def _measured_band(family: Family, rung: Rung) -> tuple[tuple[float, float], ...]:
    """For each covariate the range that holds the middle nine tenths of the canonical key's draws."""
    drawn = [_measures(family, one) for one in items(family, rung, max(8, _BAND_DRAWS // family.cost), _BAND_FROM)]
    cut = round(len(drawn) * _OUTSIDE)
    columns = [sorted(column) for column in zip(*drawn, strict=True)]
    return tuple((column[cut], column[-1 - cut]) for column in columns)


def _measures(family: Family, item: Item) -> list[float]:
    draft = item.draft
    sent = len(draft.system) + len(draft.prompt) + sum(map(len, draft.turns))
    own = family.covariates(item.instance) if family.covariates else {}
    answer = len(msgspec.json.encode(item.answer))
    return [sent, answer, family.effort(item.instance), *(own[name] for name in sorted(own))]


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


def _plain(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]
