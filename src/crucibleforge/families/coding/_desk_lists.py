"""The rules of `order_desk`, and the desk kept by lists that are searched each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.families.coding._sources import operated

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


class Lists:
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


def run(rule: Rule, day: Day) -> list[Any]:
    """What the day's calls give, by the lists."""
    names = {rule.buy: "buys", rule.sell: "sells"}
    return operated(Lists(rule, *day.made_with), [(names.get(kind, kind), *given) for kind, *given in day.log])
