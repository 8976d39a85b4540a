"""Which jar stands at the asked place of the shelf?

Clues are drawn true of a hidden order until no other order is left, then every clue that is not needed goes. Harder
levels add jars, gaps and "either ... or" clues, which only fall to a case distinction. The answer is read off the
hidden order; it is derived again from the prompt's own sentences by trying every order, of which one must fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Draw, Family, answer_dressings, said
from crucibleforge.types import Grading

JARS = ("barley", "cloves", "dates", "fennel", "ginger", "lentils", "millet", "pepper", "raisins", "sesame")
NUMBERS = ("no", "one", "two", "three", "four")

Kind = Literal["left", "beside", "between", "inside", "either"]
Order = tuple[str, ...]


@dataclass(frozen=True)
class Params:
    """`puzzling` clues of the kind "either ... or" are offered before all others."""

    jars: int
    kinds: tuple[Kind, ...]
    puzzling: int = 0


@dataclass(frozen=True)
class Clue:
    """`first` is a gap or the place of `one`; `second` the place of `other` (from 1)."""

    kind: Kind
    one: str
    other: str = ""
    first: int = 0
    second: int = 0

    def fits(self, order: Order) -> bool:
        """True when the clue holds in this order."""
        at = order.index(self.one) + 1
        match self.kind:
            case "left":
                return at < order.index(self.other) + 1
            case "beside":
                return abs(at - order.index(self.other) - 1) == 1
            case "between":
                return abs(at - order.index(self.other) - 1) == self.first + 1
            case "inside":
                return 1 < at < len(order)
            case "either":
                return (at == self.first) != (order.index(self.other) + 1 == self.second)

    def text(self) -> str:
        """The clue as a sentence."""
        match self.kind:
            case "left":
                return f"The {self.one} jar stands somewhere to the left of the {self.other} jar."
            case "beside":
                return f"The {self.one} jar stands directly beside the {self.other} jar."
            case "between":
                jars = "jar stands" if self.first == 1 else "jars stand"
                return f"Exactly {NUMBERS[self.first]} {jars} between the {self.one} jar and the {self.other} jar."
            case "inside":
                return f"The {self.one} jar stands at neither end of the shelf."
            case "either":
                return (
                    f"Either the {self.one} jar stands at place {self.first}, "
                    f"or the {self.other} jar stands at place {self.second}, but not both."
                )


def make(params: Params, draw: Draw) -> Draft:
    """Draw a hidden order, a place to ask for and the clues that leave just this order."""
    hidden = tuple(draw.sample(JARS, params.jars))
    asked = draw.between(1, params.jars)
    clues = draw.shuffled(draw.until(lambda: _enough(params, hidden, asked, draw)))
    listed = sorted(hidden)
    lines = "\n".join(f"- {clue.text()}" for clue in clues)
    prompt = (
        f"A shelf holds {params.jars} jars in one row: {', '.join(listed)}. "
        f"Their places are numbered from 1 at the left end to {params.jars} at the right end.\n{lines}\n"
        f"Which jar stands at place {asked}? Answer with its name from the list.\n{ANSWER_LINE}"
    )
    return Draft(prompt=prompt, expected=hidden[asked - 1], instance=hidden, settings={"choices": listed})


def _enough(params: Params, hidden: Order, asked: int, draw: Draw) -> list[Clue] | None:
    """A smallest set of drawn clues that only the hidden order fits."""
    pool = [clue for clue in _candidates(params.kinds, hidden, asked) if clue.fits(hidden)]
    puzzling = draw.sample([clue for clue in pool if clue.kind == "either"], params.puzzling)
    plain = draw.shuffled([clue for clue in pool if clue.kind != "either"])
    orders = list(permutations(hidden))
    chosen: list[Clue] = []
    for clue in [*puzzling, *plain]:
        left = [order for order in orders if clue.fits(order)]
        if len(left) < len(orders):
            chosen, orders = [*chosen, clue], left
    if len(orders) > 1:
        return None
    for clue in reversed(chosen[:]):
        rest = [other for other in chosen if other != clue]
        if _is_unique(rest, hidden):
            chosen = rest
    return chosen if sum(clue.kind == "either" for clue in chosen) == params.puzzling else None


def _is_unique(clues: list[Clue], hidden: Order) -> bool:
    return sum(all(clue.fits(order) for clue in clues) for order in permutations(hidden)) == 1


def _candidates(kinds: tuple[Kind, ...], hidden: Order, asked: int) -> list[Clue]:
    names = sorted(hidden)
    pairs = [(one, other) for one in names for other in names if one != other]
    clues = [Clue(kind, one, other) for kind in kinds if kind in {"left", "beside"} for one, other in pairs]
    if "between" in kinds:
        clues += [Clue("between", one, other, gap) for one, other in pairs for gap in range(1, len(names) - 1)]
    if "inside" in kinds:
        clues += [Clue("inside", one) for one in names]
    if "either" in kinds:
        # The asked place is left out: naming it would hand over half of the answer.
        places = [place for place in range(1, len(names) + 1) if place != asked]
        clues += [Clue("either", one, other, i, j) for one, other in pairs for i in places for j in places if i != j]
    return clues


Test = Callable[[dict[str, int]], bool]
_SENTENCES: tuple[tuple[str, Callable[..., Test]], ...] = (
    (r"The (\w+) jar stands somewhere to the left of the (\w+) jar\.", lambda a, b: lambda at: at[a] < at[b]),
    (r"The (\w+) jar stands directly beside the (\w+) jar\.", lambda a, b: lambda at: at[a] - at[b] in {1, -1}),
    (
        r"Exactly (\w+) jars? stands? between the (\w+) jar and the (\w+) jar\.",
        lambda n, a, b: lambda at: len(range(min(at[a], at[b]) + 1, max(at[a], at[b]))) == NUMBERS.index(n),
    ),
    (r"The (\w+) jar stands at neither end of the shelf\.", lambda a: lambda at: at[a] not in {1, max(at.values())}),
    (
        r"Either the (\w+) jar stands at place (\d), or the (\w+) jar stands at place (\d), but not both\.",
        lambda a, i, b, j: lambda at: {at[a] == int(i), at[b] == int(j)} == {True, False},
    ),
)


def rederive(draft: Draft) -> str:
    """Read the clues from the prompt and try every order.

    Raises:
        ValueError: a sentence is unknown, or not exactly one order fits.
    """
    head, *sentences, question, _ = draft.prompt.split("\n")
    names: list[str] = re.findall(r"\w+", head.split(": ")[1].split(".")[0])
    tests = [_test(sentence.removeprefix("- ")) for sentence in sentences]
    asked = int(re.findall(r"at place (\d)\?", question)[0])
    fitting = []
    for places in permutations(range(1, len(names) + 1)):
        at = dict(zip(names, places, strict=True))
        if all(test(at) for test in tests):
            fitting.append(at)
    if len(fitting) != 1:
        raise ValueError(f"{len(fitting)} orders fit the clues")
    return next(name for name, place in fitting[0].items() if place == asked)


def _test(sentence: str) -> Test:
    for pattern, test in _SENTENCES:
        found = re.fullmatch(pattern, sentence)
        if found:
            made: Test = test(*found.groups())
            return made
    raise ValueError(f"unknown clue: {sentence}")


def right(draft: Draft) -> Dialogues:
    """The name in several dressings."""
    return tuple((reply,) for reply in answer_dressings(draft.expected))


def wrong(draft: Draft) -> Dialogues:
    """Every other jar, two jars at once, a jar that is not there, and no answer line."""
    others = [name for name in sorted(draft.instance) if name != draft.expected]
    return (
        *((said(f"ANSWER: {name}"),) for name in others),
        (said(f"ANSWER: {draft.expected} or {others[0]}"),),
        (said("ANSWER: honey"),),
        (said("Each of the jars could stand there."),),
    )


FAMILY = Family(
    name="reasoning/jar-shelf",
    levels={
        "easy": Params(4, ("left", "beside")),
        "medium": Params(5, ("left", "beside", "between", "inside")),
        "hard": Params(6, ("left", "between", "inside", "either"), puzzling=3),
    },
    make=make,
    grading=Grading("exact", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 300, "medium": 400, "hard": 500},
    prompt_tokens={"easy": 250, "medium": 320, "hard": 420},
    shown="the answer is one of the listed jars",
)
