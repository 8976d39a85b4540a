"""Repair a module: its contract is given, its behaviour must become what that says, and nothing else may change.

From L3 on one bug hides another, so that mending what can be seen is not enough; from L4 on one more costs only time.
Any repair passes, as behaviour alone is tested. Every drawn day log set tells each bug of the catalogue from the
right module, and each bug of the broken one alone (all others mended) as well.

`solve` runs the module before it was broken; `verify` keeps the contract with two flat lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import programs
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.coding import _mended_programs as texts
from crucibleforge.families.coding._sources import changed, fenced, kept, loaded, operated
from crucibleforge.types import Grading

Operation = tuple[Any, ...]


@dataclass(frozen=True)
class Params:
    """`bugs` are seen at once or hide each other if `hides`; `longest` > 0 adds the slow one and that many calls."""

    features: tuple[str, ...]
    bugs: int
    hides: bool = False
    longest: int = 0


@dataclass(frozen=True)
class Rule:
    """The contract: names and numbers."""

    params: Params
    shelf: str
    borrow: str
    bring: str
    limit: int
    days: int
    rate: int
    most: int


@dataclass(frozen=True)
class Use:
    """A stock of titles and the calls on it."""

    stock: tuple[tuple[str, int], ...]
    log: tuple[Operation, ...]


@dataclass(frozen=True)
class Task:
    """The contract, the names of the bugs, the use of the example, and those of the stored tests."""

    rule: Rule
    bugs: tuple[str, ...]
    example: Use
    tests: tuple[Use, ...]


_FIRST = ("Lending", "Loan", "Tool", "Game", "Book", "Map", "Record", "Costume", "Puzzle", "Camera", "Skate", "Score")
_LAST = ("Shelf", "Desk", "Room", "Store", "Counter", "Cabinet", "Library", "Pool", "Office", "Stand")
_BORROW = ("borrow", "take", "check_out", "lend_to", "fetch")
_BRING = ("give_back", "bring", "check_in", "hand_in", "restore")
_PEOPLE = ("Adi", "Bea", "Cyr", "Dov", "Eli")
_TITLES = ("oak", "elm", "fir", "ash")


def generate(params: Params, draw: Draw) -> Task:
    """A contract, bugs, and logs that find all of them."""
    rule = Rule(
        params=params,
        shelf=draw.pick(_FIRST) + draw.pick(_LAST),
        borrow=draw.pick(_BORROW),
        bring=draw.pick(_BRING),
        limit=draw.between(2, 3),
        days=draw.between(6, 30),
        rate=draw.between(2, 9),
        most=draw.between(20, 80),
    )
    example = _random_use(rule, draw, 7)
    return draw.until(lambda: _found(rule, draw, example))


def _found(rule: Rule, draw: Draw, example: Use) -> Task | None:
    tests = (*_edges(rule), *(_random_use(rule, draw, size) for size in (30, 60, 90, 120)))
    task = Task(rule, _drawn_bugs(rule.params, draw), example, tests)
    right = _run_all(rule, _module(rule), tests)
    if any(_run_all(rule, _module(rule, bug), tests) == right for bug in _catalogue(rule)):
        return None
    seen = [name for name in task.bugs if name not in _hidden_bugs(task.bugs)]
    both = (_run_all(rule, _module(rule, *map(_bug, names)), tests) for names in (task.bugs, seen))
    return task if rule.params.hides is False or next(both) == next(both) else None


def _catalogue(rule: Rule) -> list[texts.Bug]:
    return [bug for bug in texts.BUGS if not bug.feature or bug.feature in rule.params.features]


def _bug(name: str) -> texts.Bug:
    return next(bug for bug in (*texts.BUGS, texts.SLOW) if bug.name == name)


def _hidden_bugs(names: tuple[str, ...]) -> tuple[str, ...]:
    return next((tuple(name for name in names if name in texts.HIDES[one]) for one in names if one in texts.HIDES), ())


def _drawn_bugs(params: Params, draw: Draw) -> tuple[str, ...]:
    """Bugs of different lines; what is hidden comes with what hides it, and only then."""
    pair: list[str] = []
    if params.hides:
        first = draw.pick(sorted(texts.HIDES))
        pair = [first, draw.pick([name for name in texts.HIDES[first] if name != "still waits" or not params.longest])]
    special = {name for first, names in texts.HIDES.items() for name in (first, *names)} if params.hides else set()
    plain = [bug for bug in texts.BUGS if not bug.feature or bug.feature in params.features]
    others = [bug.name for bug in plain if bug.name not in special]
    chosen = draw.until(lambda: _apart(draw.sample(others, params.bugs - len(pair))))
    return (*pair, *chosen, *(["slow"] if params.longest else []))


def _apart(names: list[str]) -> list[str] | None:
    """The names, unless two of them work on the same number or one would hide another by chance."""
    together = ({"overpaid", "change"}, {"late", "cap"}, {"sum", "cap"}, {"handed over", "handed due"})
    hidden = {one for names_hidden in texts.HIDES.values() for one in names_hidden}
    clash = any(pair <= set(names) for pair in together) or ("handed over" in names and hidden & set(names))
    return None if clash else names


def _random_use(rule: Rule, draw: Draw, size: int) -> Use:
    """A log of likely calls: people come back for what they hold, on days around the one when it is due."""
    stock = tuple((title, draw.between(1, 2)) for title in (*_TITLES, _TITLES[0]))
    day = draw.between(1, 9)
    log: list[Operation] = []
    lent: list[tuple[str, str, int]] = []
    for _ in range(size):
        day += draw.pick((0, 0, 0, 1, 2, rule.days // 4))
        dice, person, title, due = draw.below(20), draw.pick(_PEOPLE), draw.pick(_TITLES), 0
        if dice in (8, 9, 10, 11, 12, 13) and lent:
            person, title, due = draw.pick(lent)
            day = max(day, due + draw.between(-1, 1)) if draw.chance(1, 3) else day
        if dice < 9:
            log.append((rule.borrow, person, title, day))
            lent.append((person, title, day + rule.days))
        else:
            log.append(_other_call(rule, draw, dice, (person, title, day)))
    return Use(stock, tuple(log))


def _other_call(rule: Rule, draw: Draw, dice: int, given: tuple[str, str, int]) -> Operation:
    person, title, day = given
    has = rule.params.features
    if dice < 12:
        return (rule.bring, *given)
    if dice < 14:
        return ("renew", *given)
    if dice < 15:
        return ("pay", person, draw.between(1, rule.most))
    if dice < 17 and "report" in has:
        return ("overdue", day)
    return ("waiting", title) if dice < 18 and "queue" in has else ("held_by", person)


def _edges(rule: Rule) -> list[Use]:
    """Nothing, what is unknown, the day when it is due and the next, a fine at its most, who may not borrow then."""
    one = ((_TITLES[0], 1), (_TITLES[1], 1))
    ann, bob, oak, elm = *_PEOPLE[:2], *_TITLES[:2]
    due = 3 + rule.days
    take, bring = rule.borrow, rule.bring
    late = due + rule.most // rule.rate + 1
    logs: list[tuple[Operation, ...]] = [
        (),
        ((take, ann, "yew", 1), (bring, ann, oak, 2), ("renew", ann, oak, 2), ("pay", ann, 5), ("held_by", ann)),
        ((take, ann, oak, 3), (bring, ann, oak, due), (take, ann, oak, 3), (bring, ann, oak, due + 1), ("pay", ann, 1)),
        ((take, ann, oak, 3), ("renew", ann, oak, due), ("renew", ann, oak, due + 1), ("held_by", ann)),
        ((take, ann, oak, 3), (bring, ann, oak, late), (take, ann, elm, late), ("pay", ann, 1), (take, ann, elm, late)),
        ((take, ann, oak, 3), (take, ann, oak, 3), (take, bob, oak, 3), (take, bob, oak, 4), (bring, ann, oak, 5)),
    ]
    return [Use(one, log) for log in logs]


def _module(rule: Rule, *bugs: texts.Bug) -> str:
    source = kept(texts.MODULE, rule.params.features)
    parts = {"Shelf": rule.shelf, "borrow": rule.borrow, "bring": rule.bring}
    numbers = {"limit": rule.limit, "days": rule.days, "rate": rule.rate, "most": rule.most}
    for name, part in (parts | numbers).items():
        source = source.replace(f"<{name}>", str(part))
    return changed(source, *((bug.right, bug.wrong) for bug in bugs))


def _broken(task: Task) -> str:
    return _module(task.rule, *map(_bug, task.bugs))


def _run_all(rule: Rule, source: str, uses: tuple[Use, ...]) -> list[Any]:
    """What the calls give; an exception counts as a value, so that a bug may raise."""
    shelf = loaded(source, rule.shelf)
    results: list[Any] = []
    for use in uses:
        try:
            results.append(operated(shelf(use.stock), use.log))
        except (LookupError, ValueError, TypeError) as error:
            results.append(repr(error))
    return results


def _calls(uses: tuple[Use, ...]) -> list[list[Any]]:
    return [[[[list(one) for one in use.stock]], [list(one) for one in use.log]] for use in uses]


def solve(task: Task) -> list[dict[str, Any]]:
    """Run the module as it was."""
    returned = _run_all(task.rule, _module(task.rule), task.tests)
    return [{"args": args, "returns": value} for args, value in zip(_calls(task.tests), returned, strict=True)]


def verify(task: Task) -> list[dict[str, Any]]:
    """Keep the contract with a list of loans and one of who waits."""
    return [
        {"args": [[[list(one) for one in use.stock]], [list(one) for one in use.log]], "returns": _kept(task.rule, use)}
        for use in task.tests
    ]


def _kept(rule: Rule, use: Use) -> list[Any]:
    return operated(_Lists(rule, use), [(_NAMES.get(_role(rule, kind), kind), *given) for kind, *given in use.log])


_NAMES = {"borrow": "borrows", "bring": "brings"}


def _role(rule: Rule, kind: str) -> str:
    return {rule.borrow: "borrow", rule.bring: "bring"}.get(kind, kind)


class _Lists:
    """The contract once more: who holds what until when, and who waits for what, in the order of coming."""

    def __init__(self, rule: Rule, use: Use) -> None:
        self._rule = rule
        self._stock = use.stock
        self._held: list[tuple[str, str, int]] = []
        self._line: list[tuple[str, str]] = []
        self._books: list[tuple[str, int]] = []

    def borrows(self, person: str, title: str, day: int) -> str:
        copies = sum(count for name, count in self._stock if name == title)
        if title not in [name for name, _ in self._stock]:
            return "unknown"
        if self._due(person, title) is not None:
            return "held"
        if (person, title) in self._line:
            return "waiting"
        if self._count(person) >= self._rule.limit or self._owed(person) >= self._rule.most:
            return "refused"
        if copies > sum(name == title for _, name, _ in self._held):
            self._held.append((person, title, day + self._rule.days))
            return "lent"
        if "queue" not in self._rule.params.features:
            return "none"
        self._line.append((person, title))
        return "waiting"

    def brings(self, person: str, title: str, day: int) -> int:
        due = self._due(person, title)
        if due is None:
            return -1
        self._held.remove((person, title, due))
        fine = sorted((0, (day - due) * self._rule.rate, self._rule.most))[1]
        self._books.append((person, fine))
        able = [one for one in self._line if one[1] == title and self._count(one[0]) < self._rule.limit]
        for one in able[:1]:
            self._line.remove(one)
            self._held.append((*one, day + self._rule.days))
        return fine

    def renew(self, person: str, title: str, day: int) -> int:
        due = self._due(person, title)
        if due is None or day > due or self.waiting(title):
            return -1
        self._held.remove((person, title, due))
        self._held.append((person, title, due + self._rule.days))
        return due + self._rule.days

    def pay(self, person: str, amount: int) -> int:
        change = max(0, amount - self._owed(person))
        self._books.append((person, change - amount))
        return change

    def held_by(self, person: str) -> list[Any]:
        return sorted([title, due] for name, title, due in self._held if name == person)

    def waiting(self, title: str) -> list[str]:
        return [person for person, wanted in self._line if wanted == title]

    def overdue(self, day: int) -> list[Any]:
        late = [person for person, _, due in self._held if due < day]
        return [[name, late.count(name)] for name in sorted(dict.fromkeys(late), key=lambda n: (-late.count(n), n))]

    def _due(self, person: str, title: str) -> int | None:
        return next((due for name, wanted, due in self._held if (name, wanted) == (person, title)), None)

    def _count(self, person: str) -> int:
        return sum(name == person for name, _, _ in self._held)

    def _owed(self, person: str) -> int:
        return sum(amount for name, amount in self._books if name == person)


def ask(task: Task) -> Draft:
    """The contract, the broken module, and one use."""
    rule = task.rule
    lines = [
        f"The Python module below is meant to keep this contract, but it has {_counted(task)}. Repair it.",
        "",
        *_contract(rule),
        "",
        *_bounds(rule),
        "",
        *_example(task),
        "",
        "The module:",
        "",
        f"```python\n{_broken(task)}```",
        "",
        "Where the module keeps the contract already, its behaviour must stay as it is. Use the standard library only; "
        "helpers are fine. Reply with the whole repaired module in one Python code block.",
    ]
    settings = {"entry": rule.shelf, "form": "class", "reference": _module(rule)}
    return Draft(prompt="\n".join(lines), settings=settings)


def _counted(task: Task) -> str:
    count = len(task.bugs)
    return "a bug" if count == 1 else f"{count} bugs"


def _contract(rule: Rule) -> list[str]:
    has, queue = rule.params.features, "queue" in rule.params.features
    none = 'they join the end of the queue of this title: `"waiting"`' if queue else '`"none"`'
    waits = ' if they are waiting for it, `"waiting"`;' if queue else ""
    after = (
        "The copy goes at once to the first person in the queue of this title who holds fewer than "
        f"{rule.limit} titles; they leave the queue, and the copy is due {rule.days} days after `day`. Those before them "
        "keep their places. If there is no such person, the copy is free. (Fines do not matter here, and a person who "
        "is in the queue gets a copy in no other way.)"
        if queue
        else "The copy is free again."
    )
    lines = [
        f"`{rule.shelf}(stock)` lends copies of titles. `stock` is a list of `[title, copies]`; a title that is listed "
        "several times has the sum of the copies. Days are whole numbers and never go back from call to call, except "
        "that a day may be repeated.",
        f"- `{rule.borrow}(person, title, day)` gives the first of these that fits: if the title is not in the stock, "
        f'`"unknown"`; if the person holds a copy of it, `"held"`;{waits} if the person holds {rule.limit} titles or '
        f'owes {rule.most} or more in fines, `"refused"`; if a copy is free, they get it, it is due {rule.days} days '
        f'after `day`: `"lent"`; else {none}.',
        f"- `{rule.bring}(person, title, day)` returns -1, and nothing happens, if the person does not hold the title. "
        f"Else it takes the copy back and returns the fine: {rule.rate} for each day after the day on which it was due, "
        f"but at most {rule.most} for one copy. The person owes it on top of what they owe already. {after}",
        "- `renew(person, title, day)` returns -1, and nothing happens, if the person does not hold the title, if it "
        f"was due before `day`{', or if anybody is waiting for it' if queue else ''}. Else the day on which it is due "
        f"moves {rule.days} days on, and the new one is returned.",
        "- `pay(person, amount)` pays what the person owes as far as `amount` goes, and returns what is left of `amount`.",
        "- `held_by(person)` returns the list of `[title, day on which it is due]`, sorted by title.",
    ]
    if queue:
        lines.append("- `waiting(title)` returns the persons in the queue of the title, first to last.")
    if "report" in has:
        lines.append(
            "- `overdue(day)` returns the list of `[person, number of titles]` of all who hold titles that were due "
            "before `day`; most titles first, and by name among equals."
        )
    return lines


def _bounds(rule: Rule) -> list[str]:
    lines = ["All arguments have the right types; amounts and numbers of copies are positive."]
    if rule.params.longest:
        lines.append(
            f"There are up to {rule.params.longest:,} calls on one object. One of the bugs is that the module gets too "
            "slow with so many people in a queue: the time limit is a multiple of what the module took before it had "
            "bugs."
        )
    return lines


def _example(task: Task) -> list[str]:
    rule, use = task.rule, task.example
    made = f"{rule.shelf}({[list(one) for one in use.stock]})"
    results = _kept(rule, use)
    calls = [f"{kind}({', '.join(map(repr, given))})" for kind, *given in use.log]
    shown = [f"{call} -> {result!r}" for call, result in zip(calls, results, strict=True)]
    return [f"Example, the calls on `{made}` and what they must return:", *shown]


def right(item: Item) -> Dialogues:
    """The module as it was, and a repair that keeps no set of those who wait."""
    rule = item.instance.rule
    other = [_module(rule, texts.SLOW)] if "queue" in rule.params.features and not rule.params.longest else []
    return programs(_module(rule)) + fenced(*other)


def near_misses(item: Item) -> Dialogues:
    """The broken module, each bug left alone, and bugs made while mending."""
    task = item.instance
    alone = [_bug(name) for name in task.bugs if name != texts.SLOW.name]
    others = [bug for bug in _catalogue(task.rule) if bug.name not in task.bugs]
    few = [*alone, *others][: max(8, len(alone))]
    return fenced(*dict.fromkeys([_broken(task), *(_module(task.rule, bug) for bug in few)]))


def shortcuts(item: Item) -> Dialogues:
    """Methods that always return the same; the broken module is a near miss."""
    rule = item.instance.rule
    methods = (rule.borrow, rule.bring, "renew", "pay", "held_by", "waiting", "overdue")
    return fenced(
        *(
            f"class {rule.shelf}:\n    def __init__(self, stock):\n        pass\n\n"
            + "\n".join(f"    def {name}(self, *given):\n        return {value}\n" for name in methods)
            for value in ("-1", '"lent"')
        )
    )


def hidden(task: Task, draw: Draw) -> list[dict[str, Any]]:
    """Further logs, and where time matters a long queue of two lengths."""
    rule = task.rule
    uses = [(0, _random_use(rule, draw, draw.between(40, 120))) for _ in range(8)]
    if rule.params.longest:
        uses += [(size, _long_use(rule, draw, size)) for size in (rule.params.longest // 4, rule.params.longest)]
    returned = _run_all(rule, _module(rule), tuple(use for _, use in uses))
    sizes = [{"size": size} if size else {} for size, _ in uses]
    calls = _calls(tuple(use for _, use in uses))
    return [{"args": args, "returns": value} | size for args, value, size in zip(calls, returned, sizes, strict=True)]


def _long_use(rule: Rule, draw: Draw, size: int) -> Use:
    """Many people want two titles; now and then one comes back and goes to the next."""
    stock = ((_TITLES[0], 2), (_TITLES[1], 1))
    log: list[Operation] = []
    holders = 0
    while len(log) < size:
        day, title = len(log) // 50, draw.pick((_TITLES[0], _TITLES[0], _TITLES[1]))
        if draw.chance(19, 20):
            log.append((rule.borrow, f"{draw.pick(_PEOPLE)}{len(log)}", title, day))
        else:
            holders += 1
            log.append(
                (rule.bring, log[draw.below(min(len(log), holders * 2))][1], title, day) if log else ("pay", "", 1)
            )
    return Use(stock, tuple(log))


def slow(item: Item) -> tuple[str, ...]:
    """All bugs mended but the one that costs time."""
    rule = item.instance.rule
    return (_module(rule, texts.SLOW),) if rule.params.longest else ()


def effort(task: Task) -> float:
    """Lines to read for each bug; hidden and slow ones count twice."""
    params = task.rule.params
    lines = _module(task.rule).count("\n")
    return lines * (params.bugs + params.hides + 2 * bool(params.longest))


_ALL = ("queue", "report")

FAMILY = Family(
    name="coding/mended-module",
    rungs={
        "L1": Params((), 1),
        "L2": Params(("queue",), 2),
        "L3": Params(_ALL, 3, hides=True),
        "L4": Params(_ALL, 4, hides=True, longest=40_000),
        "L5": Params(_ALL, 6, hides=True, longest=40_000),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("program", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 2048, "L2": 3072, "L3": 4096, "L4": 5120, "L5": 6144},
    prompt_tokens={"L1": 1700, "L2": 2300, "L3": 2500, "L4": 2600, "L5": 2600},
    fingerprint=lambda task: [task.rule, task.bugs, task.example],
    hidden=hidden,
    slow=slow,
    cost=10,
)
