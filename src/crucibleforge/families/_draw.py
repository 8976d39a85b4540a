"""Random numbers that no Python upgrade can change, and the keys that they come from."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeVar

Item = TypeVar("Item")

CANONICAL = "crucibleforge: the canonical form"
"""The published key: everybody's cases are the same ones."""


def seed(form: str, *place: str | int) -> str:
    """The seed of one item, 32 hex digits: HMAC-SHA256 of its place under the form's key.

    A keyed hash and not `seed + index`, under which two forms with neighbouring seeds share nearly all of their items.
    """
    return hmac.new(form.encode(), "|".join(map(str, place)).encode(), "sha256").hexdigest()[:32]


class Draw:
    """A counter-based generator over blake2b: the same key gives the same numbers on every Python and machine.

    `random.Random` promises only `random()` across versions, so its `shuffle` or `sample` could change the suite.
    """

    def __init__(self, *key: str | int) -> None:
        self._key = blake2b("\x1f".join(str(part) for part in key).encode(), digest_size=32).digest()
        self._counter = 0

    def below(self, n: int) -> int:
        """A number in [0, n), every one equally likely (rejection on 64 bits).

        Raises:
            ValueError: `n` is not in [1, 2^64].
        """
        if not 0 < n <= 1 << 64:
            raise ValueError(f"below({n}): there is no such number")
        limit = (1 << 64) - (1 << 64) % n
        while True:
            block = blake2b(self._counter.to_bytes(8, "big"), key=self._key, digest_size=8).digest()
            self._counter += 1
            value = int.from_bytes(block, "big")
            if value < limit:
                return value % n

    def between(self, low: int, high: int) -> int:
        """A number in [low, high], both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, part: int, whole: int) -> bool:
        """True `part` times out of `whole`."""
        return self.below(whole) < part

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All items in a random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different items in a random order.

        Raises:
            ValueError: there are not so many.
        """
        if count > len(items):
            raise ValueError(f"sample of {count} out of {len(items)}")
        return self.shuffled(items)[:count]

    def until(self, wanted: Callable[[], Item | None], tries: int = 1000) -> Item:
        """Call `wanted` until it gives something other than None.

        Raises:
            RuntimeError: it never did; the family's parameters leave nothing to draw.
        """
        for _ in range(tries):
            found = wanted()
            if found is not None:
                return found
        raise RuntimeError(f"nothing fitting was drawn in {tries} tries")
