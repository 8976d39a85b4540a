"""Who held a post on a ship's voyage, or that the records do not say so.

Every case asks several such questions, some of them about posts that nothing is stated of, so that no constant passes.
Other ships, voyages and posts miss by one word; wishes and denials name the very post and state nothing. Harder rungs
state who it was only by records that say that two posts were held by the same person, and some of these lead nowhere.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.longctx._archive import FAMILY as SURNAMES
from crucibleforge.families.longctx._archive import SHIPS, Record, found, record, spread, worded
from crucibleforge.types import Grading

NOT_STATED = "NOT STATED"

_VOYAGES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_POSTS = ("pilot", "cook", "carpenter", "purser", "gunner", "surgeon", "boatswain", "lookout")
_KEY = "{post} of the {ship} on her {voyage} voyage"
_KEY_2 = "{post2} of the {ship2} on her {voyage2} voyage"

_FORMS = {
    "fact": (
        f"{{person}} was {_KEY}.",
        "on her {voyage} voyage the {ship} had {person} as {post}.",
        f"the {_KEY} was {{person}}.",
        "the {ship} sailed on her {voyage} voyage with {person} as {post}.",
    ),
    "wish": (
        f"{{person}} wanted to be {_KEY}.",
        "for her {voyage} voyage the owners of the {ship} wished for {person} as {post}.",
        f"{{person}} was proposed as {_KEY}.",
        "the {ship} was promised {person} as {post} for her {voyage} voyage.",
    ),
    "denial": (
        f"{{person}} was not {_KEY}.",
        "it is untrue that on her {voyage} voyage the {ship} had {person} as {post}.",
        f"whoever was {_KEY}, it was not {{person}}.",
    ),
    "same": (
        f"the {_KEY} was the {_KEY_2}.",
        f"one and the same person was {_KEY} and {_KEY_2}.",
        f"on her {{voyage}} voyage the {{ship}} had as {{post}} the person who was {_KEY_2}.",
    ),
    "differ": (
        f"the {_KEY} was not the {_KEY_2}.",
        f"one person was {_KEY} and another one {_KEY_2}.",
        f"on her {{voyage}} voyage the {{ship}} did not have as {{post}} the person who was {_KEY_2}.",
    ),
    "note": (
        "{person} painted a picture of the {ship} after her {voyage} voyage.",
        "before her {voyage} voyage the {ship} lay in dock, and {person} paid for it.",
        "{person} lent the {post} of the {ship} a lamp.",
        "the {ship} came home from her {voyage} voyage and {person} lit a fire on the hill.",
        "on her {voyage} voyage the {ship} carried a letter for {person}.",
        "{person} met the {post} of the {ship} in the street.",
        "the {post} of the {ship} wrote to {person} on her {voyage} voyage.",
        "{person} read about the {voyage} voyage of the {ship} in the paper.",
        "nobody on the {ship} had heard of {person} before her {voyage} voyage.",
        "{person} sold a hat to the {post} of the {ship}.",
        "the {post} of the {ship} owed {person} a day's pay after her {voyage} voyage.",
        "{person} waved when the {ship} left on her {voyage} voyage.",
    ),
}

Key = tuple[int, int, int]
"""A post: ship, voyage, and which."""


@dataclass(frozen=True)
class Muster:
    """What is asked, in order, and the records in the order of the text."""

    asked: tuple[Key, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Params:
    """For each question how many records of the same person lie between it and what is stated, or not.

    `ships` are mentioned; `about` records come close to each question.
    """

    hops: tuple[int, ...]
    ships: int
    about: int
    records: int


@dataclass
class _Sketch:
    """What is drawn so far: nothing is stated of a post twice."""

    draw: Draw
    ships: list[int]
    people: list[int]
    taken: set[Key] = field(default_factory=set)

    def fresh(self, near: Key | None = None) -> Key:
        """A post that nothing is stated of, which differs from `near` in one word."""
        return self.draw.until(lambda: self._fresh(near))

    def _fresh(self, near: Key | None) -> Key | None:
        words = (self.draw.pick(self.ships), self.draw.below(len(_VOYAGES)), self.draw.below(len(_POSTS)))
        if near is not None:
            changed = self.draw.below(3)
            words = (*near[:changed], words[changed], *near[changed + 1 :])  # type: ignore[assignment]
        if words in self.taken:
            return None
        self.taken.add(words)
        return words

    def person(self, *others: int) -> int:
        """Anybody else."""
        return self.draw.until(lambda: one if (one := self.draw.pick(self.people)) not in others else None)


def generate(params: Params, draw: Draw) -> Muster:
    """Draw the questions with what is stated and what comes close, then fill up with records of other posts."""
    ships, people = draw.sample(range(len(SHIPS)), params.ships), draw.sample(range(len(SURNAMES)), 40)
    sketch = _Sketch(draw, ships, people)
    stated = draw.shuffled([True, False, *(draw.chance(1, 2) for _ in params.hops[2:])])
    asked = [sketch.fresh() for _ in params.hops]
    needles: list[Record] = []
    around: list[Record] = []
    for key, hops, is_stated in zip(asked, draw.shuffled(params.hops), stated, strict=True):
        value = sketch.person()
        chain = [key, *(sketch.fresh() for _ in range(hops))]
        needles += [_linked("same", one, other, draw) for one, other in pairwise(chain)]
        if is_stated:
            needles.append(record(draw, "fact", *chain[-1], value))
        around += _about(sketch, chain, value, params)
    while len(needles) + len(around) < params.records:
        around += _elsewhere(sketch, is_linked=max(params.hops) > 0)
    around = around[: params.records - len(needles)]
    return Muster(tuple(asked), tuple(spread(draw, needles, around)))


def _linked(what: str, one: Key, other: Key, draw: Draw) -> Record:
    first, second = (one, other) if draw.chance(1, 2) else (other, one)
    return record(draw, what, *first, *second)


def _about(sketch: _Sketch, chain: Sequence[Key], value: int, params: Params) -> Iterator[Record]:
    """What comes close to a question: its very post in records that state nothing, and posts that miss by one word."""
    draw = sketch.draw
    yield record(draw, "wish", *chain[0], sketch.person(value))
    if params.about > 4:
        yield record(draw, "denial", *chain[-1], sketch.person(value))
    for _ in range(params.about // 2):
        near, person = sketch.fresh(draw.pick(chain)), sketch.person(value)
        yield record(draw, "fact", *near, person)
        # With somebody else than the answer, so that it contradicts nothing.
        if max(params.hops) and draw.chance(1, 2):
            yield _linked("differ", draw.pick(chain), near, draw)
    for _ in range(params.about // 4):
        yield record(draw, draw.pick(("wish", "denial")), *draw.pick(chain), sketch.person(value))


def _elsewhere(sketch: _Sketch, *, is_linked: bool) -> list[Record]:
    draw, key, person = sketch.draw, sketch.fresh(), sketch.person()
    sort = draw.below(12)
    if sort < 4:
        return [record(draw, "fact", *key, person)]
    if sort < 6:
        return [record(draw, draw.pick(("wish", "denial")), *key, person)]
    if sort < 7 and is_linked:
        other = sketch.fresh()
        return [_linked("same", key, other, draw), record(draw, draw.pick(("fact", "wish")), *other, person)]
    return [record(draw, "note", *key, person)]


def solve(muster: Muster) -> list[str]:
    """Go from post to post of the same person until a record says who it was."""
    facts = {_post(one.facts): one.facts[3] for one in muster.records if one.what == "fact"}
    same: dict[Key, list[Key]] = {}
    for one in muster.records:
        if one.what == "same":
            same.setdefault(_post(one.facts), []).append(_post(one.facts[3:]))
            same.setdefault(_post(one.facts[3:]), []).append(_post(one.facts))
    return [_held(key, facts, same) for key in muster.asked]


def _held(key: Key, facts: dict[Key, int], same: dict[Key, list[Key]]) -> str:
    seen, ahead = {key}, [key]
    while ahead:
        here = ahead.pop()
        if here in facts:
            return SURNAMES[facts[here]]
        fresh = [one for one in same.get(here, []) if one not in seen]
        seen.update(fresh)
        ahead += fresh
    return NOT_STATED


def _post(facts: Sequence[int]) -> Key:
    return facts[0], facts[1], facts[2]


_WORD = {
    "person": "|".join(SURNAMES),
    **{f"ship{end}": "|".join(SHIPS) for end in ("", "2")},
    **{f"voyage{end}": "|".join(_VOYAGES) for end in ("", "2")},
    **{f"post{end}": "|".join(_POSTS) for end in ("", "2")},
}


def verify(muster: Muster) -> list[str]:
    """Read the text, and spread what it states over posts of the same person until nothing changes.

    Raises:
        ValueError: it states more or less than the instance, or two persons for one post, or denies what it states.
    """
    prompt = ask(muster).prompt
    told = {what: list(found(forms, _WORD, prompt)) for what, forms in _FORMS.items()}
    if any(len(those) != sum(one.what == what for one in muster.records) for what, those in told.items()):
        raise ValueError("the text does not state what the instance holds")
    held: dict[tuple[str, ...], set[str]] = {}
    for one in told["fact"]:
        held.setdefault(_place(one), set()).add(one["person"])
    before = -1
    while before != (before := sum(map(len, held.values()))):
        for one in told["same"]:
            here, there = held.setdefault(_place(one), set()), held.setdefault(_place(one, "2"), set())
            here |= there
            there |= here
    for one in told["denial"]:
        if one["person"] in held.get(_place(one), ()):
            raise ValueError("a post is denied to the person who held it")
    for one in told["differ"]:
        if held.get(_place(one), set()) & held.get(_place(one, "2"), set()):
            raise ValueError("two different persons are the same")
    asked = re.findall(r"(?m)^[0-9]+\. Who was (\w+) of the (\w+) on her (\w+) voyage\?$", prompt)
    given = [held.get((ship, voyage, post), set()) or {NOT_STATED} for post, ship, voyage in asked]
    if any(len(names) != 1 for names in given):
        raise ValueError("a post has two holders")
    return [name for names in given for name in names]


def _place(one: dict[str, str], end: str = "") -> tuple[str, ...]:
    return one[f"ship{end}"], one[f"voyage{end}"], one[f"post{end}"]


def ask(muster: Muster) -> Draft:
    """The rules that matter here, the records, the questions."""
    held = {one.what for one in muster.records}
    rules = [
        "Below are records about ships, in no order. On each voyage of a ship one person held each post.",
        "Ships with names that look alike are different ships.",
        "A wish, a proposal, a promise or a denial does not state who held a post.",
    ]
    if "same" in held:
        rules.append(
            "One person may have held several posts. Who held a post is stated if a record names the person, or if "
            "records say that it was the same person as in another post (either way round, and perhaps over several "
            "posts) of which a record names the person."
        )
    lines = "\n".join(_line(one) for one in muster.records)
    questions = "\n".join(f"{number}. Who was {_asked(key)}?" for number, key in enumerate(muster.asked, start=1))
    ending = (
        "Some of this is stated in the records and some is not. Give the names in the order of the questions, "
        f"separated by commas, with {NOT_STATED} in the place of each name that the records do not state."
    )
    return Draft(prompt=f"{' '.join(rules)}\n\n{lines}\n\n{questions}\n\n{ending} {ANSWER_LINE}")


def _asked(key: Key) -> str:
    return _KEY.format_map(_words(key, ""))


def _words(key: Sequence[int], end: str) -> dict[str, str]:
    return {f"ship{end}": SHIPS[key[0]], f"voyage{end}": _VOYAGES[key[1]], f"post{end}": _POSTS[key[2]]}


def _line(one: Record) -> str:
    words = _words(one.facts, "")
    words |= _words(one.facts[3:], "2") if one.what in {"same", "differ"} else {"person": SURNAMES[one.facts[3]]}
    return worded(_FORMS[one.what], one.form, words)


def right(item: Item) -> Dialogues:
    """The names in several dressings."""
    names: list[str] = item.answer
    lower = [name.lower() if name == NOT_STATED else name for name in names]
    numbered = "\n".join(f"{number}. {name}" for number, name in enumerate(names, start=1))
    listed = alone(f"ANSWER: {'; '.join(lower)}", f"I looked up each post.\n\nANSWER:\n{numbered}")
    return (*answers(", ".join(names)), *listed)


def near_misses(item: Item) -> Dialogues:
    """A name left out, invented, or taken from a wish, a denial or a near post; the wrong order; too few, too many."""
    muster: Muster = item.instance
    names: list[str] = item.answer
    lists = [[NOT_STATED] * len(names), names[:-1], [*names, NOT_STATED], names[::-1], [*names[1:], names[0]]]
    for place, key in enumerate(muster.asked):
        wrong = [_first(muster, key, what, words) for what, words in (("wish", 3), ("denial", 3), ("fact", 2))]
        wrong += [NOT_STATED, _other(names[place])]
        lists += [[*names[:place], one, *names[place + 1 :]] for one in wrong if one]
    texts = dict.fromkeys(", ".join(one) for one in lists if one != names)
    return alone("ANSWER: I do not know", *(f"ANSWER: {text}" for text in texts))


def _first(muster: Muster, key: Key, what: str, words: int) -> str:
    """The person in the first record of a kind that shares just so many words with a post; empty: there is none."""
    for one in muster.records:
        if one.what == what and sum(map(int.__eq__, one.facts, key)) == words:
            return SURNAMES[one.facts[3]]
    return ""


def _other(name: str) -> str:
    return SURNAMES[0] if name != SURNAMES[0] else SURNAMES[1]


def shortcuts(item: Item) -> Dialogues:
    """Nothing is stated; whoever stands first beside all words of the post, or beside two; the most frequent name."""
    muster: Muster = item.instance
    named = [one for one in muster.records if one.what not in {"same", "differ"}]
    often = SURNAMES[Counter(one.facts[3] for one in named).most_common(1)[0][0]]
    many = len(muster.asked)
    beside = [_beside(named, key, 3) for key in muster.asked]
    nearly = [_beside(named, key, 2) for key in muster.asked]
    mixed = [[NOT_STATED, *beside[1:]], [*beside[:-1], NOT_STATED]]
    lists = [[NOT_STATED] * many, [often] * many, beside, nearly, *mixed]
    return alone(*(f"ANSWER: {', '.join(one)}" for one in lists))


def _beside(records: Sequence[Record], key: Key, words: int) -> str:
    names = [SURNAMES[one.facts[3]] for one in records if sum(map(int.__eq__, one.facts[:3], key)) >= words]
    return names[0] if names else NOT_STATED


def effort(muster: Muster) -> float:
    """Every record is weighed for every question; one that names the post itself or leads on is looked at closely."""
    close = sum(one.what in {"same", "differ"} for one in muster.records)
    return len(muster.asked) * (len(muster.records) + 4 * close)


FAMILY = Family(
    name="longctx/not-there",
    rungs={
        "L1": Params((0, 0, 0), ships=8, about=4, records=24),
        "L2": Params((0, 0, 0), ships=12, about=6, records=89),
        "L3": Params((0, 0, 1, 1), ships=16, about=8, records=190),
        "L4": Params((0, 1, 1, 2, 2), ships=30, about=10, records=415),
        "L5": Params((1, 1, 2, 2, 3, 3), ships=50, about=12, records=900),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("exact", {"kind": "tuple", "choices": [*SURNAMES, NOT_STATED]}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 256, "L2": 768, "L3": 1280, "L4": 2048, "L5": 2560},
    prompt_tokens={"L1": 1100, "L2": 3200, "L3": 6800, "L4": 14_200, "L5": 30_000},
    shown="the records hold the names, and the words for what they do not state",
    cost=4,
)
