"""A short text under several rules at once: counts, letters, words and lines that pull at each other.

The witness comes first: lines from a phrase bank in the wanted shape, from which the exact numbers of the rules are
read off. So every bundle can be met; and it is kept only if for each rule a neighbour of the witness breaks that rule
and no other, so that none follows from the rest. Words of a printed list keep gibberish from passing.

`solve` says what the grader measures on the witness and that each mutant breaks its own rule; `verify` reads both
with checks that were written a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.instruct._mutants import Text, breaking_one, gauges, varied
from crucibleforge.families.instruct._prose import ADJECTIVE, BANK, NOUN, OPENER, Demand, Line, Shape, composed
from crucibleforge.families.instruct._reading import Plan, read_off
from crucibleforge.families.instruct._rules import Rule, explained, sentence, spec
from crucibleforge.families.instruct._second import broken, measured
from crucibleforge.families.instruct._topics import TOPICS
from crucibleforge.graders._terms import clash
from crucibleforge.types import Grading

Span = tuple[int, int]
"""Both ends included."""


@dataclass(frozen=True)
class Bundle:
    """Rules for a text about a topic; `words` are those of the printed list.

    `witness` and `variants` obey all rules; of `mutants` each breaks just the rule of its place.
    """

    topic: str
    words: tuple[str, ...]
    rules: tuple[Rule, ...]
    witness: str
    variants: tuple[str, ...]
    mutants: tuple[str, ...]


@dataclass(frozen=True)
class Params:
    """Lines, words of a line, kinds of rules: one out of each of `always`, and `more` out of `pool`."""

    lines: Span
    length: Span
    always: tuple[tuple[str, ...], ...]
    pool: tuple[str, ...] = ()
    more: int = 0
    listed: int = 8
    needed: int = 3
    banned: str = "jkvw"


_TWINS = (
    *({"longest_word", "long_words"}, {"char_count", "line_length"}, {"words_per_line", "line_words"}),
    *({"forbids_letter", "letter_count"}, {"chained_lines", "acrostic"}, {"same_ends", "acrostic"}),
    *({"contains_word", "line_contains"}, {"chained_lines", "same_ends"}, {"forbids_digits", "lowercase"}),
)
"""Kinds that say nearly the same, or for which one line has no room."""

_VARIANTS = 6
_LEAST_VARIANTS = 3


def generate(params: Params, draw: Draw) -> Bundle:
    """Draw until every rule can be broken alone."""
    return draw.until(lambda: _bundle(params, draw))


def _bundle(params: Params, draw: Draw) -> Bundle | None:
    plan = _plan(params, draw)
    lines = composed(_demand(plan, params, draw), draw) if plan else None
    if plan is None or lines is None:
        return None
    marked = _marked(lines, plan.kinds, draw)
    shape = _shape(plan.kinds, draw)
    if marked is None:
        return None
    text = Text(marked, shape)
    rules = [read_off(kind, text, plan, draw) for kind in draw.shuffled(plan.kinds)]
    found = tuple(one for one in rules if one is not None)
    if len(found) < len(rules) or any(one.test(str(text)) for one in gauges(found)):
        return None
    mutants = []
    for number in range(len(found)):
        mutant = breaking_one(text, found, number, draw)
        if mutant is None:
            return None
        mutants.append(mutant)
    variants = varied(text, found, _VARIANTS, draw)
    if len(variants) < _LEAST_VARIANTS:
        return None
    return Bundle(plan.topic, plan.listed, found, str(text), variants, tuple(mutants))


def _plan(params: Params, draw: Draw) -> Plan | None:
    kinds = ["words_from", *(draw.pick(ways) for ways in params.always)]
    for kind in draw.shuffled(params.pool):
        if len(kinds) == 1 + len(params.always) + params.more:
            break
        if not any(clash(kind, other) or {kind, other} in _TWINS for other in kinds):
            kinds.append(kind)
    topic = draw.pick(list(TOPICS))
    listed = draw.sample(TOPICS[topic], params.listed)
    letter = draw.pick(params.banned)
    forbidden = draw.pick(("the", "this", "with", "that", "our", "from"))
    possible = [word for word in listed if "forbids_letter" not in kinds or letter not in word]
    if len(possible) < params.needed:
        return None
    nouns = [word for word in BANK[NOUN] if "forbids_letter" not in kinds or letter not in word]
    own = draw.sample(nouns, 3)
    return Plan(
        tuple(kinds), topic, tuple(listed), tuple(draw.sample(possible, params.needed)), tuple(own), letter, forbidden
    )


def _demand(plan: Plan, params: Params, draw: Draw) -> Demand:
    kinds = plan.kinds
    count = draw.between(*params.lines)
    lengths = [draw.between(*params.length) for _ in range(count)]
    if "rising_lines" in kinds:
        lengths = [params.length[0] + draw.below(2)]
        while len(lengths) < count:
            lengths.append(lengths[-1] + draw.between(1, 2))
    own = plan.own[: 3 if "word_order" in kinds else 1 if {"contains_word", "line_contains"} & {*kinds} else 0]
    return Demand(
        lengths=tuple(lengths),
        letters="".join(draw.pick("abcdefhilmnopstuw") for _ in lengths) if "acrostic" in kinds else "",
        banned=plan.letter if "forbids_letter" in kinds else "",
        needed=(*plan.needed, *own),
        avoided=(plan.forbidden,) if "forbids_word" in kinds else (),
        chained="chained_lines" in kinds,
        ringed="same_ends" in kinds,
    )


def _marked(lines: list[Line], kinds: Sequence[str], draw: Draw) -> list[Line] | None:
    """Commas and capitals where rules count them."""
    changed = lines
    if "char_times" in kinds:
        changed = [
            tuple(
                replace(one, comma=one.role == OPENER or (one.role == after.role == ADJECTIVE and draw.chance(1, 2)))
                for one, after in pairwise((*line, line[-1]))
            )
            for line in changed
        ]
        if sum(one.comma for line in changed for one in line) < 2:
            return None
    if "capital_words" in kinds:
        places = [(row, column) for row, line in enumerate(changed) for column in range(1, len(line))]
        loud = draw.sample(places, draw.between(2, 4))
        changed = [
            tuple(replace(one, loud=(row, column) in loud) for column, one in enumerate(line))
            for row, line in enumerate(changed)
        ]
    return changed


def _shape(kinds: Sequence[str], draw: Draw) -> Shape:
    case = "lower" if "lowercase" in kinds else "upper" if "uppercase" in kinds else ""
    return Shape(
        prefix=draw.pick(("- ", "> ", "+ ", "= ")) if "line_prefix" in kinds else "",
        suffix=draw.pick("!;?:") if "line_suffix" in kinds else ".",
        case=case,
    )


def solve(bundle: Bundle) -> dict[str, Any]:
    """The witness with what the grader measures on it, and the claim that each mutant breaks its own rule."""
    values = [one.measure(bundle.witness) for one in gauges(bundle.rules)]
    return {"text": bundle.witness, "values": values, "breaks": [[number] for number in range(len(bundle.rules))]}


def verify(bundle: Bundle) -> dict[str, Any]:
    """The witness and its mutants, read by the second checks.

    Raises:
        ValueError: the witness or a variant breaks a rule.
    """
    for text in (bundle.witness, *bundle.variants):
        if wrong := broken(bundle.rules, text):
            raise ValueError(f"rule {wrong[0] + 1} is broken by {text!r}")
    return {
        "text": bundle.witness,
        "values": [measured(one, bundle.witness) for one in bundle.rules],
        "breaks": [broken(bundle.rules, mutant) for mutant in bundle.mutants],
    }


def ask(bundle: Bundle) -> Draft:
    """A numbered list of rules, then what their terms mean."""
    rules = "\n".join(f"{number}. {sentence(one)}" for number, one in enumerate(bundle.rules, start=1))
    prompt = (
        f"Write a short text about {bundle.topic}. It must obey all of these rules:\n{rules}\n\n"
        f"{explained(bundle.rules)}\nReply with nothing but the text. A code fence around the whole text is allowed."
    )
    return Draft(prompt=prompt, settings={"checks": [spec(one) for one in bundle.rules]})


def right(item: Item) -> Dialogues:
    """The witness in several dressings, and its variants."""
    bundle: Bundle = item.instance
    text = bundle.witness
    return alone(
        text,
        f"{text}\n",
        f"\n\n{text}\n\n",
        text.replace("\n", "\r\n"),
        text.replace("\n", "\n\n"),
        text.replace("\n", "  \n"),
        f"```\n{text}\n```",
        f"```text\n{text}\n```\n",
        f"<think>Line 1 needs care: a first try would be too long.</think>\n{text}",
        f"{text}<|im_end|>",
        f"\ufeff{text}",
        *bundle.variants,
    )


def near_misses(item: Item) -> Dialogues:
    """Each rule broken alone; chat around the text, lines lost or doubled, the form without the content."""
    bundle: Bundle = item.instance
    lines = bundle.witness.split("\n")
    return alone(*bundle.mutants, *(text for text in _careless(bundle, lines) if broken(bundle.rules, text)))


def _careless(bundle: Bundle, lines: list[str]) -> tuple[str, ...]:
    return (
        "\n".join(["Sure! Here is the text:", *lines]),
        "\n".join([*lines, "Let me know if you want any changes."]),
        "\n".join([*lines, *lines]),
        "\n".join(lines[:-1]),
        "\n".join(lines[1:]),
        " ".join(lines),
        "\n".join(" ".join("word" for _ in line.split()) for line in lines),
        "\n".join(f"{line}." for line in [", ".join(bundle.words)] * len(lines)),
        f"```\n{bundle.witness}\n```\nThis obeys every rule.",
        f"# {bundle.topic.capitalize()}\n\n{bundle.witness}",
    )


def shortcuts(item: Item) -> Dialogues:
    """The listed words in a row or one on each line, and stock sentences that name some of them."""
    bundle: Bundle = item.instance
    first, second, third, *_ = bundle.words
    lines = [one for one in bundle.rules if one.kind == "line_count"]
    count = dict(lines[0].arguments)["n"] if lines else 4
    stock = [f"There is a {first} at {bundle.topic}.", f"It has a {second}, a {third} and more."]
    stock += ["Many people like it very much."] * count
    return alone(
        ", ".join(bundle.words),
        "\n".join(bundle.words),
        "\n".join(stock[:count]),
        "\n".join([", ".join(bundle.words)] * count),
        f"{bundle.topic.capitalize()} has a {first}, a {second} and a {third}.",
    )


def fingerprint(bundle: Bundle) -> list[Any]:
    """The rules in a fixed order, with the listed words in one."""
    rules = [replace(one, wording=0) for one in bundle.rules if one.kind != "words_from"]
    return [bundle.topic, sorted(bundle.words), sorted(map(str, rules))]


_HEAVY = {"acrostic": 3, "rising_lines": 2, "word_count": 3, "letter_count": 3, "forbids_letter": 3, "chained_lines": 2}


def effort(bundle: Bundle) -> float:
    """Pairs of rules that must hold together, those that look at every word more, by the lines."""
    weight = sum(_HEAVY.get(one.kind, 1) for one in bundle.rules)
    return weight * len(bundle.rules) * (bundle.witness.count("\n") + 1)


_LIGHT = ("contains_word", "forbids_word", "line_contains", "line_suffix", "forbids_digits", "line_prefix")
_MIDDLE = (*_LIGHT, "words_per_line", "line_ends", "line_words", "capital_words", "char_times", "longest_word")
_HARD = (
    *("words_per_line", "line_ends", "line_words", "capital_words", "char_times", "long_words", "no_repeats"),
    *("word_order", "word_times", "line_length", "forbids_word", "line_contains", "lowercase"),
)

FAMILY = Family(
    name="instruct/bundle",
    rungs={
        "L1": Params((2, 5), (6, 8), (("line_count",), ("contains_word",))),
        "L2": Params((3, 5), (6, 9), (("line_count",),), _MIDDLE, more=3),
        "L3": Params(
            (4, 5), (6, 10), (("line_count", "acrostic"), ("forbids_letter", "rising_lines")), _HARD, 3, banned="acdhlo"
        ),
        "L4": Params(
            (5, 6),
            (6, 10),
            (("acrostic", "line_count"), ("word_count", "rising_lines"), ("forbids_letter", "letter_count")),
            (*_HARD, "char_count", "same_ends", "chained_lines"),
            more=3,
            listed=9,
            needed=4,
            banned="acdhiort",
        ),
        "L5": Params(
            (6, 8),
            (6, 11),
            (("acrostic", "line_count"), ("word_count",), ("rising_lines",), ("forbids_letter", "letter_count")),
            (*_HARD, "char_count", "same_ends", "chained_lines"),
            more=5,
            listed=10,
            needed=5,
            banned="acdehiort",
        ),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("checks", {"fence": True}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 512, "L2": 1024, "L3": 1536, "L4": 2048, "L5": 3072},
    prompt_tokens={"L1": 280, "L2": 400, "L3": 460, "L4": 540, "L5": 640},
    fingerprint=fingerprint,
    mutants=lambda _: [],
    cost=10,
)
