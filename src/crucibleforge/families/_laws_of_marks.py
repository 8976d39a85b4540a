"""Laws about marking: what must pass passes, what must not does not, and nothing breaks the grader."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import deepcopy
from math import sqrt
from typing import Any

import msgspec

from crucibleforge import plugins
from crucibleforge.families._build import build, instance, made
from crucibleforge.families._dress import said
from crucibleforge.families._hostile import replies as hostile
from crucibleforge.families._kit import Dialogues, Item
from crucibleforge.families._law import BrokenError, Drawn, Look, called, json, marked, short
from crucibleforge.graders import ByRunning, Replies
from crucibleforge.types import Case, Rung

LEAST_RIGHT = 12
LEAST_NEAR = 8
SPARE = 0.05
"""How far above guessing a shortcut may pass."""
_CERTAIN = 500
"""From so many draws on a shortcut's rate is taken as it is; below, three standard errors are granted."""
_MUTANTS = 8
_MARK_S = 1.0


def of_case(look: Look, one: Drawn) -> Iterator[str]:
    """A canonical case: right replies pass; near misses, nothing, cut and mutated ones do not."""
    right: Dialogues = called("right", look.family.right, one.item)
    near: Dialogues = called("near_misses", look.family.near_misses, one.item)
    for what, dialogues, least in (("right", right, LEAST_RIGHT), ("near_misses", near, LEAST_NEAR)):
        different = len({json(dialogue) for dialogue in dialogues})
        if different < least:
            yield one.at(f"{what} gives {different} different dialogues, at least {least} are due")
    for number, replies in enumerate(right, start=1):
        finding = marked(one.case, replies, look.run)
        if finding.outcome != "pass":
            yield one.at(f"right reply {number} does not pass: {finding.outcome}, {finding.why}")
    must_not = [(f"near miss {number}", replies) for number, replies in _shared_out(look, one, near)]
    look.tally["refused"] += len(must_not) if runs_programs(look) else 0
    must_not += [("a reply cut off half-way", _cut(replies)) for replies in right[:1]]
    for what, replies in must_not:
        if marked(one.case, replies, look.run).outcome == "pass":
            yield one.at(f"{what} passes: {short(replies[-1].text)}")
    for mutant in _mutants(look, one.item):
        case = msgspec.structs.replace(one.case, expected=mutant)
        if marked(case, right[0], look.run).outcome == "pass":
            yield one.at(f"the right reply passes against another answer: {short(mutant)}")
    yield from _unknown_settings(look, one, right[0])


def _shared_out(look: Look, one: Drawn, near: Dialogues) -> list[tuple[int, Replies]]:
    """The near misses to try on a case: running them takes long, so in brief each is tried on one case of a rung."""
    numbered = list(enumerate(near, start=1))
    if look.extent.is_whole or not runs_programs(look):
        return numbered
    return numbered[one.slot - 1 :: look.family.slots[one.rung]]


def guesses(look: Look, rung: Rung) -> Iterator[str]:
    """No shortcut does much better than guessing."""
    passed: dict[int, int] = {}
    lastly: dict[int, str] = {}
    family = look.family
    draws = look.count(look.extent.guessed)
    for slot in range(1, draws + 1):
        item = called("solve or ask", made, family, called("generate", instance, family, rung, slot))
        case = called("build", build, family, rung, slot, item)
        for number, replies in enumerate((*_thoughtless(case), *called("shortcuts", family.shortcuts, item)), start=1):
            if marked(case, replies, look.run).outcome == "pass":
                passed[number] = passed.get(number, 0) + 1
                lastly[number] = short(replies[-1].text)
    allowed = family.chance + SPARE
    grace = 0 if draws >= _CERTAIN else 3 * sqrt(allowed * (1 - allowed) / draws)
    for number, count in passed.items():
        if count / draws > allowed + grace:
            place, words = f"{family.name}/{rung}", lastly[number]
            yield f"{place}: shortcut {number} passes {count} of {draws} draws, lastly with: {words}"


def total(look: Look, one: Drawn) -> Iterator[str]:
    """Hostile replies get a verdict, none of them a pass, each within a second of CPU."""
    for number, reply in enumerate(hostile(one.case.id, look.extent.fuzzed), start=1):
        before = time.process_time()
        try:
            outcome = marked(one.case, (reply,), look.run).outcome
        except BrokenError as error:
            yield one.at(f"hostile reply {number}: {error}")
            continue
        if outcome == "pass":
            yield one.at(f"hostile reply {number} passes: {short(reply.text[:200])}")
        if (took := time.process_time() - before) > _MARK_S:
            yield one.at(f"hostile reply {number} takes {took:.1f} s of CPU to mark")


def runs_programs(look: Look) -> bool:
    """True when the family's cases are marked by running."""
    return isinstance(plugins.find("graders", look.family.grading.grader), ByRunning)


def _thoughtless(case: Case) -> Dialogues:
    """What passes with a careless grader: nothing, a refusal, the question again, a constant."""
    asked = case.dialogue.messages[-1].content
    texts = ["", "I cannot help with that.", asked, f"ANSWER: {asked[-40:]}", "ANSWER: 0", "ANSWER: 1"]
    return tuple((said(text),) for text in texts)


def _cut(replies: Replies) -> Replies:
    last = replies[-1]
    half = last.text[: len(last.text) // 2]
    return (*replies[:-1], msgspec.structs.replace(last, text=half, tool_calls=(), finish="length"))


def _mutants(look: Look, item: Item) -> list[Any]:
    if look.family.mutants is not None:
        return called("mutants", look.family.mutants, item)
    if item.answer is None:
        return []
    paths = list(_leaves(item.answer))
    step = max(1, len(paths) // _MUTANTS)
    return [_changed(item.answer, path) for path in paths[::step][:_MUTANTS]]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, place))
    else:
        yield path


def _changed(value: Any, path: tuple[Any, ...]) -> Any:
    """The value with one leaf changed. A program's input is changed as well, and then its old value is wrong."""
    if not path:
        return _other(value)
    copy = deepcopy(value)
    copy = list(copy) if isinstance(copy, tuple) else copy
    copy[path[0]] = _changed(copy[path[0]], path[1:])
    return copy


def _other(leaf: Any) -> Any:
    match leaf:
        case bool():
            return not leaf
        case int():
            return leaf + 1
        case float():
            return leaf * 2 + 1
        case str():
            return _other_text(leaf)
        case _:
            return 0


def _other_text(text: str) -> str:
    """A number as text stays one, so that it is the comparison that refuses it and not the parser."""
    head, slash, tail = text.partition("/")
    if head.lstrip("-").isdecimal() and (tail.isdecimal() or not slash):
        return f"{int(head) + 1}{slash}{tail}"
    return f"{text}x"


def _unknown_settings(look: Look, one: Drawn, right: Replies) -> Iterator[str]:
    """A setting that the grader does not know is an error: skipped in silence it would make any reply pass."""
    settings = one.case.grading.settings
    strange = [{**settings, "surprise": True}]
    strange += [
        {**settings, name: [*value, {"type": "surprise"}]}
        for name, value in settings.items()
        if isinstance(value, list | tuple) and value and isinstance(value[0], dict) and "type" in value[0]
    ]
    for changed in strange:
        grading = msgspec.structs.replace(one.case.grading, settings=changed)
        try:
            marked(msgspec.structs.replace(one.case, grading=grading), right, look.run)
        except BrokenError:
            continue
        yield one.at(f"the grader {one.case.grading.grader} takes a setting or rule that it does not know")
