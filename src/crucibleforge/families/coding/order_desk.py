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
from crucibleforge.families.coding._sources import changed, fenced, kept, loaded, operated
from crucibleforge.types import Grading

Operation = tuple[Any, ...]
Log = tuple[Operation, ...]


@dataclass(frozen=True)
class Params:
    """`features` are of "cancel", "amend", "owner", "iceberg", "life"; `longest` is the length of a log."""

    features: tuple[str, ...]
    longest: int
    is_large: bool = False


@dataclass(frozen=True)
class Rule:
    """`own` says what becomes of an owner's two orders that would trade: "resting", "incoming" or "both" are cut."""

    params: Params
    desk: str
    buy: str
    sell: str
    own: str

    @property
    def features(self) -> tuple[str, ...]:
        """All that tells this program from the plainest one."""
        return (*self.params.features, *([self.own] if "owner" in self.params.features else []))

    @property
    def given(self) -> list[str]:
        """The parameters of an order."""
        has = self.params.features
        return [*["owner"][: "owner" in has], "price", "amount", *["show"][: "iceberg" in has]]


@dataclass(frozen=True)
class Day:
    """One desk: its constructor's arguments and its log."""

    made_with: tuple[int, ...]
    log: Log


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
    length = 5 + len(params.features)
    example = draw.until(lambda: _telling(rule, _day(rule, draw, length, draw.between(60, 90))))
    days = [_day(rule, draw, size, draw.between(5, 900)) for size in (25, 40, 40, 60)]
    return Task(rule, example, (*_edges(rule, draw), *days))


def _day(rule: Rule, draw: Draw, size: int, price: int) -> Day:
    """Operations around a price, on orders that were there."""
    log: list[Operation] = []
    orders = 0
    for _ in range(size):
        kind = draw.pick(_kinds(rule))
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
        [order(buy, 0, 1)],
        [*(order(sell, 0, amount, 1) for amount in (3, 4, 5)), *(order(buy, 0, 2, 2) for _ in range(6))],
        [order(sell, 1, 5, 1), order(buy, 0, 5, 2), order(buy, 1, 2, 2), order(sell, 0, 9, 1), order(buy, 2, 9, 2)],
        [*(order(sell, off, 2, 1) for off in (3, 1, 2, 1)), order(buy, 2, 20, 2), order(sell, 0, 30, 3)],
        [*(order(buy, off, 2, 1) for off in (1, 3, 2, 3)), order(sell, 2, 20, 2), order(buy, 9, 30, 3)],
    ]
    if "cancel" in rule.features:
        logs[2] += [("depth", price), ("cancel", 2), ("cancel", 2), ("cancel", 99), ("best",)]
        logs[4] += [("depth", price + 2), ("best",), ("cancel", 5), ("depth", price + 2)]
    if "amend" in rule.features:
        start = [order(sell, 0, 6, 1), order(sell, 0, 6, 2)]
        for off, amount in ((0, 4), (0, 6), (0, 8), (-1, 4)):
            logs.append([*start, ("amend", 1, price + off, amount), order(buy, 1, 5, 3), ("depth", price), ("best",)])
        logs.append([*start, ("amend", 1, price, 7), order(sell, 0, 1, 3), order(buy, 0, 14, 1), ("amend", 9, 1, 1)])
    return [_on(rule, 6, log) for log in logs]


def _telling(rule: Rule, day: Day) -> Day | None:
    """The day, if somebody trades with more than one order, and every kind of operation is there and does something."""
    results = _run(rule, day)
    trades = [made for made in results if isinstance(made, list) and made and isinstance(made[0], list)]
    kinds = {operation[0] for operation in day.log}
    idle = [one for one, made in zip(day.log, results, strict=True) if one[0] in ("cancel", "depth") and not made]
    is_full = all(kind in kinds for kind in _kinds(rule)) and len(trades) > 1 and any(len(made) > 1 for made in trades)
    return day if is_full and not idle else None


def _run(rule: Rule, day: Day) -> list[Any]:
    return operated(_Lists(rule, *day.made_with), _named(rule, day.log))


def _named(rule: Rule, log: Log) -> list[Operation]:
    names = {rule.buy: "buys", rule.sell: "sells"}
    return [(names.get(kind, kind), *given) for kind, *given in log]


def _called(day: Day) -> list[Any]:
    return [list(day.made_with), [list(operation) for operation in day.log]]


def solve(task: Task) -> list[dict[str, Any]]:
    """Run our own solution."""
    desk = loaded(_reference(task.rule), task.rule.desk)
    return [{"args": _called(day), "returns": operated(desk(*day.made_with), day.log)} for day in task.tests]


def verify(task: Task) -> list[dict[str, Any]]:
    """Keep lists and search them."""
    return [{"args": _called(day), "returns": _run(task.rule, day)} for day in task.tests]


@dataclass
class _Order:
    number: int
    side: str
    price: int
    left: int
    shown: int
    show: int
    owner: int
    entered: int


class _Lists:
    """The desk as two lists, each in the order in which orders come to their turn at a price."""

    def __init__(self, rule: Rule, life: int = 10**9) -> None:
        self._rule = rule
        self._life = life
        self._now = self._orders = 0
        self._sides: dict[str, list[_Order]] = {"buys": [], "sells": []}

    def buys(self, *given: int) -> list[Any]:
        return self._new("buys", dict(zip(self._rule.given, given, strict=True)))

    def sells(self, *given: int) -> list[Any]:
        return self._new("sells", dict(zip(self._rule.given, given, strict=True)))

    def cancel(self, number: int) -> int:
        self._lapse()
        return sum(self._out(order) for order in self._all() if order.number == number)

    def best(self) -> list[int]:
        self._lapse()
        bids, asks = ([order.price for order in self._sides[side]] for side in ("buys", "sells"))
        return [max(bids, default=0), min(asks, default=0)]

    def depth(self, price: int) -> int:
        self._lapse()
        return sum(order.shown for order in self._all() if order.price == price)

    def amend(self, number: int, price: int, amount: int) -> list[Any]:
        self._lapse()
        for order in self._all():
            if order.number != number:
                continue
            if order.price == price and order.left >= amount:
                order.left, order.shown = amount, min(order.shown, amount)
                return []
            self._out(order)
            order.price, order.left = price, amount
            return self._in(order)
        return []

    def _all(self) -> list[_Order]:
        return self._sides["buys"] + self._sides["sells"]

    def _lapse(self) -> None:
        self._now += 1
        for order in self._all():
            if self._now - order.entered >= self._life:
                self._out(order)

    def _out(self, order: _Order) -> int:
        self._sides[order.side].remove(order)
        return order.left

    def _new(self, side: str, given: dict[str, int]) -> list[Any]:
        self._lapse()
        self._orders += 1
        show, owner = given.get("show", 10**9), given.get("owner", -self._orders)
        return self._in(_Order(self._orders, side, given["price"], given["amount"], 0, show, owner, 0))

    def _in(self, order: _Order) -> list[Any]:
        order.entered = self._now
        trades: list[Any] = []
        while order.left and (rest := self._partner(order)) is not None:
            part = min(rest.shown, order.left)
            if rest.owner == order.owner and self._rule.own != "both":
                if self._rule.own == "incoming":
                    return trades
                self._out(rest)
                continue
            if rest.owner != order.owner:
                trades.append([rest.number, rest.price, part])
            order.left -= part
            self._cut(rest, part)
        if order.left:
            order.shown = min(order.show, order.left)
            self._sides[order.side].append(order)
        return trades

    def _partner(self, order: _Order) -> _Order | None:
        if order.side == "buys":
            return min((o for o in self._sides["sells"] if o.price <= order.price), key=lambda o: o.price, default=None)
        return max((o for o in self._sides["buys"] if o.price >= order.price), key=lambda o: o.price, default=None)

    def _cut(self, rest: _Order, part: int) -> None:
        rest.left -= part
        rest.shown -= part
        if not rest.shown:
            self._out(rest)
            if rest.left:
                rest.shown = min(rest.show, rest.left)
                self._sides[rest.side].append(rest)


def ask(task: Task) -> Draft:
    """The rules in words, with bounds and one day."""
    rule = task.rule
    given, has = ", ".join(rule.given), rule.features
    lines = [
        f"Write a Python class `{rule.desk}`, a desk where buyers and sellers meet. It has these methods:",
        "",
        f"- `{rule.buy}({given})` enters an order to buy and `{rule.sell}({given})` one to sell `amount` units at `price` "
        "or better. Both return the list of trades that the order makes at once, in the order in which they are made.",
    ]
    if "cancel" in has:
        lines += [
            "- `cancel(number)` takes the resting order of that number off the desk and returns how many units were "
            "left of it, 0 if no such order rests.",
            "- `best()` returns `[highest price of the resting buy orders, lowest price of the resting sell orders]`, "
            "with 0 where none rests.",
            f"- `depth(price)` returns the sum of the {'shown parts' if 'iceberg' in has else 'units left'} of all "
            "orders that rest at this price, 0 for none.",
        ]
    if "amend" in has:
        lines.append(
            "- `amend(number, price, amount)` changes a resting order and returns a list of trades; see below."
        )
    lines += ["", *_rules_in_words(rule), "", *_bounds_in_words(rule), "", *_example_in_words(task)]
    lines += ["", "Use the standard library only; helpers are fine. Reply with the code in one Python code block."]
    settings = {"entry": rule.desk, "form": "class", "reference": _reference(rule)}
    return Draft(prompt="\n".join(lines), settings=settings)


def _rules_in_words(rule: Rule) -> list[str]:
    has = rule.features
    part = "shown part" if "iceberg" in has else "units left"
    lines = [
        "Orders are numbered 1, 2, 3, ... as they are entered, also those that trade at once.",
        "A new order trades with resting orders of the other side as long as it has units left: a buy order with sell "
        "orders whose price is not above its own, the lowest price first; a sell order with buy orders whose price is "
        "not below its own, the highest price first; at the same price, with the order that has been waiting there "
        "longest first. A trade is `[number of the resting order, price of the resting order, units]`; its units are "
        f"the smaller of the new order's units left and the resting order's {part}. A resting order with no units left "
        "is gone. What is left of the new order then rests.",
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
        hides = " (if more than that is shown, all of it is shown)" if "iceberg" in has else ""
        lines.append(
            "`amend`: if no order of that number rests, nothing happens and the result is `[]`. If the price stays the "
            f"same and `amount` is not more than what is left of the order, `amount` is what is now left of it{hides}; "
            "it keeps its place and the result is `[]`. Otherwise the order leaves the desk and is entered again with "
            "the new price and `amount` units, exactly like a new order but under its old number, and the result is "
            "its trades."
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
    shown = [f"{call} -> {made}" for call, made in zip(calls, _run(rule, day), strict=True)]
    return [f"Example, the calls on `{rule.desk}({', '.join(map(str, day.made_with))})` and what they return:", *shown]


def _reference(rule: Rule) -> str:
    return _filled(rule, texts.REFERENCE)


def _filled(rule: Rule, text: str) -> str:
    source = kept(text, rule.features)
    fixed = {"Desk": rule.desk, "buy": rule.buy, "sell": rule.sell, "given": ", ".join(rule.given)}
    for name, part in fixed.items():
        source = source.replace(f"<{name}>", part)
    return source
