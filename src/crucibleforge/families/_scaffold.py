"""The text of a new family's file: every part is there, and says what is still to be written when it is called."""

from __future__ import annotations

_TEXT = '''\
"""One line: what is asked.

Which mistakes it is to find, and how the answer is found twice: by what, and again by what other method.
"""

from __future__ import annotations

from dataclasses import dataclass

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.types import RUNGS, Grading


@dataclass(frozen=True)
class Params:
    """What makes a rung harder."""

    size: int


@dataclass(frozen=True)
class Instance:
    """All that a prompt is made of: plain numbers, texts and tuples."""

    values: tuple[int, ...]


def generate(params: Params, draw: Draw) -> Instance:
    """Draw an instance; nothing but `draw` may decide."""
    raise NotImplementedError("draw an Instance")


def solve(instance: Instance) -> int:
    """The answer."""
    raise NotImplementedError("find the answer")


def verify(instance: Instance) -> int:
    """The answer again, by another method that calls nothing that `solve` calls."""
    raise NotImplementedError("find the answer by another method")


def ask(instance: Instance) -> Draft:
    """The instance in words: complete, short, every boundary case said."""
    prompt = "..."
    return Draft(prompt=f"{prompt}\\n{ANSWER_LINE}")


def right(item: Item) -> Dialogues:
    """Replies that must pass, at least twelve."""
    return answers(item.answer)


def near_misses(item: Item) -> Dialogues:
    """The mistakes that models make here, at least eight and none of them right."""
    return alone(*(f"ANSWER: {item.answer + off}" for off in (1, -1)))


def shortcuts(item: Item) -> Dialogues:
    """What a model says that did not think: a number of the prompt, the first option; always as many, in one order."""
    return alone("ANSWER: 2")


def effort(instance: Instance) -> float:
    """What the instance costs a solver; it must not fall from rung to rung."""
    return len(instance.values)


FAMILY = Family(
    name="@CATEGORY@/@NAME@",
    rungs={"L1": Params(2), "L2": Params(4), "L3": Params(8), "L4": Params(12), "L5": Params(16)},
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("numeric", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens=dict.fromkeys(RUNGS, 1024),
    prompt_tokens=dict.fromkeys(RUNGS, 400),
)
'''


def scaffold(category: str, name: str) -> str:
    """The file of the family `category/name`."""
    return _TEXT.replace("@CATEGORY@", category).replace("@NAME@", name)
