"""The program of `order_desk`, line by line with the features that it belongs to."""

from __future__ import annotations

from crucibleforge.families.coding._desk_lists import Rule
from crucibleforge.families.coding._sources import changed, kept

REFERENCE = """\
from collections import deque  #:life
from heapq import heappop, heappush


class Order:
    def __init__(self, number, buys, price, left):
        self.number = number
        self.buys = buys
        self.price = price
        self.left = left
        self.shown = 0
        self.turn = 0


class <Desk>:
    def __init__(self):  #:!life
    def __init__(self, life):  #:life
        self.life = life  #:life
        self.clock = 0  #:life
        self.entries = deque()  #:life
        self.count = 0
        self.turn = 0
        self.resting = {}
        self.heaps = {True: [], False: []}
        self.amounts = {}  #:cancel

    def <buy>(self, <given>):
        self._tick()  #:life
        return self._new(True, <given>)

    def <sell>(self, <given>):
        self._tick()  #:life
        return self._new(False, <given>)

    def cancel(self, number):  #:cancel
        self._tick()  #:cancel+life
        if number not in self.resting:  #:cancel
            return 0  #:cancel
        return self._remove(self.resting[number])  #:cancel
  #:cancel
    def best(self):  #:cancel
        self._tick()  #:cancel+life
        heads = [self._head(buys) for buys in (True, False)]  #:cancel
        return [head.price if head else 0 for head in heads]  #:cancel
  #:cancel
    def depth(self, price):  #:cancel
        self._tick()  #:cancel+life
        return self.amounts.get(price, 0)  #:cancel
  #:cancel
    def amend(self, number, price, amount):  #:amend
        self._tick()  #:amend+life
        order = self.resting.get(number)  #:amend
        if order is None:  #:amend
            return []  #:amend
        if price == order.price and amount <= order.left:  #:amend
            shown = min(order.shown, amount)  #:amend
            self.amounts[price] -= order.shown - shown  #:amend
            order.shown = shown  #:amend
            order.left = amount  #:amend
            return []  #:amend
        self._remove(order)  #:amend
        order.price = price  #:amend
        order.left = amount  #:amend
        return self._enter(order)  #:amend
  #:amend
    def _new(self, buys, <given>):
        self.count += 1
        order = Order(self.count, buys, price, amount)
        order.owner = owner  #:owner
        order.show = show  #:iceberg
        return self._enter(order)

    def _enter(self, order):
        trades = []
        order.since = self.clock  #:life
        while order.left > 0:
            head = self._head(not order.buys)
            if head is None:
                break
            if head.price > order.price if order.buys else head.price < order.price:
                break
            amount = min(order.left, head.shown)
            if head.owner == order.owner:  #:owner
                self._remove(head)  #:resting
                continue  #:resting
                return trades  #:incoming
                order.left -= amount  #:both
                self._reduce(head, amount)  #:both
                continue  #:both
            trades.append([head.number, head.price, amount])
            order.left -= amount
            self._reduce(head, amount)
        if order.left > 0:
            self._rest(order)
            self.entries.append((self.clock, order.number))  #:life
        return trades

    def _rest(self, order):
        self.turn += 1
        order.turn = self.turn
        order.shown = order.left  #:!iceberg
        order.shown = min(order.show, order.left)  #:iceberg
        self.resting[order.number] = order
        self.amounts[order.price] = self.amounts.get(order.price, 0) + order.shown  #:cancel
        key = -order.price if order.buys else order.price
        heappush(self.heaps[order.buys], (key, order.turn, order.number))

    def _reduce(self, order, amount):
        order.left -= amount
        order.shown -= amount
        self.amounts[order.price] -= amount  #:cancel
        if order.left == 0:
            del self.resting[order.number]
        elif order.shown == 0:  #:iceberg
            self._rest(order)  #:iceberg

    def _remove(self, order):  #:cancel
        del self.resting[order.number]  #:cancel
        self.amounts[order.price] -= order.shown  #:cancel
        return order.left  #:cancel
  #:cancel
    def _head(self, buys):
        heap = self.heaps[buys]
        while heap:
            key, turn, number = heap[0]
            order = self.resting.get(number)
            if order is not None and order.turn == turn:
                return order
            heappop(heap)
        return None

    def _tick(self):  #:life
        self.clock += 1  #:life
        while self.entries and self.entries[0][0] + self.life <= self.clock:  #:life
            since, number = self.entries.popleft()  #:life
            order = self.resting.get(number)  #:life
            if order is not None and order.since == since:  #:life
                self._remove(order)  #:life
"""

SORTED_AGAIN = """\
def heappush(heap, item):
    heap.append(item)
    heap.sort()


def heappop(heap):
    return heap.pop(0)
"""
"""Instead of a heap: a list that is sorted again with every order."""

SCANNED = """\
    def _head(self, buys):
        side = [order for order in self.resting.values() if order.buys == buys]
        if not side:
            return None
        return min(side, key=lambda order: (-order.price if buys else order.price, order.turn))

"""
"""Instead of a heap's head: a look at every order."""


def reference(rule: Rule) -> str:
    """Our own solution."""
    return _filled(rule, REFERENCE)


def scanning(rule: Rule) -> str:
    """A solution that looks at all orders for each."""
    head, _, rest = REFERENCE.partition("    def _head")
    return _filled(rule, f"{head}{SCANNED}    def _tick{rest.partition('    def _tick')[2]}")


def sorting(rule: Rule) -> str:
    """A solution that sorts its lists again for each order."""
    return changed(reference(rule), ("from heapq import heappop, heappush\n", SORTED_AGAIN))


def wrong(rule: Rule) -> list[str]:
    """Programs with the mistakes that are made with these rules."""
    source = reference(rule)
    trade = "trades.append([head.number, head.price, amount])"
    swaps = [
        ("(key, order.turn, order.number)", "(key, -order.turn, order.number)"),
        (trade, trade.replace("head.price", "order.price")),
        (trade, trade.replace("head.number", "order.number")),
        (trade, "trades.append((amount, head.price))"),
        ("head.price > order.price if", "head.price >= order.price if"),
        ("else head.price < order.price", "else head.price <= order.price"),
        ("key = -order.price if", "key = order.price if"),
        ("        if order.left > 0:\n            self._rest", "        if not trades:\n            self._rest"),
        (
            "            self._reduce(head, amount)\n        if",
            "            self._reduce(head, amount)\n            break\n        if",
        ),
        ("self.count = 0", "self.count = -1"),
    ]
    if "cancel" in rule.features:
        swaps += [("return order.left", "return True"), ("if head else 0", "if head else None")]
    if "amend" in rule.features:
        swaps += [
            ("if price == order.price and amount <= order.left:", "if price == order.price:"),
            ("if price == order.price and amount <= order.left:", "if False:"),
            ("            if head.owner == order.owner:", "            if False:"),
        ]
    if "iceberg" in rule.features:
        swaps.append(("        self.turn += 1\n        order.turn = self.turn\n", _ONE_TURN))
    if "life" in rule.features:
        swaps += [("<= self.clock:", "< self.clock:"), ("order.since == since", "True")]
    return [_first_turned(source, swap) for swap in swaps]


_ONE_TURN = "        self.turn += 1\n        order.turn = order.turn or self.turn\n"
"""The next shown part keeps the place of the one before."""


def _first_turned(source: str, swap: tuple[str, str]) -> str:
    """The changed source; its heap's entries stay the ones that it looks for."""
    wrong = changed(source, swap)
    return wrong.replace("order.turn == turn", "order.turn == -turn") if "-order.turn" in swap[1] else wrong


def _filled(rule: Rule, text: str) -> str:
    source = kept(text, rule.features)
    fixed = {"Desk": rule.desk, "buy": rule.buy, "sell": rule.sell, "given": ", ".join(rule.given)}
    for name, part in fixed.items():
        source = source.replace(f"<{name}>", part)
    return source
