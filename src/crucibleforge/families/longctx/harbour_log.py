"""Ask the log of an invented harbour.

Every entry is built from the same ships, quays and goods, so searching for a word finds too much. Easy: one entry
among look-alikes that share all but one fact. Medium: a second entry tells what the first one points at. Hard: a
sum over entries of which some were corrected later, one of them twice. The answers come from the facts; they are
derived again by reading the log's sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Draw, Family, answer_dressings, said
from crucibleforge.types import Grading

SHIPS = ("Amity", "Bellwether", "Corvel", "Dunmore", "Esker", "Falchion", "Gossamer", "Halcyon")
QUAYS = ("Tar Quay", "Widow Steps", "Marl Pier", "Copper Dock", "Old Slip", "Lime Wharf")
GOODS = ("flax", "salt", "slate", "honey", "tallow", "cork")
AGENTS = ("Abel", "Brandt", "Crispin", "Drury", "Ellery", "Fenwick", "Garrod", "Hobday")
LANES = ("Rope Lane", "Gull Street", "Mast Row", "Anchor Alley")

_LANDED = (
    "The {ship} landed {n} crates of {good} at {quay}.",
    "At {quay} the {ship} put ashore {n} crates of {good}.",
    "The gang at {quay} took {n} crates of {good} off the {ship}.",
)
_PAPERS = ("Agent {agent} keeps the papers of the {ship}.", "The {ship} has left her papers with agent {agent}.")
_OFFICE = (
    "Agent {agent} has an office at {n} {lane}.",
    "Whoever looks for agent {agent} finds the office at {n} {lane}.",
)
_OTHER = (
    "The crane at {quay} stood still for {n} minutes while a cable was changed.",
    "Fog lay over the mouth of the harbour, and the {ship} dropped anchor for {n} hours.",
    "The {ship} took on {n} barrels of water at {quay}.",
    "A trader in {good} asked for the {ship} and was told to come back at high water.",
    "Two planks of the ramp at {quay} were replaced before noon.",
    "The {ship} moved from {quay} to the outer buoy to make room.",
    "The price of {good} on the board went up by {n} pence.",
    "A boy from {quay} brought a lost oar of the {ship} to the office.",
    "The harbour master measured {n} feet of water at {quay}.",
    "A lantern fell from the {ship} and was found again at {quay}.",
    "Rats were seen in a heap of {good} at {quay}.",
    "The tide turned {n} minutes late, says the keeper of {quay}.",
    "A new flag was hoisted on the {ship} for the feast.",
    "The cook of the {ship} bought onions and a new kettle.",
)


@dataclass(frozen=True)
class Params:
    """What is asked, and how many entries the log holds."""

    asked: Literal["crates", "office", "total"]
    entries: int


@dataclass(frozen=True)
class Landing:
    """`n` crates of `good` from `ship` at `quay`."""

    ship: str
    good: str
    quay: str
    n: int


@dataclass(frozen=True)
class Question:
    """A question, the sentences that it needs (look-alikes included), its answer, and answers of a hasty reader."""

    text: str
    sentences: tuple[str, ...]
    corrections: tuple[tuple[int, int], ...]
    answer: int
    hasty: tuple[int, ...]


def make(params: Params, draw: Draw) -> Draft:
    """Draw the needles, then hide them among other entries."""
    ask = {"crates": _crates, "office": _office, "total": _total}[params.asked]
    question = draw.until(lambda: ask(draw))
    others = params.entries - len(question.sentences) - len(question.corrections)
    log = _entries(question, [_other(draw) for _ in range(others)], draw)
    prompt = (
        "Below is the log of a harbour, one numbered entry to a line. Answer the question that follows it.\n\n"
        + "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(log, start=1))
        + f"\n\nQuestion: {question.text}\n{ANSWER_LINE}"
    )
    return Draft(prompt=prompt, expected=question.answer, instance=question.hasty)


def _entries(question: Question, others: list[str], draw: Draw) -> list[str]:
    """Everything in random order, except that corrections follow what they correct, in the order given."""
    count = len(question.sentences)
    order = draw.shuffled(range(count + len(question.corrections) + len(others)))
    chains = [[which, count + number] for number, (which, _) in enumerate(question.corrections)]
    bound = sorted({entry for chain in chains for entry in chain})
    spots = sorted(order.index(entry) for entry in bound)
    tied = draw.until(lambda: _in_turn(draw.shuffled(bound), chains))
    for spot, entry in zip(spots, tied, strict=True):
        order[spot] = entry
    mended = [
        f"Correction to entry {order.index(which) + 1}: the right number of crates is {n}."
        for which, n in question.corrections
    ]
    texts = [*question.sentences, *mended, *others]
    return [texts[entry] for entry in order]


def _in_turn(order: list[int], chains: list[list[int]]) -> list[int] | None:
    """The order, if every correction follows its entry and any earlier correction of the same entry."""
    after = [(entry, mark) for entry, mark in chains]
    after += [(one[1], other[1]) for one, other in combinations(chains, 2) if one[0] == other[0]]
    return order if all(order.index(first) < order.index(then) for first, then in after) else None


def _other(draw: Draw) -> str:
    ship, quay, good = draw.pick(SHIPS), draw.pick(QUAYS), draw.pick(GOODS)
    return draw.pick(_OTHER).format(ship=ship, quay=quay, good=good, n=draw.between(2, 60))


def _landed(landing: Landing, draw: Draw) -> str:
    return draw.pick(_LANDED).format(ship=landing.ship, good=landing.good, quay=landing.quay, n=landing.n)


def _crates(draw: Draw) -> Question:
    ships, goods, quays = draw.sample(SHIPS, 2), draw.sample(GOODS, 2), draw.sample(QUAYS, 2)
    numbers = draw.sample(range(61, 100), 7)
    corners = [(ship, good, quay) for ship in ships for good in goods for quay in quays][:7]
    landings = [Landing(*corner, n) for corner, n in zip(corners, numbers, strict=True)]
    wanted = landings[0]
    return Question(
        text=f"How many crates of {wanted.good} did the {wanted.ship} bring to {wanted.quay}?",
        sentences=tuple(_landed(landing, draw) for landing in landings),
        corrections=(),
        answer=wanted.n,
        hasty=tuple(numbers[1:4]),
    )


def _office(draw: Draw) -> Question:
    ships, agents = draw.shuffled(SHIPS), draw.shuffled(AGENTS)
    houses = draw.sample(range(61, 100), len(agents))
    papers = [draw.pick(_PAPERS).format(ship=ship, agent=agent) for ship, agent in zip(ships, agents, strict=True)]
    offices = [
        draw.pick(_OFFICE).format(agent=agent, n=house, lane=draw.pick(LANES))
        for agent, house in zip(agents, houses, strict=True)
    ]
    landings = [_landed(_any_landing(draw), draw) for _ in range(12)]
    return Question(
        text=f"What is the house number of the agent who has the papers of the {ships[0]}?",
        sentences=(*papers, *offices, *landings),
        corrections=(),
        answer=houses[0],
        hasty=tuple(houses[1:4]),
    )


def _any_landing(draw: Draw) -> Landing:
    return Landing(draw.pick(SHIPS), draw.pick(GOODS), draw.pick(QUAYS), draw.between(11, 60))


def _total(draw: Draw) -> Question | None:
    ship, good = draw.pick(SHIPS), draw.pick(GOODS)
    hits = [Landing(ship, good, quay, n) for quay, n in zip(QUAYS, draw.sample(range(11, 60), 6), strict=True)]
    same_ship = [Landing(ship, other, draw.pick(QUAYS), draw.between(11, 60)) for other in GOODS if other != good]
    same_good = [Landing(other, good, draw.pick(QUAYS), draw.between(11, 60)) for other in SHIPS if other != ship]
    drawn = [_any_landing(draw) for _ in range(30)]
    others = [landing for landing in drawn if landing.ship != ship and landing.good != good]
    sentences = [_landed(landing, draw) for landing in [*hits, *same_ship, *same_good, *others]]
    once, first, last, elsewhere = draw.sample(range(11, 60), 4)
    changed = sum(hit.n for hit in hits[2:]) + once + last
    plain = sum(hit.n for hit in hits)
    hasty = (plain, changed - last + first, changed - last + hits[1].n, changed - once + hits[0].n, changed - hits[5].n)
    if len(set(sentences)) < len(sentences) or changed in hasty:
        return None
    return Question(
        text=f"How many crates of {good} did the {ship} bring in all, at all quays together? Where an entry is "
        "corrected, use the corrected number; where it is corrected more than once, use the last correction.",
        sentences=tuple(sentences),
        corrections=((1, first), (len(hits), elsewhere), (0, once), (1, last)),
        answer=changed,
        hasty=hasty,
    )


def rederive(draft: Draft) -> int:
    """Read the log entry by entry and answer from the sentences alone."""
    body, question = draft.prompt.split("\n\nQuestion: ")
    log = {int(number): text for number, text in re.findall(r"^\[(\d+)\] (.*)$", body, re.MULTILINE)}
    ship = _one(r" the (" + "|".join(SHIPS) + r")\b", question)
    if "papers" in question:
        agent = _one(r"gent (\w+)", *(text for text in log.values() if "papers" in text and ship in text))
        return int(_one(r"office at (\d+) ", *(text for text in log.values() if f"gent {agent} " in text)))
    crates = {number: int(_one(r"(\d+) crates of", text)) for number, text in log.items() if " crates of " in text}
    for text in log.values():
        mended = re.match(r"Correction to entry (\d+): the right number of crates is (\d+)\.", text)
        if mended:
            crates[int(mended[1])] = int(mended[2])
    facts = [_one(r"crates of (\w+)", question), ship, *(quay for quay in QUAYS if quay in question)]
    return sum(n for number, n in crates.items() if all(fact in log[number] for fact in facts))


def _one(pattern: str, *texts: str) -> str:
    """The single thing that the pattern finds in all of the texts.

    Raises:
        ValueError: there is none, or more than one.
    """
    found = [match for text in texts for match in re.findall(pattern, text)]
    if len(found) != 1:
        raise ValueError(f"{pattern} was found {len(found)} times")
    return str(found[0])


def right(draft: Draft) -> Dialogues:
    """The number in several dressings."""
    return tuple((reply,) for reply in answer_dressings(draft.expected))


def wrong(draft: Draft) -> Dialogues:
    """What a hasty reader finds, neighbours, and no answer."""
    near = (*draft.instance, draft.expected + 1, draft.expected - 1)
    return (
        *((said(f"ANSWER: {value}"),) for value in near if value != draft.expected),
        (said("The log does not say."),),
    )


FAMILY = Family(
    name="longctx/harbour-log",
    levels={"easy": Params("crates", 17), "medium": Params("office", 54), "hard": Params("total", 105)},
    make=make,
    grading=Grading("numeric", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 80, "medium": 80, "hard": 80},
    prompt_tokens={"easy": 540, "medium": 1400, "hard": 2800},
    count=1,
    shown="the log holds the answer or the numbers that make it up",
)
