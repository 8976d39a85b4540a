"""Rules for replies that come in, change, are lifted, come back and are scoped, over up to seven turns.

Every reply must meet the rules that hold for it: those of earlier turns, unless they were changed, and neither more
nor fewer than one reply long what was said for one reply. A reply stands alone, so that one failure makes no later
turn harder. Each turn has its own topic words, so that no reply can be repeated.

`solve` keeps a ledger forwards; `verify` looks back from each reply for the last word about each rule, and reads the
witnesses and their mutants (each breaks one rule of its turn) with a second set of checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import said
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.instruct._events import Event, Params, drawn_events, told
from crucibleforge.families.instruct._mutants import Text, breaking_one, gauges, varied
from crucibleforge.families.instruct._prose import Demand, Shape, composed
from crucibleforge.families.instruct._rules import Rule, explained, rule, sentence, spec
from crucibleforge.families.instruct._second import broken, measured
from crucibleforge.families.instruct._topics import TOPICS
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Turn:
    """One user message and the reply to it: `rules` are those of the reply's own (its list of words)."""

    topic: str
    rule: Rule
    events: tuple[Event, ...]
    witness: str = ""
    variants: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contract:
    """The turns in order."""

    turns: tuple[Turn, ...]


_VARIANTS = 3
_TRIES = 8


def generate(params: Params, draw: Draw) -> Contract:
    """Draw until every kind of event occurs and every rule of every turn can be broken alone."""
    return draw.until(lambda: _contract(params, draw))


def _contract(params: Params, draw: Draw) -> Contract | None:
    clashing = draw.pick(("suffix", "closing"))
    slots = [slot for slot in draw.shuffled(params.slots) if slot != clashing]
    if not {"lines", "width"} & {*slots[: params.start]}:
        return None
    events = drawn_events(params, slots, draw)
    if events is None:
        return None
    topics = draw.sample(list(TOPICS), params.turns)
    turns = [
        Turn(topic, rule("words_from", min=3, words=tuple(draw.sample(TOPICS[topic], 7))), tuple(now))
        for topic, now in zip(topics, events, strict=True)
    ]
    made = []
    for turn, active in zip(turns, ledger(turns), strict=True):
        tried = (_witnessed(turn, [*active.values()], draw) for _ in range(_TRIES))
        complete = next((one for one in tried if one is not None), None)
        if complete is None:
            return None
        made.append(complete)
    return Contract(tuple(made))


def _witnessed(turn: Turn, active: Sequence[Rule], draw: Draw) -> Turn | None:
    """The turn with a reply that meets the rules, others like it, and one for each rule that breaks it alone."""
    given = {one.kind: dict(one.arguments) for one in active}
    letter = given.get("forbids_letter", {}).get("letter", "")
    possible = [word for word in dict(turn.rule.arguments)["words"] if not letter or letter not in word]
    word = given.get("contains_word", {}).get("word", "")
    if len(possible) < 3 or (letter and letter in word):
        return None
    width = given.get("words_per_line", {"min": 6, "max": 9})
    count = given.get("line_count", {}).get("n") or draw.between(2, 4)
    demand = Demand(
        lengths=tuple(draw.between(width["min"], width["max"]) for _ in range(count)),
        banned=letter,
        needed=(*draw.sample(possible, 3), *([word] if word else [])),
        avoided=(given.get("forbids_word", {}).get("word", ""),),
    )
    lines = composed(demand, draw)
    if lines is None:
        return None
    text = Text(lines, _shape(given))
    rules = (*active, turn.rule)
    mutants = [breaking_one(text, rules, number, draw) for number in range(len(rules))]
    variants = varied(text, rules, _VARIANTS, draw)
    found = tuple(mutant for mutant in mutants if mutant is not None)
    if len(found) < len(rules) or len(variants) < _VARIANTS or any(one.test(str(text)) for one in gauges(rules)):
        return None
    return replace(turn, witness=str(text), variants=variants, mutants=found)


def _shape(given: dict[str, dict[str, Any]]) -> Shape:
    case = "lower" if "lowercase" in given else "upper" if "uppercase" in given else ""
    texts = {kind: arguments.get("text", "") for kind, arguments in given.items()}
    return Shape(texts.get("line_prefix", ""), texts.get("line_suffix", "."), case, texts.get("ends_with", ""))


def ledger(turns: Sequence[Turn]) -> list[dict[int, Rule]]:
    """The numbered rules that hold for each reply, from the first turn to the last."""
    standing: dict[int, Rule] = {}
    lifted: dict[int, Rule] = {}
    scoped: dict[int, dict[int, Rule]] = {}
    held = []
    for now, turn in enumerate(turns):
        for event in turn.events:
            match event.kind, event.rule:
                case "lift", _:
                    lifted[event.number] = standing.pop(event.number)
                case "again", _:
                    standing[event.number] = lifted.pop(event.number)
                case "instead", Rule() as one:
                    for later in range(now + event.delay, now + event.delay + event.span):
                        scoped.setdefault(later, {})[event.number] = one
                case _, Rule() as one:
                    standing[event.number] = one
        both = standing | scoped.get(now, {})
        held.append({number: both[number] for number in sorted(both)})
    return held


def solve(contract: Contract) -> list[dict[str, Any]]:
    """For each reply its rules, the witness, what the grader measures on it, and that each mutant breaks its rule."""
    found = []
    for turn, active in zip(contract.turns, ledger(contract.turns), strict=True):
        rules = (*active.values(), turn.rule)
        found.append(
            {
                "rules": [spec(one) for one in rules],
                "text": turn.witness,
                "values": [one.measure(turn.witness) for one in gauges(rules)],
                "breaks": [[number] for number in range(len(rules))],
            }
        )
    return found


def verify(contract: Contract) -> list[dict[str, Any]]:
    """The same, each rule looked up backwards from each reply, each text read by the second checks.

    Raises:
        ValueError: a witness or a variant breaks a rule.
    """
    found = []
    for now, turn in enumerate(contract.turns):
        before = [(at, one) for at in range(now, -1, -1) for one in contract.turns[at].events]
        numbers = sorted({one.number for _, one in before})
        looked_up = [_looked_up(number, now, before) for number in numbers]
        rules = (*(one for one in looked_up if one is not None), turn.rule)
        for text in (turn.witness, *turn.variants):
            if wrong := broken(rules, text):
                raise ValueError(f"reply {now + 1}: rule {wrong[0] + 1} is broken by {text!r}")
        found.append(
            {
                "rules": [spec(one) for one in rules],
                "text": turn.witness,
                "values": [measured(one, turn.witness) for one in rules],
                "breaks": [broken(rules, mutant) for mutant in turn.mutants],
            }
        )
    return found


def _looked_up(number: int, now: int, before: list[tuple[int, Event]]) -> Rule | None:
    """How a rule reads for a reply; `before` are the events up to it, the newest first."""
    own = [(at, one) for at, one in before if one.number == number]
    for at, one in own:
        if one.kind == "instead" and at + one.delay <= now < at + one.delay + one.span:
            return one.rule
    lasting = [one for _, one in own if one.kind != "instead"]
    if lasting[0].kind == "lift":
        return None
    return next(one.rule for one in lasting if one.rule is not None)


_OPENING = """\
You will write several short texts, one in each reply. The rules below have numbers. A rule holds for every reply \
from now on, until a later message changes or lifts it.
{terms}
Reply with nothing but the text; a code fence around the whole text is allowed."""


def ask(contract: Contract) -> Draft:
    """The opening says how rules work and what their terms mean; each turn has its changes and its topic."""
    held = ledger(contract.turns)
    ever = [one for active in held for one in active.values()]
    opening = _OPENING.format(terms=explained([*ever, *(turn.rule for turn in contract.turns)]))
    first, *later = [_message(turn) for turn in contract.turns]
    checks = [
        spec(one, number)
        for number, (turn, active) in enumerate(zip(contract.turns, held, strict=True))
        for one in (*active.values(), turn.rule)
    ]
    return Draft(
        prompt=f"{opening}\n\n{first}",
        turns=tuple(later),
        max_rounds=len(contract.turns),
        settings={"checks": checks},
    )


def _message(turn: Turn) -> str:
    changes = [told(event) for event in turn.events]
    return "\n".join([*changes, f"Now write a short text about {turn.topic}. In this reply: {sentence(turn.rule)}"])


def _dialogue(texts: Sequence[str]) -> tuple[Any, ...]:
    return tuple(said(text) for text in texts)


def right(item: Item) -> Dialogues:
    """The witnesses in several dressings, and their variants."""
    turns = item.instance.turns
    dressings: tuple[Callable[[str], str], ...] = (
        str,
        lambda text: f"{text}\n",
        lambda text: f"\n{text}\n\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: f"```\n{text}\n```",
        lambda text: f"```text\n{text}\n```\n",
        lambda text: f"<think>Which rules hold now?</think>\n{text}",
        lambda text: f"{text}<|im_end|>",
        lambda text: text.replace("\n", "  \n"),
    )
    dressed = [_dialogue([dress(turn.witness) for turn in turns]) for dress in dressings]
    return (*dressed, *(_dialogue([turn.variants[way] for turn in turns]) for way in range(_VARIANTS)))


def near_misses(item: Item) -> Dialogues:
    """One rule broken in one reply, a reply that came a turn late, a missing end, chat around the text."""
    contract: Contract = item.instance
    texts = [turn.witness for turn in contract.turns]
    wrong = [(now, mutant) for now, turn in enumerate(contract.turns) for mutant in turn.mutants]
    wrong += [(now, text) for now in range(1, len(texts)) for text in (texts[now - 1], texts[0])]
    for now in (0, len(texts) - 1):
        wrong += [(now, f"Sure, here it is:\n\n{texts[now]}\n\nI kept to all rules!"), (now, "I cannot do that.")]
        wrong += [(now, ""), (now, " ".join(contract.turns[now].topic for _ in range(9)))]
    held = ledger(contract.turns)
    rules = [(*active.values(), turn.rule) for active, turn in zip(held, contract.turns, strict=True)]
    changed = [(*texts[:now], text, *texts[now + 1 :]) for now, text in wrong if broken(rules[now], text)]
    return tuple(map(_dialogue, (*changed, tuple(texts[:-1]))))


def shortcuts(item: Item) -> Dialogues:
    """The same stock text every time, the listed words, the first reply again and again."""
    turns = item.instance.turns
    stock = "There is much to see here.\nPeople come and go all day.\nMost of them like it."
    listed = [", ".join(dict(turn.rule.arguments)["words"]) for turn in turns]
    named = [f"This is {turn.topic}.\nIt has {words}." for turn, words in zip(turns, listed, strict=True)]
    columns = [words.replace(", ", "\n") for words in listed]
    return tuple(map(_dialogue, ([stock] * len(turns), listed, named, columns, [turns[0].witness] * len(turns))))


def effort(contract: Contract) -> float:
    """Rules that hold, over all replies, and what was said about them."""
    held = sum(len(active) for active in ledger(contract.turns))
    told_of = [event for turn in contract.turns for event in turn.events]
    return held + sum(3 + 2 * (event.kind != "new") + 3 * event.delay + 2 * event.span for event in told_of)


def fingerprint(contract: Contract) -> list[Any]:
    """What is asked, without the replies."""
    return [
        [turn.topic, sorted(dict(turn.rule.arguments)["words"]), [told(event) for event in turn.events]]
        for turn in contract.turns
    ]


FAMILY = Family(
    name="instruct/growing-contract",
    rungs={
        "L1": Params(2, 2, ("new",), slots=("lines", "word", "suffix", "closing", "without")),
        "L2": Params(4, 2, ("new", "change")),
        "L3": Params(5, 3, ("new", "change", "instead"), most=2),
        "L4": Params(6, 4, ("new", "change", "lift", "instead", "again"), 3, ((0, 1), (0, 2), (1, 1))),
        "L5": Params(7, 5, ("new", "change", "lift", "instead", "again"), 4, ((0, 1), (0, 2), (1, 1))),
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
    max_tokens={"L1": 512, "L2": 768, "L3": 1024, "L4": 1024, "L5": 1536},
    prompt_tokens={"L1": 420, "L2": 620, "L3": 800, "L4": 950, "L5": 1150},
    fingerprint=fingerprint,
    mutants=lambda _: [],
    cost=10,
)
