"""What is said about rules from turn to turn: which events can follow on which, and how they are worded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crucibleforge.families._draw import Draw
from crucibleforge.families.instruct._prose import BANK, NOUN
from crucibleforge.families.instruct._rules import Rule, rule, sentence


@dataclass(frozen=True)
class Event:
    """What a turn says about the rule of a number.

    `kind` is `new`, `change`, `lift`, `again` or `instead`; an `instead` begins `delay` turns later and holds for
    `span` replies.
    """

    kind: str
    number: int
    rule: Rule | None = None
    delay: int = 0
    span: int = 0


@dataclass(frozen=True)
class Params:
    """`start` rules in the first turn; `kinds` of later events, each of which occurs; up to `most` events a turn.

    `scopes` are (delay, span) of an `instead`; `slots` are what rules are about, one each.
    """

    turns: int
    start: int
    kinds: tuple[str, ...]
    most: int = 1
    scopes: tuple[tuple[int, int], ...] = ((0, 1),)
    slots: tuple[str, ...] = ("lines", "width", "case", "suffix", "prefix", "letter", "word", "without", "closing")


_SCOPED = ("lines", "width", "case", "suffix", "prefix", "closing")
"""Slots of which two rules contradict each other, so that a scope that leaks is seen."""


def drawn_events(params: Params, slots: Sequence[str], draw: Draw) -> list[list[Event]] | None:
    """The events of each turn; a number stands for a slot, from 1."""
    events = [[Event("new", number, _fresh(slots[number - 1], draw)) for number in range(1, params.start + 1)]]
    scoped: dict[int, range] = {}
    for turn in range(1, params.turns):
        now: list[Event] = []
        for _ in range(draw.between(1, params.most)):
            found = _event(draw.pick(params.kinds), params, slots, [*events, now], scoped, draw)
            if found is None or found.number in [one.number for one in now]:
                continue
            if found.kind == "instead":
                scoped[found.number] = range(turn, turn + found.delay + found.span + 1)
            now.append(found)
        events.append(now)
    kinds = {one.kind for now in events for one in now}
    return events if {*params.kinds} <= kinds and all(events) else None


def _event(
    kind: str,
    params: Params,
    slots: Sequence[str],
    events: list[list[Event]],
    scoped: dict[int, range],
    draw: Draw,
) -> Event | None:
    turn = len(events) - 1
    last = _standing(events)
    free = [number for number in last if turn not in scoped.get(number, range(0))]
    holding = [number for number in free if last[number][0]]
    match kind:
        case "new":
            number = len(last) + 1
            return Event("new", number, _fresh(slots[number - 1], draw)) if number <= len(slots) else None
        case "lift":
            return Event("lift", draw.pick(holding)) if len(holding) > 2 else None
        case "again":
            gone = [number for number in free if not last[number][0]]
            return Event("again", draw.pick(gone)) if gone else None
        case _:
            delay, span = draw.pick(params.scopes) if kind == "instead" else (0, 0)
            holding = [number for number in holding if slots[number - 1] in _SCOPED]
            if not holding or turn + delay + span >= params.turns:
                return None
            number = draw.pick(holding)
            old = last[number][1]
            new = draw.until(lambda: (one := _fresh(slots[number - 1], draw)) and (None if _alike(one, old) else one))
            return Event(kind, number, new, delay, span)


def _standing(events: list[list[Event]]) -> dict[int, tuple[bool, Rule]]:
    """Whether a rule stands, and how it last read, scopes aside."""
    last: dict[int, tuple[bool, Rule]] = {}
    for one in (one for now in events for one in now):
        if one.rule is not None and one.kind != "instead":
            last[one.number] = (True, one.rule)
        elif one.kind in {"lift", "again"}:
            last[one.number] = (one.kind == "again", last[one.number][1])
    return last


def _alike(one: Rule, other: Rule) -> bool:
    """True when a text can obey both."""
    if one.kind == other.kind == "words_per_line":
        (_, one_most), (_, one_least) = one.arguments
        (_, other_most), (_, other_least) = other.arguments
        return bool(one_least <= other_most and other_least <= one_most)
    return one.kind == other.kind and one.arguments == other.arguments


def _fresh(slot: str, draw: Draw) -> Rule:
    least = draw.between(6, 11)
    made: dict[str, Callable[[], Rule]] = {
        "lines": lambda: rule("line_count", n=draw.between(2, 6)),
        "width": lambda: rule("words_per_line", min=least, max=least + draw.between(1, 2)),
        "case": lambda: rule(draw.pick(("lowercase", "uppercase"))),
        "suffix": lambda: rule("line_suffix", text=draw.pick("!;?:")),
        "prefix": lambda: rule("line_prefix", text=draw.pick(("- ", "> ", "+ ", "= ", "* "))),
        "letter": lambda: rule("forbids_letter", letter=draw.pick("bcdfghklmpvw")),
        "word": lambda: rule("contains_word", word=draw.pick(BANK[NOUN])),
        "without": lambda: rule("forbids_word", word=draw.pick(("the", "this", "that", "our", "with", "from"))),
        "closing": lambda: rule("ends_with", text=draw.pick(("##", "~~", "%%", "==", "++", "<>"))),
    }
    return replace(made[slot](), wording=draw.below(2))


def told(event: Event) -> str:
    words = sentence(event.rule) if event.rule else ""
    match event.kind:
        case "new":
            return f"Rule {event.number}: {words}"
        case "change":
            return f"Rule {event.number} changes and from now on reads: {words}"
        case "lift":
            return f"Rule {event.number} is lifted: it does not hold any more."
        case "again":
            return f"Rule {event.number} holds again from now on, as it read when it was lifted."
        case _:
            return f"{_SCOPES[event.delay, event.span]}, rule {event.number} reads instead: {words}"


_SCOPES = {
    (0, 1): "For this reply only",
    (0, 2): "For this reply and the next one only",
    (1, 1): "Not for this reply, but for the next one only",
}
