"""Repair a module: its contract is given, its behaviour must become what that says, and nothing else may change.

From L3 on one bug hides another, so that mending what can be seen is not enough; from L4 on one more costs only time.
Any repair passes, as behaviour alone is tested. The stored logs tell every bug of the
catalogue from the right module, so also each that is left when all others are mended.

`solve` runs the module before it was broken; `verify` keeps the contract with two flat lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import programs
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.coding import _mended_programs as texts
from crucibleforge.families.coding._mended_lists import Operation, Params, Rule, Use, run
from crucibleforge.families.coding._sources import fenced, loaded, mutants, operated
from crucibleforge.types import Grading


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
    task = Task(rule, texts.drawn_bugs(rule.params, draw), example, tests)
    right = _run_all(rule, texts.module(rule), tests)
    if any(_run_all(rule, texts.module(rule, bug), tests) == right for bug in texts.catalogue(rule)):
        return None
    seen = [name for name in task.bugs if name not in texts.hidden_bugs(task.bugs)]
    both = (_run_all(rule, texts.module(rule, *map(texts.bug_named, names)), tests) for names in (task.bugs, seen))
    return task if rule.params.hides is False or next(both) == next(both) else None


def _random_use(rule: Rule, draw: Draw, size: int) -> Use:
    """A log of likely calls: people come back for what they hold, on days around the one when it is due."""
    stock = tuple((title, 1) for title in (*_TITLES, _TITLES[0]))
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
    due, next_due = 3 + rule.days, 3 + 2 * rule.days
    take, bring = rule.borrow, rule.bring
    late = due + rule.most // rule.rate + 1
    logs: list[tuple[Operation, ...]] = [
        (),
        ((take, ann, "yew", 1), (bring, ann, oak, 2), ("renew", ann, oak, 2), ("pay", ann, 5), ("held_by", ann)),
        (
            (take, ann, oak, 3),
            (bring, ann, oak, due),
            (take, ann, oak, due),
            (bring, ann, oak, next_due + 1),
            ("pay", ann, 1),
        ),
        ((take, ann, oak, 3), ("renew", ann, oak, due), ("renew", ann, oak, next_due + 1), ("held_by", ann)),
        ((take, ann, oak, 3), (bring, ann, oak, late), (take, ann, elm, late), ("pay", ann, 1), (take, ann, elm, late)),
        ((take, ann, oak, 3), (take, ann, oak, 3), (take, bob, oak, 3), (take, bob, oak, 4), (bring, ann, oak, 5)),
    ]
    uses = [Use(one, log) for log in logs]
    uses += [_skipped(rule)] * ("queue" in rule.params.features)
    if "report" in rule.params.features:
        log = ((take, bob, oak, 3), (take, ann, elm, 3), ("overdue", due), ("overdue", due + 1))
        uses.append(Use(one, log))
    return uses


def _skipped(rule: Rule) -> Use:
    """The first in the queue holds as much as one may when the copy comes back, and so the second gets it."""
    ann, bob, cyr = _PEOPLE[:3]
    oak, *others = _TITLES
    take, bring = rule.borrow, rule.bring
    log: list[Operation] = [(take, ann, oak, 1), (take, bob, oak, 1), ("renew", ann, oak, 2), (take, cyr, oak, 2)]
    log += [(take, bob, title, 3) for title in others[: rule.limit]]
    log += [("waiting", oak), ("waiting", others[0]), (bring, ann, oak, 4), ("waiting", oak), ("held_by", cyr)]
    log += [("renew", cyr, oak, 4), (take, bob, oak, 5), (bring, cyr, oak, 5), (take, cyr, oak, 6), (take, ann, oak, 6)]
    log += [(bring, bob, others[0], 7), (bring, cyr, oak, 8), ("waiting", oak), ("held_by", ann), ("held_by", bob)]
    return Use(tuple((title, 1) for title in _TITLES), tuple(log))


def _broken(task: Task) -> str:
    return texts.module(task.rule, *map(texts.bug_named, task.bugs))


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
    returned = _run_all(task.rule, texts.module(task.rule), task.tests)
    return [{"args": args, "returns": value} for args, value in zip(_calls(task.tests), returned, strict=True)]


def verify(task: Task) -> list[dict[str, Any]]:
    """Keep the contract with a list of loans and one of who waits."""
    return [
        {"args": [[[list(one) for one in use.stock]], [list(one) for one in use.log]], "returns": run(task.rule, use)}
        for use in task.tests
    ]


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
        (
            "Where the module keeps the contract already, its behaviour must stay as it is. Use the standard library "
            "only; helpers are fine. Reply with the whole repaired module in one Python code block."
        ),
    ]
    settings = {"entry": rule.shelf, "form": "class", "reference": texts.module(rule)}
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
        f"{rule.limit} titles; they leave the queue, and the copy is due {rule.days} days after `day`. Those before "
        "them keep their places. If there is no such person, the copy is free. (Fines do not matter here, and a person "
        "who is in the queue gets a copy in no other way.)"
        if queue
        else "The copy is free again."
    )
    lines = [
        (
            f"`{rule.shelf}(stock)` lends copies of titles. `stock` is a list of `[title, copies]`; a title that is "
            "listed several times has the sum of the copies. Days are whole numbers and never go back from call to "
            "call, except that a day may be repeated."
        ),
        (
            f"- `{rule.borrow}(person, title, day)` gives the first of these that fits: if the title is not in the "
            f'stock, `"unknown"`; if the person holds a copy of it, `"held"`;{waits} if the person holds {rule.limit} '
            f'titles or owes {rule.most} or more in fines, `"refused"`; if a copy is free, they get it, it is due '
            f'{rule.days} days after `day`: `"lent"`; else {none}.'
        ),
        (
            f"- `{rule.bring}(person, title, day)` returns -1, and nothing happens, if the person does not hold the "
            f"title. Else it takes the copy back and returns the fine: {rule.rate} for each day after the day on which "
            f"it was due, but at most {rule.most} for one copy. The person owes it on top of what they owe already. "
            f"{after}"
        ),
        (
            "- `renew(person, title, day)` returns -1, and nothing happens, if the person does not hold the title, if "
            f"it was due before `day`{', or if anybody is waiting for it' if queue else ''}. Else the day on which it "
            f"is due moves {rule.days} days on, and the new one is returned."
        ),
        (
            "- `pay(person, amount)` pays what the person owes as far as `amount` goes, and returns what is left "
            "of `amount`."
        ),
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
    results = run(rule, use)
    calls = [f"{kind}({', '.join(map(repr, given))})" for kind, *given in use.log]
    shown = [f"{call} -> {result!r}" for call, result in zip(calls, results, strict=True)]
    return [f"Example, the calls on `{made}` and what they must return:", *shown]


def right(item: Item) -> Dialogues:
    """The module as it was, and a repair that keeps no set of those who wait."""
    rule = item.instance.rule
    other = [texts.module(rule, texts.SLOW)] if "queue" in rule.params.features and not rule.params.longest else []
    return programs(texts.module(rule)) + fenced(*other)


def near_misses(item: Item) -> Dialogues:
    """The broken module, each bug left alone, and bugs made while mending."""
    task = item.instance
    alone = [texts.bug_named(name) for name in task.bugs if name != texts.SLOW.name]
    others = [bug for bug in texts.catalogue(task.rule) if bug.name not in task.bugs]
    few = [*alone, *others][: max(8, len(alone))]
    return fenced(*dict.fromkeys([_broken(task), *(texts.module(task.rule, bug) for bug in few)]))


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
    returned = _run_all(rule, texts.module(rule), tuple(use for _, use in uses))
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
    return (texts.module(rule, texts.SLOW),) if rule.params.longest else ()


def effort(task: Task) -> float:
    """Lines to read for each bug; hidden and slow ones count twice."""
    params = task.rule.params
    lines = texts.module(task.rule).count("\n")
    return lines * (params.bugs + params.hides + 2 * bool(params.longest))


_ALL = ("queue", "report")

FAMILY = Family(
    name="coding/mended-module",
    rungs={
        "L1": Params((), 1),
        "L2": Params(("queue",), 2),
        "L3": Params(_ALL, 3, hides=True),
        "L4": Params(_ALL, 4, hides=True, longest=60_000),
        "L5": Params(_ALL, 6, hides=True, longest=60_000),
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
    mutants=mutants,
    hidden=hidden,
    slow=slow,
    cost=10,
)
