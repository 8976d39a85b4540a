"""A class that matches buyers and sellers, driven by a log of operations.

A stateful interface from a specification whose rules meet: partial fills, amendments that lose their place, owners who
must not trade with themselves, orders that show only a part, orders that lapse. On the hard rungs the desk must not
look at all orders for each.

`solve` runs our own solution, heaps with stale entries; `verify` keeps plain lists and searches them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import programs
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.coding import _desk_programs as texts
from crucibleforge.families.coding._desk_lists import Day, Operation, Params, Rule, run
from crucibleforge.families.coding._sources import fenced, loaded, mutants, operated
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Task:
    """The rule, the day of the example, and those of the stored tests."""

    rule: Rule
    example: Day
    tests: tuple[Day, ...]


_FIRST = ("Order", "Trade", "Match", "Market", "Grain", "Wool", "Timber", "Pepper", "Copper", "Salt", "Hop", "Flax")
_LAST = ("Desk", "Book", "Hall", "Counter", "Floor", "Table", "Ring", "Board", "Pit", "Exchange")
_WORDS = (("buy", "sell"), ("bid", "ask"), ("bid", "offer"), ("want", "give"), ("purchase", "sale"), ("take", "supply"))
_OWNERS = 3
_AMOUNT = 1000
_PRICE = 1_000_000


def generate(params: Params, draw: Draw) -> Task:
    """Names, the rule for own orders, an example with trades, and days that tell it from its look-alikes."""
    buy, sell = draw.pick(_WORDS)
    desk = draw.pick(_FIRST) + draw.pick(_LAST)
    rule = Rule(params, desk, buy, sell, draw.pick(("resting", "incoming", "both")))
    each = sorted({*_kinds(rule)})
    kinds = [*each, *[buy, sell] * 2]
    # About one day in a hundred tells: a thousand tries would fail for one instance in some thousands.
    example = draw.until(
        lambda: _telling(rule, _day(rule, draw, draw.shuffled(kinds), draw.between(60, 90))), tries=20_000
    )
    days = [_random_day(rule, draw, size) for size in (25, 40, 40, 60)]
    return Task(rule, example, (*_edges(rule, draw), *days))


def _random_day(rule: Rule, draw: Draw, size: int) -> Day:
    return _day(rule, draw, [draw.pick(_kinds(rule)) for _ in range(size)], draw.between(5, 900))


def _day(rule: Rule, draw: Draw, kinds: list[str], price: int) -> Day:
    """Operations around a price, on orders that were there."""
    log: list[Operation] = []
    orders = 0
    for kind in kinds:
        number = draw.between(1, orders + 1)
        near = price + draw.between(-2, 2)
        if kind in (rule.buy, rule.sell):
            orders += 1
            log.append(_order(rule, draw, kind, near))
        elif kind == "amend":
            log.append((kind, number, near, draw.between(1, 9)))
        else:
            log.append((kind, *{"cancel": (number,), "depth": (near,), "best": ()}[kind]))
    return _on(rule, draw.between(4, 12), log)


def _on(rule: Rule, life: int, log: list[Operation]) -> Day:
    return Day((life,) if "life" in rule.features else (), tuple(log))


def _kinds(rule: Rule) -> list[str]:
    kinds = [rule.buy, rule.sell] * 4
    kinds += ["cancel", "depth", "best"] * ("cancel" in rule.features)
    return kinds + ["amend"] * 2 * ("amend" in rule.features)


def _order(rule: Rule, draw: Draw, kind: str, price: int, amount: int = 0, owner: int = 0) -> Operation:
    amount = amount or draw.between(1, 9)
    given = {"owner": owner or draw.between(1, _OWNERS), "price": price, "amount": amount, "show": draw.between(1, 4)}
    return (kind, *(given[name] for name in rule.given))


def _edges(rule: Rule, draw: Draw) -> list[Day]:
    """Nothing; one order; a queue at one price; prices that just meet and just do not; one order that sweeps many."""
    price = draw.between(10, 900)
    buy, sell = rule.buy, rule.sell

    def order(kind: str, off: int, amount: int, owner: int = 0) -> Operation:
        return _order(rule, draw, kind, price + off, amount, owner)

    logs = [
        [],
        [order(buy, 0, 3)],
        [*(order(sell, 0, amount, 1) for amount in (3, 4, 5)), *(order(buy, 0, 2, 2) for _ in range(6))],
        [order(sell, 1, 5, 1), order(buy, 0, 5, 2), order(buy, 1, 2, 2), order(sell, 0, 9, 1), order(buy, 2, 9, 2)],
        [*(order(sell, off, 2, 1) for off in (3, 1, 2, 1)), order(buy, 2, 20, 2), order(sell, 0, 30, 3)],
        [*(order(buy, off, 2, 1) for off in (1, 3, 2, 3)), order(sell, 2, 20, 2), order(buy, 9, 30, 3)],
    ]
    if "cancel" in rule.features:
        logs[1] += [("cancel", 1), ("cancel", 1), ("best",)]
        logs[2] += [("depth", price), ("cancel", 2), ("cancel", 2), ("cancel", 99), ("best",)]
        logs[4] += [("depth", price + 2), ("best",), ("cancel", 5), ("depth", price + 2)]
    if "amend" in rule.features:
        start = [order(sell, 0, 6, 1), order(sell, 0, 6, 2)]
        for off, amount in ((0, 4), (0, 6), (0, 8), (-1, 4)):
            logs.append([*start, ("amend", 1, price + off, amount), order(buy, 1, 5, 3), ("depth", price), ("best",)])
        logs.append([*start, ("amend", 1, price, 7), order(sell, 0, 1, 3), order(buy, 0, 14, 1), ("amend", 9, 1, 1)])
    if "life" in rule.features:
        asked = [("depth", price), ("depth", price + 1)] * 5
        logs.append([order(sell, 0, 6, 1), *asked[:2], ("amend", 1, price + 1, 6), *asked])
    return [_on(rule, 6, log) for log in logs]


def _telling(rule: Rule, day: Day) -> Day | None:
    """The day, if an order trades with several, others trade too, and no cancellation misses."""
    results = run(rule, day)
    trades = [made for made in results if isinstance(made, list) and made and isinstance(made[0], list)]
    idle = [one for one, made in zip(day.log, results, strict=True) if one[0] in ("cancel", "depth") and not made]
    return day if len(trades) > 1 and any(len(made) > 1 for made in trades) and not idle else None


def _called(day: Day) -> list[Any]:
    return [list(day.made_with), [list(operation) for operation in day.log]]


def solve(task: Task) -> list[dict[str, Any]]:
    """Run our own solution."""
    desk = loaded(texts.reference(task.rule), task.rule.desk)
    return [{"args": _called(day), "returns": operated(desk(*day.made_with), day.log)} for day in task.tests]


def verify(task: Task) -> list[dict[str, Any]]:
    """Keep lists and search them."""
    return [{"args": _called(day), "returns": run(task.rule, day)} for day in task.tests]


def ask(task: Task) -> Draft:
    """The rules in words, with bounds and one day."""
    rule = task.rule
    given, has = ", ".join(rule.given), rule.features
    lines = [
        f"Write a Python class `{rule.desk}`, a desk where buyers and sellers meet. It has these methods:",
        "",
        (
            f"- `{rule.buy}({given})` enters an order to buy and `{rule.sell}({given})` one to sell `amount` units at "
            "`price` or better. Both return the list of trades that the order makes at once, in the order in which "
            "they are made."
        ),
    ]
    if "cancel" in has:
        lines += [
            (
                "- `cancel(number)` takes the resting order of that number off the desk and returns how many units "
                "were left of it, 0 if no such order rests."
            ),
            (
                "- `best()` returns `[highest price of the resting buy orders, lowest price of the resting sell "
                "orders]`, with 0 where none rests."
            ),
            (
                f"- `depth(price)` returns the sum of the {'shown parts' if 'iceberg' in has else 'units left'} of all "
                "orders that rest at this price, 0 for none."
            ),
        ]
    if "amend" in has:
        lines.append(
            "- `amend(number, price, amount)` changes a resting order and returns a list of trades; see below."
        )
    lines += ["", *_rules_in_words(rule), "", *_bounds_in_words(rule), "", *_example_in_words(task)]
    lines += ["", "Use the standard library only; helpers are fine. Reply with the code in one Python code block."]
    settings = {"entry": rule.desk, "form": "class", "reference": texts.reference(rule)}
    return Draft(prompt="\n".join(lines), settings=settings)


def _rules_in_words(rule: Rule) -> list[str]:
    has = rule.features
    part = "shown part" if "iceberg" in has else "units left"
    lines = [
        "Orders are numbered 1, 2, 3, ... as they are entered, also those that trade at once.",
        (
            "A new order trades with resting orders of the other side as long as it has units left: a buy order with "
            "sell orders whose price is not above its own, the lowest price first; a sell order with buy orders whose "
            "price is not below its own, the highest price first; at the same price, with the order that has been "
            "waiting there longest first. A trade is `[number of the resting order, price of the resting order, "
            f"units]`; its units are the smaller of the new order's units left and the resting order's {part}. A "
            "resting order with no units left is gone. What is left of the new order then rests."
        ),
    ]
    if "owner" in has:
        cut = {
            "resting": "the resting order is taken off the desk, without a trade, and the new order goes on",
            "incoming": "what is left of the new order is dropped and does not rest; the trades made so far stand",
            "both": "both lose the units that they would have traded, as in a trade, but no trade is made or returned, "
            "and the new order goes on",
        }[rule.own]
        lines.append(f"When an order would trade with a resting one of the same `owner`: {cut}.")
    if "iceberg" in has:
        lines.append(
            "A resting order shows at most `show` units and keeps the rest hidden. Only its shown part can be traded; "
            "when that is used up and hidden units are left, at once the next `show` of them (or all, if fewer) are "
            "shown, and the order goes behind all others that wait at its price. A new order may well meet the same "
            "resting order several times; each time is a trade of its own. What a new order has is never hidden while "
            "it trades."
        )
    if "amend" in has:
        stays = "owner and `show` stay" if "iceberg" in has else "the owner stays"
        hides = " (if more than that is shown, all of it is shown)" if "iceberg" in has else ""
        lines.append(
            "`amend`: if no order of that number rests, nothing happens and the result is `[]`. If the price stays the "
            f"same and `amount` is not more than what is left of the order, `amount` is what is now left of it{hides}; "
            "it keeps its place and the result is `[]`. Otherwise the order leaves the desk and is entered again with "
            f"the new price and `amount` units, exactly like a new order but under its old number ({stays}), and the "
            "result is its trades."
        )
    if "life" in has:
        lines.append(
            f"The desk is made with `{rule.desk}(life)`. Every call of a method is one step, from step 1 on, whatever "
            "it does. An order that was entered in step t is taken off the desk just before step t + `life`, if it "
            "still rests. An amended order that was entered again counts from then on; one that kept its place, or "
            "showed its next part, from where it did before."
        )
    return lines


def _bounds_in_words(rule: Rule) -> list[str]:
    bounds = [f"prices from 1 to {_PRICE:,}", f"amounts from 1 to {_AMOUNT:,}"]
    bounds += ["owners from 1 to 1,000"] * ("owner" in rule.features)
    bounds += [f"`show` from 1 to {_AMOUNT:,}"] * ("iceberg" in rule.features)
    bounds += ["`life` at least 2"] * ("life" in rule.features)
    lines = [f"Bounds: up to {rule.params.longest:,} calls on one desk, {', '.join(bounds)}, all whole numbers."]
    if rule.params.is_large:
        lines.append(
            "The desk has to be quick: the time limit is a multiple of what our own solution takes for the same calls, "
            f"and looking at all resting orders in a call will not do for {rule.params.longest:,} of them."
        )
    return lines


def _example_in_words(task: Task) -> list[str]:
    rule, day = task.rule, task.example
    calls = [f"{kind}({', '.join(map(str, given))})" for kind, *given in day.log]
    shown = [f"{call} -> {made}" for call, made in zip(calls, run(rule, day), strict=True)]
    return [f"Example, the calls on `{rule.desk}({', '.join(map(str, day.made_with))})` and what they return:", *shown]


def right(item: Item) -> Dialogues:
    """Our own solution; where time is no matter also the one that looks at all orders."""
    rule = item.instance.rule
    return programs(texts.reference(rule)) + (() if rule.params.is_large else fenced(texts.scanning(rule)))


def near_misses(item: Item) -> Dialogues:
    """The wrong order first, the wrong price, bounds that are strict, rests that are lost, rules that are left out."""
    rule = item.instance.rule
    return fenced(*texts.wrong(rule))


def shortcuts(item: Item) -> Dialogues:
    """Methods that always return the same."""
    rule = item.instance.rule
    sources = []
    for value in ("[]", "0"):
        methods = (rule.buy, rule.sell, "cancel", "best", "depth", "amend")
        bodies = (f"    def {name}(self, *given):\n        return {value}\n" for name in methods)
        sources.append(f"class {rule.desk}:\n    def __init__(self, *given):\n        pass\n\n" + "\n".join(bodies))
    return fenced(*sources)


def hidden(task: Task, draw: Draw) -> list[dict[str, Any]]:
    """Short days, and where time matters long ones: many prices, and few with long queues."""
    rule = task.rule
    days = [(0, _random_day(rule, draw, draw.between(20, 70))) for _ in range(10)]
    if rule.params.is_large:
        for size in (rule.params.longest // 4, rule.params.longest):
            days += [(size, _long_day(rule, draw, size, width)) for width in (_PRICE // 2 - 1, 20)]
    desk = loaded(texts.reference(rule), rule.desk)
    return [
        {"args": _called(day), "returns": operated(desk(*day.made_with), day.log)} | ({"size": size} if size else {})
        for size, day in days
    ]


def _long_day(rule: Rule, draw: Draw, size: int, width: int) -> Day:
    """Most orders rest, on both sides of the middle price; now and then one reaches across it."""
    log: list[Operation] = []
    orders = 0
    while len(log) < size:
        dice = draw.below(20)
        if dice < 14:
            orders += 1
            kind, away = draw.pick(((rule.buy, -1), (rule.sell, 1)))
            reach = draw.between(1, width) if dice else -width // 50
            log.append(_order(rule, draw, kind, _PRICE // 2 + away * reach, owner=draw.between(1, 1000)))
        elif dice < 17 or "amend" not in rule.features:
            log.append(("cancel", draw.between(1, orders + 1)))
        elif dice < 18:
            log.append(("amend", draw.between(1, orders + 1), _PRICE // 2 + draw.between(-width, width), 5))
        else:
            log.append(draw.pick((("best",), ("depth", _PRICE // 2 + draw.between(1, width)))))
    return _on(rule, size // 2, log)


def slow(item: Item) -> tuple[str, ...]:
    """A list that is sorted again for each order, and a look at all orders for each."""
    rule = item.instance.rule
    if not rule.params.is_large:
        return ()
    return texts.sorting(rule), texts.scanning(rule)


def effort(task: Task) -> float:
    """Rules to keep at once; time counts as three."""
    return 2 + len(task.rule.params.features) + 3 * task.rule.params.is_large


FAMILY = Family(
    name="coding/order-desk",
    rungs={
        "L1": Params((), 200),
        "L2": Params(("cancel",), 500),
        "L3": Params(("cancel", "owner", "amend"), 60_000, is_large=True),
        "L4": Params(("cancel", "owner", "amend", "iceberg"), 60_000, is_large=True),
        "L5": Params(("cancel", "owner", "amend", "iceberg", "life"), 60_000, is_large=True),
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
    max_tokens={"L1": 1536, "L2": 2048, "L3": 4096, "L4": 4096, "L5": 5120},
    prompt_tokens={"L1": 600, "L2": 800, "L3": 1300, "L4": 1600, "L5": 1900},
    fingerprint=lambda task: [task.rule, task.example],
    shared=("_called",),
    mutants=mutants,
    hidden=hidden,
    slow=slow,
    cost=5,
)
