"""The module of `mended_module`, line by line with the features that it belongs to, and the bugs that it may get."""

from __future__ import annotations

from dataclasses import dataclass

from crucibleforge.families._draw import Draw
from crucibleforge.families.coding._mended_lists import Params, Rule
from crucibleforge.families.coding._sources import changed, kept

MODULE = """\
from collections import deque  #:queue

LIMIT = <limit>
DAYS = <days>
RATE = <rate>
MOST = <most>


class <Shelf>:
    def __init__(self, stock):
        self.free = {}
        self.loans = {}
        self.fines = {}
        self.queues = {}  #:queue
        self.waiters = {}  #:queue
        for title, copies in stock:
            self.free[title] = self.free.get(title, 0) + copies
            self.queues[title] = deque()  #:queue
            self.waiters[title] = set()  #:queue

    def <borrow>(self, person, title, day):
        if title not in self.free:
            return "unknown"
        held = self.loans.setdefault(person, {})
        if title in held:
            return "held"
        if person in self.waiters[title]:  #:queue
            return "waiting"  #:queue
        if len(held) >= LIMIT:
            return "refused"
        if self.fines.get(person, 0) >= MOST:
            return "refused"
        if self.free[title] > 0:
            self.free[title] -= 1
            held[title] = day + DAYS
            return "lent"
        return "none"  #:!queue
        self.queues[title].append(person)  #:queue
        self.waiters[title].add(person)  #:queue
        return "waiting"  #:queue

    def <bring>(self, person, title, day):
        held = self.loans.get(person, {})
        if title not in held:
            return -1
        due = held.pop(title)
        late = max(0, day - due)
        fine = min(late * RATE, MOST)
        self.fines[person] = self.fines.get(person, 0) + fine
        self.free[title] += 1  #:!queue
        self.hand_over(title, day)  #:queue
        return fine

    def hand_over(self, title, day):  #:queue
        queue = self.queues[title]  #:queue
        for place, person in enumerate(queue):  #:queue
            held = self.loans.setdefault(person, {})  #:queue
            if len(held) < LIMIT:  #:queue
                del queue[place]  #:queue
                self.waiters[title].remove(person)  #:queue
                held[title] = day + DAYS  #:queue
                return  #:queue
        self.free[title] += 1  #:queue
  #:queue
    def renew(self, person, title, day):
        held = self.loans.get(person, {})
        if title not in held or day > held[title]:
            return -1
        if self.queues[title]:  #:queue
            return -1  #:queue
        held[title] = held[title] + DAYS
        return held[title]

    def pay(self, person, amount):
        owed = self.fines.get(person, 0)
        paid = min(amount, owed)
        self.fines[person] = owed - paid
        return amount - paid

    def held_by(self, person):
        held = self.loans.get(person, {})
        return [[title, held[title]] for title in sorted(held)]

    def waiting(self, title):  #:queue
        return list(self.queues.get(title, ()))  #:queue
  #:queue
    def overdue(self, day):  #:report
        counts = []  #:report
        for person, held in self.loans.items():  #:report
            count = sum(1 for due in held.values() if due < day)  #:report
            if count:  #:report
                counts.append([person, count])  #:report
        return sorted(counts, key=lambda entry: (-entry[1], entry[0]))  #:report
"""


@dataclass(frozen=True)
class Bug:
    """What the module says and what it says with the bug; `feature` is the one whose lines are changed, "" for none."""

    name: str
    right: str
    wrong: str
    feature: str = ""


BUGS = (
    Bug("limit", "len(held) >= LIMIT", "len(held) > LIMIT"),
    Bug("late", "late = max(0, day - due)", "late = max(0, day - due + 1)"),
    Bug("cap", "min(late * RATE, MOST)", "late * min(RATE, MOST)"),
    Bug("sum", "self.fines.get(person, 0) + fine", "fine"),
    Bug("stock", "self.free.get(title, 0) + copies", "copies"),
    Bug("barred", ", 0) >= MOST", ", 0) > MOST"),
    Bug("prompt renewal", "day > held[title]", "day >= held[title]"),
    Bug("renewed from", "held[title] = held[title] + DAYS", "held[title] = day + DAYS"),
    Bug("overpaid", "= owed - paid", "= owed - amount"),
    Bug("change", "return amount - paid", "return owed - paid"),
    Bug("not held", "due = held.pop(title)", "due = held[title]"),
    Bug(
        "shared", "self.queues[title] = deque()", "self.queues[title] = self.queues.setdefault(None, deque())", "queue"
    ),
    Bug("handed over", "self.hand_over(title, day)", "self.free[title] += 1", "queue"),
    Bug("handed at limit", "len(held) < LIMIT", "len(held) <= LIMIT", "queue"),
    Bug("wrong one", "del queue[place]", "queue.popleft()", "queue"),
    Bug("still waits", "                self.waiters[title].remove(person)\n", "", "queue"),
    Bug("handed due", "                held[title] = day + DAYS", "                held[title] = day", "queue"),
    Bug("renewed despite", "if self.queues[title]:", "if len(self.queues[title]) > 1:", "queue"),
    Bug("due today", "if due < day", "if due <= day", "report"),
    Bug(
        "ties",
        "key=lambda entry: (-entry[1], entry[0]))",
        "key=lambda entry: (entry[1], entry[0]), reverse=True)",
        "report",
    ),
)
HIDES = {"handed over": ("wrong one", "still waits", "handed due", "handed at limit")}
"""While the first is there, none of the others can be seen."""
SLOW = Bug("slow", "person in self.waiters[title]", "person in self.queues[title]", "queue")
"""Right, but it looks at everybody who waits; only the time tells. "still waits" would not be seen beside it."""


def catalogue(rule: Rule) -> list[Bug]:
    return [bug for bug in BUGS if not bug.feature or bug.feature in rule.params.features]


def bug_named(name: str) -> Bug:
    return next(bug for bug in (*BUGS, SLOW) if bug.name == name)


def hidden_bugs(names: tuple[str, ...]) -> tuple[str, ...]:
    return next((tuple(name for name in names if name in HIDES[one]) for one in names if one in HIDES), ())


def drawn_bugs(params: Params, draw: Draw) -> tuple[str, ...]:
    """Bugs of different lines; what is hidden comes with what hides it, and only then."""
    pair: list[str] = []
    if params.hides:
        first = draw.pick(sorted(HIDES))
        pair = [first, draw.pick([name for name in HIDES[first] if name != "still waits" or not params.longest])]
    special = {name for first, names in HIDES.items() for name in (first, *names)} if params.hides else set()
    plain = [bug for bug in BUGS if not bug.feature or bug.feature in params.features]
    others = [bug.name for bug in plain if bug.name not in special]
    chosen = draw.until(lambda: _apart(draw.sample(others, params.bugs - len(pair))))
    return (*pair, *chosen, *(["slow"] if params.longest else []))


def _apart(names: list[str]) -> list[str] | None:
    """The names, unless two of them work on the same number or one would hide another by chance."""
    together = ({"overpaid", "change"}, {"late", "cap"}, {"sum", "cap"}, {"handed over", "handed due"})
    hidden = {one for names_hidden in HIDES.values() for one in names_hidden}
    clash = any(pair <= set(names) for pair in together) or ("handed over" in names and hidden & set(names))
    return None if clash else names


def module(rule: Rule, *bugs: Bug) -> str:
    source = kept(MODULE, rule.params.features)
    parts = {"Shelf": rule.shelf, "borrow": rule.borrow, "bring": rule.bring}
    numbers = {"limit": rule.limit, "days": rule.days, "rate": rule.rate, "most": rule.most}
    for name, part in (parts | numbers).items():
        source = source.replace(f"<{name}>", str(part))
    return changed(source, *((bug.right, bug.wrong) for bug in bugs))
