"""The contract of `mended_module`, and a class that keeps it with flat lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crucibleforge.families.coding._sources import operated

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


class Lists:
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
        if self._due(person, title) is not None or (person, title) in self._line:
            return "waiting" if (person, title) in self._line else "held"
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


def run(rule: Rule, use: Use) -> list[Any]:
    """What the calls must give, by the lists."""
    names = {rule.borrow: "borrows", rule.bring: "brings"}
    return operated(Lists(rule, use), [(names.get(kind, kind), *given) for kind, *given in use.log])
