"""Add up what was landed in a harbour, from entries all over its log, of which later entries correct some.

A correction may change the number, the goods, the ship or the quay of an entry, and so bring it into the sum or take
it out. An entry may void another one, also a correction or an entry that voids. On the upper rungs the sheets of the
log lie in the wrong order, and some loads are counted in pallets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.longctx._archive import GIVEN, SHIPS, Record, found, record, worded
from crucibleforge.types import Grading

_QUAYS = ("Tar Quay", "Marl Quay", "Copper Quay", "Lime Quay", "Old Quay", "Widow Quay", "Rope Quay", "Gull Quay")
_GOODS = ("flax", "salt", "slate", "honey", "tallow", "cork", "barley", "resin")
_FIELDS = ("ship", "goods", "quay", "number")
_NAMES = (SHIPS, _GOODS, _QUAYS)
_UNITS = ("crates", "pallets")
PALLET = 4
"""Crates on a pallet."""

_LANDED = (
    "the {ship} landed {number} {unit} of {goods} at {quay}.",
    "at {quay} the {ship} put ashore {number} {unit} of {goods}.",
    "the gang at {quay} took {number} {unit} of {goods} off the {ship}.",
    "{number} {unit} of {goods} from the {ship} were landed at {quay}.",
)
_FIXES = (
    "in entry {target} the {field} must read {value}.",
    "read {value} for the {field} in entry {target}.",
    "correction to entry {target}: the {field} is {value}.",
)
_VOIDS = ("entry {target} is void.", "void entry {target}.", "this entry voids entry {target}.")
_NOTES = (
    "the crane at {quay} stood still for {count} minutes.",
    "the {ship} took on {count} barrels of water at {quay}.",
    "a trader asked the price of {count} crates of {goods} and of the {ship}.",
    "the {ship} moved from {quay} to the outer buoy.",
    "{count} pence were paid for a rope that the {ship} lost at {quay}.",
    "{person} counted {count} gulls on the {ship} at {quay}.",
    "{count} crates of {goods} stood at {quay} overnight under a sheet.",
    "{person} swept {quay} and found some {goods}.",
    "the mate of the {ship} bought {goods} for the galley at {quay}.",
    "{count} crates of {goods} were promised to the {ship} and never came.",
    "the harbour master measured {count} feet of water at {quay}.",
    "a cart with {count} crates of {goods} left {quay} for the hills.",
)


@dataclass(frozen=True)
class Log:
    """Entry n is `entries[n - 1]`. `order` has the sheets as they lie; the question fixes two of ship, goods, quay."""

    asked: tuple[int, int, int]
    entries: tuple[Record, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Params:
    """Chains of entries about landings that count, about such that miss by one word, and about others.

    A chain is "plain", or its steps in order: `fix` corrects the number; `move` corrects a word so that the landing
    joins or leaves the sum, and `back` corrects it again; `void` voids the step before it, the first one the landing.
    `near` untouched landings miss by one word, `landings` by both. `traps` are habits that give a wrong sum. With
    `mixed` the sheets are out of order and some loads are on pallets.
    """

    hits: tuple[str, ...]
    misses: tuple[str, ...]
    others: tuple[str, ...]
    near: int
    landings: int
    entries: int
    most: int
    traps: tuple[str, ...] = ()
    mixed: bool = False


_SHEET = 20
"""Entries on a sheet."""


def generate(params: Params, draw: Draw) -> Log:
    """Draw landings and what is done to them, until every trap of the rung catches."""
    return draw.until(lambda: _log(params, draw))


def _log(params: Params, draw: Draw) -> Log | None:
    asked = [draw.below(len(names)) for names in _NAMES]
    asked[draw.below(3)] = -1
    plans = [(0, name) for name in params.hits]
    plans += [(1, name) for name in (*params.misses, *("plain",) * params.near)]
    plans += [(2, name) for name in (*params.others, *("plain",) * params.landings)]
    groups = [_group(params, asked, off, name, draw) for off, name in plans]
    notes = params.entries - sum(map(len, groups))
    groups += [[record(draw, "note", *(draw.below(len(names)) for names in _NAMES))] for _ in range(notes)]
    sheets = list(range(-(-params.entries // _SHEET)))
    order = draw.shuffled(sheets) if params.mixed else sheets
    log = Log((asked[0], asked[1], asked[2]), _numbered(groups, params.entries, draw), tuple(order))
    return None if _total(log) in {_total(log, habit) for habit in params.traps} else log


def _group(params: Params, asked: Sequence[int], off: int, chain: str, draw: Draw) -> list[Record]:
    """A landing that misses what is asked by `off` words, and the entries about it."""
    filtered = [field for field in range(3) if asked[field] >= 0]
    wrong = draw.sample(filtered, off)
    words = [
        asked[field] if field in filtered and field not in wrong else _other(asked[field], field, draw)
        for field in range(3)
    ]
    unit = int(params.mixed and draw.chance(1, 4))
    most = params.most // PALLET if unit else params.most
    numbers = draw.sample(range(max(1, most // 6), most + 1), 3)
    field = wrong[0] if wrong else draw.pick(filtered)
    moved = (asked[field] if wrong else _other(asked[field], field, draw), words[field])
    group = [record(draw, "landing", *words, numbers[0], unit)]
    for kind in chain.split():
        match kind:
            case "fix":
                group.append(record(draw, "fix", 0, 3, numbers[1 + (len(group) > 1)]))
            case "move" | "back":
                group.append(record(draw, "fix", 0, field, moved[kind == "back"]))
            case "void":
                group.append(record(draw, "void", len(group) - 1))
    return group


def _other(word: int, field: int, draw: Draw) -> int:
    """Any word of a field but this one."""
    return (
        draw.below(len(_NAMES[field]))
        if word < 0
        else (word + draw.between(1, len(_NAMES[field]) - 1)) % len(_NAMES[field])
    )


def _numbered(groups: Sequence[Sequence[Record]], entries: int, draw: Draw) -> tuple[Record, ...]:
    """All records in one row, those of a group in their order, with the numbers of what they are about."""
    places = draw.shuffled(range(entries))
    row: dict[int, Record] = {}
    for group in groups:
        mine = sorted(places.pop() for _ in group)
        for place, one in zip(mine, group, strict=True):
            about = one.what in {"fix", "void"}
            row[place] = one._replace(facts=(mine[one.facts[0]] + 1, *one.facts[1:])) if about else one
    return tuple(row[place] for place in range(entries))


def solve(log: Log) -> int:
    """From the last entry back to the first it is known whether an entry is in force; then correct and add."""
    return _total(log)


def _total(log: Log, habit: str = "") -> int:
    """The sum as it is, or by one of the hasty habits."""
    void = _void(log, habit)
    numbers = [*range(1, len(log.entries) + 1)]
    if habit in {"first", "as it lies"}:
        numbers = numbers[::-1] if habit == "first" else _lying(log)
    read = {number: list(log.entries[number - 1].facts) for number in numbers}
    for number in numbers:
        one = log.entries[number - 1]
        skipped = habit == "blind" or (habit == "numbers only" and one.what == "fix" and one.facts[1] != 3)
        if one.what == "fix" and number not in void and not skipped:
            target, field, value = one.facts
            read[target][field] = value
    landed = [read[n] for n, one in enumerate(log.entries, start=1) if one.what == "landing" and n not in void]
    return sum(
        facts[3] * (PALLET if facts[4] and habit != "crates" else 1)
        for facts in landed
        if all(wanted in {-1, word} for wanted, word in zip(log.asked, facts, strict=False))
    )


def _void(log: Log, habit: str) -> set[int]:
    void: set[int] = set()
    for number in range(len(log.entries), 0, -1):
        one = log.entries[number - 1]
        if one.what == "void" and (number not in void or habit == "voids stand") and habit not in {"blind", "no voids"}:
            void.add(one.facts[0])
    return void


def _lying(log: Log) -> list[int]:
    """The numbers of the entries from the top of the text to its end."""
    sheets = [range(sheet * _SHEET + 1, (sheet + 1) * _SHEET + 1) for sheet in log.order]
    return [number for sheet in sheets for number in sheet if number <= len(log.entries)]


_HABITS = ("blind", "no voids", "voids stand", "numbers only", "first", "as it lies", "crates")

_WORD = {
    "ship": "|".join(SHIPS),
    "goods": "|".join(_GOODS),
    "quay": "|".join(_QUAYS),
    "number": "[0-9]+",
    "unit": "|".join(_UNITS),
    "target": "[0-9]+",
    "field": "|".join(_FIELDS),
    "value": "[A-Za-z]+ Quay|[A-Za-z]+|[0-9]+",
}


def verify(log: Log) -> int:
    """Read the text, and replay it from entry 1: a new void takes an entry out of force, and all that follows from it.

    Raises:
        ValueError: the text states more or less than the instance.
    """
    prompt = ask(log).prompt
    lines = {int(number): line for number, line in re.findall(r"(?m)^Entry ([0-9]+)\. (.*)$", prompt)}
    stated = {
        what: {number: one for number, line in lines.items() for one in found(forms, _WORD, line)}
        for what, forms in (("landing", _LANDED), ("fix", _FIXES), ("void", _VOIDS))
    }
    counts = Counter(one.what for one in log.entries)
    if any(len(those) != counts[what] for what, those in stated.items()) or len(lines) != len(log.entries):
        raise ValueError("the text does not state what the instance holds")
    blocked = _replayed({number: int(one["target"]) for number, one in stated["void"].items()})
    for number in sorted(stated["fix"]):
        fix = stated["fix"][number]
        if not blocked[number]:
            stated["landing"][int(fix["target"])][fix["field"]] = fix["value"]
    question = prompt.rpartition("Question: ")[2]
    wanted = [word for words in _NAMES for word in words if re.search(rf"\b{word}\b", question)]
    counted = [
        int(one["number"]) * (PALLET if one["unit"] == "pallets" else 1)
        for number, one in stated["landing"].items()
        if not blocked[number] and set(wanted) <= set(one.values())
    ]
    return sum(counted)


def _replayed(voids: dict[int, int]) -> Counter[int]:
    """How many entries in force void each entry, after all of them were read in order of their numbers."""
    blocked: Counter[int] = Counter()
    for number in sorted(voids):
        target, turn = voids[number], 1
        while True:
            before = blocked[target] > 0
            blocked[target] += turn
            if before == (blocked[target] > 0) or target not in voids:
                break
            target, turn = voids[target], -turn
    return blocked


def ask(log: Log) -> Draft:
    """The rules that matter here, the log, the question."""
    held = {one.what for one in log.entries}
    rules = ["Below is the log of a harbour, one entry to a line."]
    if "fix" in held:
        rules.append(
            "An entry may correct the number, the goods, the ship or the quay of another entry; then the corrected "
            "word counts and not the written one. If the same word of an entry is corrected more than once, the "
            "correction with the highest entry number counts."
        )
    if "void" in held:
        rules.append(
            "An entry may void another one. A void entry counts for nothing, whatever else is written about it: a "
            "void landing is not counted, a void correction corrects nothing, and an entry that is void itself voids "
            "nothing."
        )
    if any(one.what == "landing" and one.facts[4] for one in log.entries):
        rules.append(f"A pallet is {PALLET} crates; a corrected number is in the unit of the entry that it corrects.")
    if list(log.order) != sorted(log.order):
        rules.append("The sheets of the log lie in the wrong order; the entry numbers are right.")
    lines = "\n".join(f"Entry {number}. {_line(log.entries[number - 1])}" for number in _lying(log))
    return Draft(prompt=f"{' '.join(rules)}\n\n{lines}\n\nQuestion: {_question(log)} {ANSWER_LINE}")


def _question(log: Log) -> str:
    ship, goods, quay = ("" if word < 0 else names[word] for word, names in zip(log.asked, _NAMES, strict=True))
    if not ship:
        return f"How many crates of {goods} were landed at {quay}, by all ships together?"
    if not goods:
        return f"How many crates did the {ship} land at {quay}, whatever was in them?"
    return f"How many crates of {goods} did the {ship} land, at all quays together?"


def _line(one: Record) -> str:
    match one.what:
        case "landing":
            words = {**_words(one.facts), "number": str(one.facts[3]), "unit": _UNITS[one.facts[4]]}
            return worded(_LANDED, one.form, words)
        case "fix":
            target, field, value = one.facts
            name = str(value) if field == 3 else _NAMES[field][value]
            return worded(_FIXES, one.form, {"target": str(target), "field": _FIELDS[field], "value": name})
        case "void":
            return worded(_VOIDS, one.form, {"target": str(one.facts[0])})
        case _:
            extra = {"count": str(one.form % 38 + 2), "person": GIVEN[one.form % len(GIVEN)]}
            return worded(_NOTES, one.form, {**_words(one.facts), **extra})


def _words(facts: Sequence[int]) -> dict[str, str]:
    return {field: names[word] for field, names, word in zip(_FIELDS, _NAMES, facts, strict=False)}


def right(item: Item) -> Dialogues:
    """The sum in several dressings."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """The sums of hasty habits, sums that lack or have one load too many, and no answer."""
    log: Log = item.instance
    loads = [one.facts[3] for one in log.entries if one.what == "landing"]
    values = [_total(log, habit) for habit in _HABITS]
    values += [item.answer + sign * load for load in loads[:8] for sign in (1, -1)]
    values += [item.answer + off for off in (1, -1, 2, -2, 10, -10)]
    different = dict.fromkeys(value for value in values if value != item.answer)
    return alone("ANSWER: not stated", *(f"ANSWER: {value}" for value in different))


def shortcuts(item: Item) -> Dialogues:
    """One word of the two looked at, loads counted, the largest, the first and the last load, and a usual sum."""
    log: Log = item.instance
    landings = [one.facts for one in log.entries if one.what == "landing"]
    fields = [field for field in range(3) if log.asked[field] >= 0]
    by_word = [[facts[3] for facts in landings if facts[field] == log.asked[field]] for field in fields]
    both = [facts[3] for facts in landings if all(facts[field] == log.asked[field] for field in fields)]
    values = (*map(sum, by_word), len(both), max(both), both[0], both[-1], sum(both) - both[-1], 100)
    return alone(*(f"ANSWER: {value}" for value in values))


def effort(log: Log) -> float:
    """Every entry is read, every landing with a word of the question weighed, every correction traced."""
    close = sum(one.what == "landing" and any(map(int.__eq__, one.facts, log.asked)) for one in log.entries)
    return len(log.entries) / 10 + close + 4 * sum(one.what in {"fix", "void"} for one in log.entries)


_SOME = ("plain", "plain", "plain", "fix", "fix")
_MANY = (*_SOME, "plain", "fix fix", "void", "fix void", "move")
_MOST = (*_MANY, "plain", "fix fix void", "void void", "fix void void", "move void", "move back", "void fix")
_MISSES = ("move", "move", "move fix", "move void", "move back", "move void void", "fix", "void")
_TRAPS = ("blind", "no voids", "numbers only", "first")

FAMILY = Family(
    name="longctx/tally-sheet",
    rungs={
        "L1": Params(("plain",) * 2, (), (), near=5, landings=6, entries=30, most=60),
        "L2": Params(_SOME, (), ("fix",), near=10, landings=25, entries=92, most=40, traps=("blind",)),
        "L3": Params(
            (*_MANY, "fix fix"),
            ("fix", "move", "move void"),
            ("fix", "void", "fix void"),
            near=20,
            landings=60,
            entries=200,
            most=30,
            traps=_TRAPS,
        ),
        "L4": Params(
            _MOST,
            _MISSES,
            ("fix", "void", "fix void", "void void", "move", "move void"),
            near=40,
            landings=130,
            entries=420,
            most=24,
            traps=_HABITS,
            mixed=True,
        ),
        "L5": Params(
            (*_MOST, *_MOST, "void void void", "void void void"),
            (*_MISSES, *_MISSES),
            ("fix", "void", "fix void", "void void", "move", "move void") * 3,
            near=80,
            landings=280,
            entries=900,
            most=24,
            traps=_HABITS,
            mixed=True,
        ),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {"units": ["crate"]}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 256, "L2": 768, "L3": 1280, "L4": 2048, "L5": 2560},
    prompt_tokens={"L1": 1100, "L2": 3200, "L3": 6800, "L4": 14_200, "L5": 30_000},
    shown="a sum may happen to be the number of another entry",
    cost=4,
)
