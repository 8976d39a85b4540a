"""Fold runs of equal neighbours in a list of numbers by a drawn rule.

Easy is one pass; medium repeats it in rounds, where a pass must not see its own results; hard adds a remainder that
belongs to a round and so must not touch a list that never had one. The answers come from `groupby`; they are derived
again from the places where neighbours differ. The reference program is a third way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from typing import Any, Literal

from crucibleforge.families._kit import Dialogues, Draft, Draw, Family, code_dressings, said
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Params:
    """`rounds`: repeat until nothing folds; `remainder`: reduce after each round and report the number of rounds."""

    rounds: bool = False
    remainder: bool = False


@dataclass(frozen=True)
class Rule:
    """Runs of `shortest` or more become one number; `modulus` 0 means no remainder."""

    shortest: int
    becomes: Literal["sum", "length"]
    params: Params
    modulus: int


def make(params: Params, draw: Draw) -> Draft:
    """Draw a rule and the lists that tell it from its look-alikes."""
    becomes: Literal["sum", "length"] = draw.pick(("sum", "length"))
    rule = Rule(draw.between(2, 3), becomes, params, draw.between(5, 9) if params.remainder else 0)
    least = 2 if params.rounds else 1
    example = draw.until(partial(_folding, rule, draw, 8, least))
    drawn = [draw.until(partial(_folding, rule, draw, size, least)) for size in (12, 15, 20)]
    low, high = draw.between(-9, -2), draw.between(20, 40)
    edges: list[list[int]] = [
        [],
        [high],
        [low] * rule.shortest,
        [high] * (rule.shortest - 1) + [low],
        [low, high, 1, *[3] * (rule.shortest + 1)],
    ]
    return Draft(
        prompt=_prompt(rule, example),
        expected=_calls(rule, [*edges, *drawn]),
        instance=(rule, example),
        settings={"entry": "fold_runs", "reference": _source(rule)},
    )


def hidden(draft: Draft, draw: Draw) -> list[dict[str, Any]]:
    """Fresh lists, each as hard as the drawn ones of `make`."""
    rule: Rule = draft.instance[0]
    least = 2 if rule.params.rounds else 1
    lists = [draw.until(partial(_folding, rule, draw, draw.between(low, low + 3), least)) for low in (8, 12, 16, 20)]
    return _calls(rule, lists)


def _calls(rule: Rule, lists: list[list[int]]) -> list[dict[str, Any]]:
    return [{"args": [values], "returns": _fold(rule, values)} for values in lists]


def _folding(rule: Rule, draw: Draw, size: int, least: int) -> list[int] | None:
    """A list of few different numbers that takes at least so many rounds to fold."""
    values: list[int] = []
    while len(values) < size:
        values += [draw.between(-1, 4)] * draw.between(1, rule.shortest + 1)
    found = values[:size]
    return found if _rounds(rule, found)[1] >= least else None


def _fold(rule: Rule, values: list[int]) -> list[Any]:
    folded, rounds = _rounds(rule, values)
    return [folded, rounds] if rule.params.remainder else folded


def _rounds(rule: Rule, values: list[int]) -> tuple[list[int], int]:
    rounds = 0
    while True:
        runs = [list(run) for _, run in groupby(values)]
        if not any(len(run) >= rule.shortest for run in runs) or (rounds and not rule.params.rounds):
            return values, rounds
        number = sum if rule.becomes == "sum" else len
        values = [n for run in runs for n in ([number(run)] if len(run) >= rule.shortest else run)]
        if rule.modulus:
            values = [n % rule.modulus for n in values]
        rounds += 1


_RUNS = """\
Write a Python function `fold_runs(values)`. It takes a list of integers, which may be empty. A run is a stretch of \
equal neighbouring numbers that cannot be made longer on either side.
Replace every run of {shortest} or more numbers by one number: {becomes}. Keep all other numbers, and keep the order.
"""
_IN_ROUNDS = """\
Work in rounds, as long as the list has a run of {shortest} or more numbers. A round finds the runs in the list as it \
stands when the round starts, and replaces them all at once.
"""
_REMAINDER = """\
At the end of each round, replace every number in the list by its remainder modulo {modulus}, a number from 0 to \
{largest}. If no round is needed, the list stays as it is.
Return a list of two items: the final list and the number of rounds.
"""


def _prompt(rule: Rule, example: list[int]) -> str:
    parts = [_RUNS]
    if rule.params.rounds:
        parts.append(_IN_ROUNDS)
    parts.append(_REMAINDER if rule.params.remainder else "Return the final list.\n")
    task = "".join(parts).format(
        shortest=rule.shortest,
        becomes="the sum of its numbers" if rule.becomes == "sum" else "its length",
        modulus=rule.modulus,
        largest=rule.modulus - 1,
    )
    return (
        f"{task}Example: `fold_runs({example})` returns `{_fold(rule, example)}`.\n"
        "Reply with the function in one Python code block."
    )


def rederive(draft: Draft) -> list[dict[str, Any]]:
    """Cut each list where neighbours differ, and fold by the distances of the cuts."""
    rule: Rule = draft.instance[0]
    return [{"args": call["args"], "returns": _by_cuts(rule, call["args"][0])} for call in draft.expected]


def _by_cuts(rule: Rule, values: list[int]) -> list[Any]:
    rounds = 0
    more = True
    while more:
        cuts = [0, *(i for i in range(1, len(values)) if values[i] != values[i - 1]), len(values)]
        after: list[int] = []
        for start, end in pairwise(cuts):
            if end - start < rule.shortest:
                after += values[start:end]
            else:
                after.append((end - start) * (values[start] if rule.becomes == "sum" else 1))
        folded = len(after) < len(values)
        if folded:
            rounds += 1
            values = [number - number // rule.modulus * rule.modulus for number in after] if rule.modulus else after
        more = folded and rule.params.rounds
    return [values, rounds] if rule.params.remainder else values


_ONE_ROUND = """\
def one_round(values):
    result = []
    start = 0
    while start < len(values):
        end = start
        while end < len(values) and values[end] == values[start]:
            end += 1
        run = values[start:end]
        if len(run) >= SHORTEST:
            result.append(NUMBER(run))
        else:
            result.extend(run)
        start = end
    return result
"""
_ONCE = """

def fold_runs(values):
    return one_round(values)
"""
_ROUNDS = """

def fold_runs(values):
    values = list(values)
    rounds = 0
    while True:
        folded = one_round(values)
        if len(folded) == len(values):
            return values
        values = folded
        rounds += 1
"""


def _source(rule: Rule) -> str:
    body = _ROUNDS if rule.params.rounds else _ONCE
    if rule.params.remainder:
        body = body.replace("return values", "return [values, rounds]")
        body = body.replace("values = folded\n", f"values = [n % {rule.modulus} for n in folded]\n")
    number = "sum" if rule.becomes == "sum" else "len"
    return _ONE_ROUND.replace("SHORTEST", str(rule.shortest)).replace("NUMBER", number) + body


def right(draft: Draft) -> Dialogues:
    """The reference program in several dressings."""
    return tuple((reply,) for reply in code_dressings(_source(draft.instance[0])))


def wrong(draft: Draft) -> Dialogues:
    """Off by one, the last run lost, the other number, print for return, the example by heart, half of the rule."""
    rule, example = draft.instance
    source = _source(rule)
    number, other = ("sum", "len") if rule.becomes == "sum" else ("len", "sum")
    programs = [
        source.replace(f">= {rule.shortest}", f"> {rule.shortest}"),
        source.replace(
            "        start = end\n", "        start = end\n        if end == len(values) - 1:\n            break\n"
        ),
        source.replace(f"{number}(run))", f"{other}(run))"),
        f"{source}\n\nsolved = fold_runs\n\n\ndef fold_runs(values):\n    print(solved(values))\n",
        f"def fold_runs(values):\n    return {_fold(rule, example)}\n",
    ]
    if rule.params.rounds:
        programs.append(source.replace("        rounds += 1\n", "        rounds += 1\n        RETURN\n"))
        result = "return [values, rounds]" if rule.params.remainder else "return values"
        programs[-1] = programs[-1].replace("RETURN", result)
    if rule.params.remainder:
        programs.append(
            source.replace("    values = list(values)\n", f"    values = [n % {rule.modulus} for n in values]\n")
        )
    return tuple((said(f"```python\n{program}```"),) for program in programs)


FAMILY = Family(
    name="coding/fold-runs",
    levels={"easy": Params(), "medium": Params(rounds=True), "hard": Params(rounds=True, remainder=True)},
    make=make,
    grading=Grading("program", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 400, "medium": 500, "hard": 700},
    prompt_tokens={"easy": 260, "medium": 380, "hard": 480},
    hidden=hidden,
)
