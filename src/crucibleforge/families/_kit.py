"""What a family is made of: `Draw` (random numbers that no Python upgrade can change), `Draft`, `Family`.

A family is one file with a constant `FAMILY`. `make` draws an instance; `rederive` finds its answer again by
another method and must not call what `make` used; `right` and `wrong` are replies that must and must not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from crucibleforge.chat import Finish, Reply, Timing, Tool, ToolAnswer, ToolCall, Usage
from crucibleforge.types import Grading, Level

Item = TypeVar("Item")

ANSWER_LINE = "End with one line `ANSWER: <value>`."
"""The sentence that ends every prompt with a short answer; the extractor accepts more than it asks for."""


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
            ValueError: `n` is not positive.
        """
        if n <= 0:
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
        """`count` different items in a random order."""
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


@dataclass(frozen=True, kw_only=True)
class Draft:
    """One instance of a family, before it has an id.

    `prompt` is the first user message. `instance` is what `rederive` works from and never leaves the program;
    `settings` are laid over the family's grader settings. The other fields are those of `types.Dialogue`.
    """

    prompt: str
    expected: Any
    instance: Any
    system: str = ""
    turns: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()
    max_rounds: int = 1
    settings: dict[str, Any] = field(default_factory=dict)


Dialogues = tuple[tuple[Reply, ...], ...]
"""Several dialogues, each the replies of one model from first to last."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of question in three levels.

    `right` gives at least five differently dressed dialogues that must pass, `wrong` plausible ones that must not.
    `max_tokens` bounds a reply and `prompt_tokens` a prompt (upper estimate at three characters a token), by level.
    `count` canonical cases are drawn a level. `shown` is the reason why the answer may stand in the prompt (it is
    one of the listed names, the haystack holds it); empty: it must not. `hidden` draws inputs that no file holds, with
    their expected values, for a case that is marked by running.
    """

    name: str
    levels: dict[Level, Any]
    make: Callable[[Any, Draw], Draft]
    grading: Grading
    rederive: Callable[[Draft], Any]
    right: Callable[[Draft], Dialogues]
    wrong: Callable[[Draft], Dialogues]
    max_tokens: dict[Level, int]
    prompt_tokens: dict[Level, int]
    count: int = 2
    shown: str = ""
    hidden: Callable[[Draft, Draw], list[dict[str, Any]]] | None = None


def said(text: str, finish: Finish = "stop") -> Reply:
    """A reply of plain text, for `right` and `wrong`."""
    return Reply(text=text, finish=finish, usage=Usage(), timing=Timing(total_s=0.0))


def called(*calls: tuple[str, str], text: str = "") -> Reply:
    """A reply with tool calls, each a name and the JSON text of its arguments."""
    made = tuple(ToolCall(f"call_{number}", name, arguments) for number, (name, arguments) in enumerate(calls))
    return Reply(text=text, finish="tool_calls", tool_calls=made, usage=Usage(), timing=Timing(total_s=0.0))


def answer_dressings(value: Any) -> Iterator[Reply]:
    """The same short answer as different models write it."""
    yield said(f"ANSWER: {value}")
    yield said(f"First I set up the cases, then I counted them.\n\n**ANSWER: {value}**")
    yield said(f"A first guess would be ANSWER: 0 but that is wrong.\nAnswer: {value}.\n")
    yield said(f"Working it through:\r\n- step 1\r\n- step 2\r\n\r\n**Final answer:** `{value}`")
    yield said(f"<b>Result</b>\n\\[ x = 1 \\]\nANSWER: \\boxed{{{value}}}")


def code_dressings(source: str) -> Iterator[Reply]:
    """The same program as different models hand it over."""
    yield said(f"```python\n{source}```")
    yield said(f"Here is the function.\n\n```python\n{source}```\n\nIt runs in linear time.")
    yield said(f"```\n{source}```")
    yield said(f"For example:\n\n```python\nprint(1)\n```\n\nThe solution:\n\n```py\n{source}```")
    yield said(source)
