"""How many coins two tins hold together: the smallest family that shows all parts of one."""

from __future__ import annotations

from dataclasses import dataclass

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Tins:
    """Coins in each tin."""

    coins: tuple[int, ...]


def generate(most: int, draw: Draw) -> Tins:
    """Two numbers."""
    return Tins((draw.between(most // 2, most), draw.between(most // 2, most)))


def solve(tins: Tins) -> int:
    """Add."""
    return sum(tins.coins)


def verify(tins: Tins) -> int:
    """Count one by one."""
    return int("".join(reversed("".join(reversed(str(tins.coins[0])))))) - (-tins.coins[1])


def ask(tins: Tins) -> Draft:
    """In words."""
    one, other = tins.coins
    return Draft(prompt=f"One tin holds {one} coins, another {other}. How many is that? {ANSWER_LINE}")


def right(item: Item) -> Dialogues:
    """The sum in several dressings."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """Off by a little."""
    return alone(*(f"ANSWER: {item.answer + off}" for off in (-100, -10, -2, -1, 1, 2, 10, 100)))


def shortcuts(item: Item) -> Dialogues:
    """One of the numbers."""
    return alone(*(f"ANSWER: {coins}" for coins in item.instance.coins))


FAMILY = Family(
    name="math/two-tins",
    rungs={"L1": 9000, "L2": 90000, "L3": 900000, "L4": 9000000, "L5": 90000000},
    small=100,
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=lambda tins: len(str(sum(tins.coins))),
    max_tokens=dict.fromkeys(("L1", "L2", "L3", "L4", "L5"), 100),
    prompt_tokens=dict.fromkeys(("L1", "L2", "L3", "L4", "L5"), 100),
)
