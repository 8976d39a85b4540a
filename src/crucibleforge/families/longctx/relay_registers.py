"""Follow a chain through the registers of a warehouse: a person's badge, its locker, the key in it, and so on.

Harder rungs have longer chains, point at things by the picture on them, and replace some of them, also twice. Other
chains run beside it, with numbers and names that look alike, and none of them ends where this one does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.longctx._archive import FAMILY as SURNAMES
from crucibleforge.families.longctx._archive import GIVEN, Record, found, record, spread, worded
from crucibleforge.types import Grading

_KINDS = ("person", "badge", "locker", "key", "cabinet", "folder", "crate")
_VERBS = ("carries", "opens", "holds", "fits", "keeps", "names")
_PASSIVES = ("is carried by", "is opened by", "is held in", "is fitted by", "is kept in", "is named in")
_LAYER = 100_000
"""A thing is its layer times this, and its number; of a person the number picks the names."""

_COLOURS = ("grey", "blue", "green", "white", "black", "yellow", "brown", "purple", "orange", "silver")
_ANIMALS = (
    *("heron", "hare", "otter", "goose", "badger", "moth", "trout", "beetle", "lynx", "mole", "raven", "stoat"),
    *("plover", "newt", "crane", "snail"),
)

_LINKS = (
    "{source} {verb} {target}.",
    "{target} {passive} {source}.",
    "what {source} {verb} is {target}.",
    "it is {target} that {source} {verb}.",
)
_SWAPS = (
    "{old} was replaced by {new}.",
    "{new} replaced {old}.",
    "in place of {old} there is now {new}.",
    "{old} is out of use, and {new} has taken its place.",
)
_MARKS = (
    "the {mark} is painted on {thing}.",
    "there is a picture of the {mark} on {thing}.",
    "{thing} is the one with the {mark}.",
    "on {thing} one sees the {mark}.",
)
_NOTES = (
    "{person} asked to see {one}.",
    "{one} was cleaned together with {two}.",
    "{person} counted {count} scratches on {one}.",
    "{one} was weighed {count} days before {two}.",
    "{person} made a drawing of {one} for the catalogue.",
    "{one} is older than {two}.",
    "{person} dreamt of {one} and told everybody.",
    "a fly sat on {one} while {person} was at lunch.",
    "{person} mistook {one} for {two} and laughed.",
    "{one} got a new coat of varnish, {two} did not.",
    "{person} wiped {one} with a wet cloth for {count} minutes.",
    "{one} and {two} were shown to visitors.",
    "{person} was late by {count} minutes because of {one}.",
    "nobody could say who had scratched {one}.",
    "{person} and {stranger} argued about the colour of {one}.",
    "{person} praised {stranger} for the care of {one}.",
)


@dataclass(frozen=True)
class Register:
    """What is written, in the order of the text; `asked` is the person at the chain's beginning."""

    hops: int
    asked: int
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Params:
    """`marked` hops lead to a picture, `swapped` replacements lie on the way; `chains` begin beside it."""

    hops: int
    chains: int
    records: int
    marked: int = 0
    swapped: int = 0


@dataclass(frozen=True)
class Layer:
    """Things of one kind: those of the chain, the first replaced by the next and so on, and those of others."""

    chain: tuple[int, ...]
    others: tuple[int, ...]
    marks: tuple[int, ...]
    is_marked: bool


def generate(params: Params, draw: Draw) -> Register:
    """Lay the chain, lay others around it, and fill up with notes about the same things."""
    layers = _layers(params, draw)
    needles = [one for pair in pairwise(layers) for one in _needles(*pair, draw)]
    decoys = [one for pair in pairwise(layers) for one in _decoys(*pair, params, draw)]
    things = [thing for layer in layers[1:] for thing in (*layer.chain, *layer.others)]
    ends = list(layers[-1].others)
    people = [*layers[0].chain, *layers[0].others]
    missing = params.records - len(needles) - len(decoys)
    notes = [
        record(draw, "note", draw.pick(ends if number % 2 else things), draw.pick(things), *draw.sample(people[:9], 2))
        for number in range(missing)
    ]
    return Register(params.hops, layers[0].chain[0], tuple(spread(draw, needles, [*decoys, *notes])))


def _layers(params: Params, draw: Draw) -> list[Layer]:
    given, family = draw.below(len(GIVEN)), draw.below(len(SURNAMES))
    near = [given * len(SURNAMES) + draw.below(len(SURNAMES)) for _ in range(3)]
    near += [draw.below(len(GIVEN)) * len(SURNAMES) + family for _ in range(3)]
    asked = given * len(SURNAMES) + family
    far = [draw.below(len(GIVEN) * len(SURNAMES)) for _ in range(params.chains)]
    people = [one for one in dict.fromkeys((*near, *far)) if one != asked][: params.chains]
    layers = [Layer((asked,), tuple(people), (), is_marked=False)]
    swaps = Counter(draw.between(1, params.hops) for _ in range(params.swapped))
    marked = draw.sample(range(1, params.hops + 1), params.marked)
    known: list[int] = []
    for number in range(1, params.hops + 1):
        many = max(9, params.chains * (12 - number) // 12)
        chain = _numbers([], 1 + swaps[number], draw)
        known += chain
        others = [one for one in _numbers([*known, *map(_turned, chain)], many + len(chain), draw) if one not in chain]
        marks = draw.sample(range(len(_COLOURS) * len(_ANIMALS)), 1 + min(60, many // 2)) if params.marked else []
        base = number * _LAYER
        layers.append(
            Layer(
                tuple(base + one for one in chain),
                tuple(base + one for one in others[:many]),
                tuple(marks),
                is_marked=number in marked,
            )
        )
    return layers


def _numbers(wanted: list[int], count: int, draw: Draw) -> list[int]:
    """Different numbers of three digits, the wanted ones first."""
    numbers = dict.fromkeys(wanted)
    while len(numbers) < count:
        numbers[draw.between(100, 999)] = None
    return list(numbers)[:count]


def _turned(number: int) -> int:
    """The last two digits exchanged."""
    hundreds, rest = divmod(number, 100)
    return hundreds * 100 + rest % 10 * 10 + rest // 10


def _needles(source: Layer, target: Layer, draw: Draw) -> Iterator[Record]:
    """What the right way needs between two layers."""
    if target.is_marked:
        yield record(draw, "pointer", source.chain[-1], target.marks[0])
        yield record(draw, "mark", target.chain[0], target.marks[0])
    else:
        yield record(draw, "link", source.chain[-1], target.chain[0])
    for old, new in zip(target.chain, target.chain[1:], strict=False):
        yield record(draw, "swap", old, new)


def _decoys(source: Layer, target: Layer, params: Params, draw: Draw) -> Iterator[Record]:
    """Links of the others, of what was replaced on the right way, and their pictures and replacements."""
    marked = draw.sample(target.others, min(len(target.marks) - 1, len(target.others))) if target.marks else []
    marks = dict(zip(marked, target.marks[1:], strict=False))
    for thing, mark in marks.items():
        yield record(draw, "mark", thing, mark)
    for thing in (*source.chain[:-1], *source.others):
        if marks and draw.chance(1, 4):
            yield record(draw, "pointer", thing, marks[draw.pick(marked)])
        else:
            yield record(draw, "link", thing, draw.pick(target.others))
    for place, thing in enumerate(target.others[:-1]):
        # Only to a later one, so that no replacement goes round in a circle.
        if params.swapped and draw.chance(1, 6):
            yield record(draw, "swap", thing, draw.pick(target.others[place + 1 :]))


def solve(register: Register) -> int:
    """Walk from thing to thing."""
    return _walk(register)[-1] % _LAYER


def _walk(register: Register, *, swaps: bool = True, start: int | None = None) -> list[int]:
    """The things on the way from a person, replaced ones included."""
    links = {one.facts[0]: one.facts[1] for one in register.records if one.what == "link"}
    pointers = {one.facts[0]: one.facts[1] for one in register.records if one.what == "pointer"}
    marked = {(one.facts[0] // _LAYER, one.facts[1]): one.facts[0] for one in register.records if one.what == "mark"}
    replaced = {one.facts[0]: one.facts[1] for one in register.records if one.what == "swap" and swaps}
    way = [register.asked if start is None else start]
    for layer in range(1, register.hops + 1):
        here = way[-1]
        way.append(links[here] if here in links else marked[layer, pointers[here]])
        while way[-1] in replaced:
            way.append(replaced[way[-1]])
    return way


_NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
_THING = rf"(?i:{'|'.join(_KINDS[1:])}) [0-9]+"
_MARK = rf"(?:{'|'.join(_COLOURS)}) (?:{'|'.join(_ANIMALS)})"


def verify(register: Register) -> int:
    """Read the text, and join its statements to the pairs of every person and every end.

    Raises:
        ValueError: it states more or less than the instance, two things of one, or another chain ends at the answer.
    """
    text = ask(register).prompt
    counts = Counter(one.what for one in register.records)
    pictures = _stated(_MARKS, {"mark": _MARK, "thing": _THING}, ("mark", "thing"), text)
    marks = {f"the {thing.split()[0]} with the {mark}": thing for mark, thing in pictures}
    swaps = dict(_stated(_SWAPS, {"old": _THING, "new": _THING}, ("old", "new"), text))
    people: list[tuple[str, str]] = []
    links = 0
    for layer in range(register.hops):
        source = rf"(?i:{_KINDS[layer]}) [0-9]+" if layer else _NAME
        target = rf"(?i:{_KINDS[layer + 1]}) [0-9]+|(?i:the) {_KINDS[layer + 1]} with the {_MARK}"
        forms = [_of_layer(form, layer) for form in _LINKS]
        pairs = _stated(forms, {"source": source, "target": target}, ("source", "target"), text)
        links += len(pairs)
        step = {one: _last(marks.get(other, other), swaps) for one, other in pairs}
        people = [(person, step[here]) for person, here in people] if people else list(step.items())
        if len(step) < len(pairs):
            raise ValueError("a thing leads to two others")
    if (links, len(marks), len(swaps)) != (counts["link"] + counts["pointer"], counts["mark"], counts["swap"]):
        raise ValueError("the text does not state what the instance holds")
    asked = re.findall(rf"starts with ({_NAME})\.", text)[0].casefold()
    ends = [end for person, end in people if person == asked]
    if len(ends) != 1 or sum(end == ends[0] for _, end in people) != 1:
        raise ValueError("the end of the chain is not its own")
    return int(ends[0].split()[1])


def _stated(
    forms: Sequence[str], fields: Mapping[str, str], order: tuple[str, str], text: str
) -> list[tuple[str, str]]:
    """The pairs of all statements of some forms, in small letters."""
    return [(one[order[0]].casefold(), one[order[1]].casefold()) for one in found(forms, fields, text)]


def _of_layer(form: str, layer: int) -> str:
    return form.replace("{verb}", _VERBS[layer]).replace("{passive}", _PASSIVES[layer])


def _last(thing: str, swaps: Mapping[str, str]) -> str:
    """What is in use today in place of a thing."""
    return _last(swaps[thing], swaps) if thing in swaps else thing


def ask(register: Register) -> Draft:
    """The rules, the records, the question."""
    kinds = _KINDS[: register.hops + 1]
    ways = ", ".join(
        f"a{'n' * (one[0] in 'aeiou')} {one} {verb} a {other}"
        for one, verb, other in zip(kinds, _VERBS, kinds[1:], strict=False)
    )
    rules = [
        "Below are the records of a warehouse, in no order.",
        f"Some of them link one thing to the next: {ways}.",
        "Things of different kinds may have the same number. All other records lead nowhere.",
    ]
    held = {one.what for one in register.records}
    if "mark" in held:
        rules.append("A thing may be named by the picture on it; no two things of one kind have the same picture.")
    if "swap" in held:
        rules.append(
            "A thing that was replaced does not count, nor does what it leads to: go on with the thing that replaced "
            "it, and if that was replaced as well, with the one that replaced that. A thing that is pointed to by its "
            "picture, or that is the end of the chain, may have been replaced, too."
        )
    lines = "\n".join(_line(one) for one in register.records)
    question = (
        f"A chain starts with {_named(register.asked)}. Follow it from {' to '.join(kinds)}. "
        f"What is the number of the {kinds[-1]} at its end? {ANSWER_LINE}"
    )
    return Draft(prompt=f"{' '.join(rules)}\n\n{lines}\n\n{question}")


def _line(one: Record) -> str:
    facts = one.facts
    match one.what:
        case "link" | "pointer":
            layer = facts[0] // _LAYER
            to = _named(facts[1]) if one.what == "link" else f"the {_KINDS[layer + 1]} with the {_picture(facts[1])}"
            words = {"source": _named(facts[0]), "target": to, "verb": _VERBS[layer], "passive": _PASSIVES[layer]}
            return worded(_LINKS, one.form, words)
        case "swap":
            return worded(_SWAPS, one.form, {"old": _named(facts[0]), "new": _named(facts[1])})
        case "mark":
            return worded(_MARKS, one.form, {"thing": _named(facts[0]), "mark": _picture(facts[1])})
        case _:
            words = dict(zip(("one", "two", "person", "stranger"), map(_named, facts), strict=True))
            return worded(_NOTES, one.form, {**words, "count": str(one.form % 29 + 3)})


def _named(thing: int) -> str:
    layer, number = divmod(thing, _LAYER)
    if layer:
        return f"{_KINDS[layer]} {number}"
    given, family = divmod(number, len(SURNAMES))
    return f"{GIVEN[given]} {SURNAMES[family]}"


def _picture(mark: int) -> str:
    colour, animal = divmod(mark, len(_ANIMALS))
    return f"{_COLOURS[colour]} {_ANIMALS[animal]}"


def right(item: Item) -> Dialogues:
    """The number in several dressings."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """Ends of other chains and of replaced things, stations on the way, digits exchanged, and no answer."""
    register: Register = item.instance
    starts = [one.facts[0] for one in register.records if one.facts[0] < _LAYER and one.what in {"link", "pointer"}]
    ways = [
        _walk(register, swaps=False),
        *(_walk(register, start=start) for start in starts if start != register.asked),
    ]
    values = [way[-1] % _LAYER for way in ways] + [thing % _LAYER for thing in _walk(register)[1:-1]]
    values += [_turned(item.answer), item.answer + 1, item.answer - 1, item.answer + 100]
    different = dict.fromkeys(value for value in values if value != item.answer)
    return alone("ANSWER: not stated", *(f"ANSWER: {value}" for value in list(different)[:30]))


def shortcuts(item: Item) -> Dialogues:
    """What stands first, last, most often, highest, and beside the name."""
    register: Register = item.instance
    text = item.draft.prompt
    numbers = re.findall(rf"(?i:{_KINDS[register.hops]}) ([0-9]+)", text)
    lines = [line for line in text.splitlines()[2:-2] if _named(register.asked) in line]
    beside = re.findall(r"[a-z] ([0-9]+)", lines[0]) or ["0"]
    often = Counter(numbers).most_common(1)[0][0]
    return alone(*(f"ANSWER: {value}" for value in (numbers[0], numbers[-1], often, max(numbers), *beside[:1])))


def effort(register: Register) -> float:
    """Records to be searched, once for every step: a link, a picture, and that a thing was not replaced."""
    marked = sum(one.what == "pointer" and one.facts[0] in _walk(register) for one in register.records)
    checked = register.hops if any(one.what == "swap" for one in register.records) else 0
    return (len(_walk(register)) + marked + checked) * len(register.records)


FAMILY = Family(
    name="longctx/relay-registers",
    rungs={
        "L1": Params(hops=2, chains=8, records=33),
        "L2": Params(hops=3, chains=14, records=112),
        "L3": Params(hops=4, chains=24, records=240, marked=1, swapped=1),
        "L4": Params(hops=5, chains=40, records=520, marked=2, swapped=2),
        "L5": Params(hops=6, chains=70, records=1120, marked=3, swapped=4),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 256, "L2": 768, "L3": 1280, "L4": 2048, "L5": 2560},
    prompt_tokens={"L1": 1100, "L2": 3200, "L3": 6800, "L4": 14_200, "L5": 30_000},
    chance=0.05,
    shown="the records name the end of the chain among many others",
    cost=4,
)
