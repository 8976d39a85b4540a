"""The programs of `upset_cost`: our own, others that are right, too slow ones, and wrong ones."""

from __future__ import annotations

REFERENCE = """\
from bisect import bisect_left

MARGIN = <margin>
MOST = <most>  #:most
TIE = <tie>  #:tie
MODULUS = <modulus>  #:modulus


# Several sums in one number, each in its own 64 bits; all of them are positive.
WIDTH = 64
MASK = (1 << WIDTH) - 1


def apart(packed):
    return [packed >> WIDTH * kind & MASK for kind in range(<kinds>)]


class Sums:
    def __init__(self, size):
        self.size = size
        self.tree = [0] * (size + 1)

    def add(self, place, amount):
        tree = self.tree
        at = place + 1
        while at > 0:
            tree[at] += amount
            at -= at & -at

    def remove(self, place, amount):
        self.add(place, -amount)

    def above(self, place):
        tree = self.tree
        at = place + 1
        total = 0
        while at <= self.size:
            total += tree[at]
            at += at & -at
        return total


def total_cost(values, chosen<more>):
    ranks = sorted({values[i] for i in chosen})
    place = {value: rank for rank, value in enumerate(ranks)}
    sums = Sums(len(ranks))
    cost = 0
    gone = 0  #:reach
    for j in chosen:
        while chosen[gone] < j - reach:  #:reach
            i = chosen[gone]  #:reach
            a = values[i]  #:reach
            w = weights[i]  #:weight+reach
            sums.remove(place[a], <moments>)  #:reach
            gone += 1  #:reach
        i = j
        a = values[i]
        w = weights[i]  #:weight
        cost += TIE * (apart(sums.above(place[a]))[0] - apart(sums.above(place[a] + 1))[0])  #:tie
        found = sums.above(bisect_left(ranks, a + MARGIN))
        high = sums.above(bisect_left(ranks, a + MOST))  #:most
        <names> = apart(high)  #:most
        cost += <capped>  #:most
        found -= high  #:most
        <names> = apart(found)
        cost += <cost>
        sums.add(place[a], <moments>)
    return cost


def <entry>(<parameters>):
    lowest = min(values, default=0)
    values = [value - lowest for value in values]
    everyone = list(range(len(values)))
    cost = total_cost(values, everyone<more>)
    teams_of = {}  #:teams
    for i in everyone:  #:teams
        teams_of.setdefault(teams[i], []).append(i)  #:teams
    for members in teams_of.values():  #:teams
        cost -= total_cost(values, members<more>)  #:teams
    return cost % MODULUS  #:modulus
    return cost  #:!modulus
"""

SLICED_SUMS = """\
class Sums:
    def __init__(self, size):
        self.places = []
        self.kept = [[] for _ in range(<kinds>)]

    def add(self, place, packed):
        at = bisect_left(self.places, place)
        self.places.insert(at, place)
        for column, amount in zip(self.kept, apart(packed)):
            column.insert(at, amount)

    def remove(self, place, packed):
        at = bisect_left(self.places, place)
        amounts = apart(packed)
        while any(column[at] != amount for column, amount in zip(self.kept, amounts)):
            at += 1
        del self.places[at]
        for column in self.kept:
            del column[at]

    def above(self, place):
        at = bisect_left(self.places, place)
        return sum(sum(column[at:]) << WIDTH * kind for kind, column in enumerate(self.kept))


"""
"""Insertion and slices at the speed of C: the competitor that must run out of time."""

DOUBLE_LOOP = """\
def <entry>(<parameters>):
    total = 0
    for j in range(len(values)):
        for i in range(<start>, j):
            drop = values[i] - values[j]
            if drop == 0:  #:tie
                total += <tie>  #:tie
            if teams[i] == teams[j]:  #:teams
                continue  #:teams
            if drop >= <margin>:
                drop = min(drop, <most>)  #:most
                total += <charge>
    return total % <modulus>  #:modulus
    return total  #:!modulus
"""

MOMENTS: dict[str, tuple[str, str, str, str]] = {
    "drop": ("1 + (a << WIDTH)", "count, total", "total - count * a", "MOST * count"),
    "square": (
        "1 + (a << WIDTH) + (a * a << 2 * WIDTH)",
        "count, total, squares",
        "squares - 2 * a * total + count * a * a",
        "MOST * MOST * count",
    ),
    "weight": ("w + (w * a << WIDTH)", "heavy, total", "w * (total - heavy * a)", "w * MOST * heavy"),
    "distance": (
        "1 + (a << WIDTH) + (i << 2 * WIDTH) + (i * a << 3 * WIDTH)",
        "count, total, places, crossed",
        "j * total - crossed - a * (j * count - places)",
        "MOST * (j * count - places)",
    ),
}
"""For each charge: what the sums are of, their names, and what an element pays to those above it, without and with
the cap."""
