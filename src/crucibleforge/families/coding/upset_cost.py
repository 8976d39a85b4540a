"""What all the drops of a ranking cost together, soon enough for a long one.

Counting inversions is known by heart, and `insort` at the speed of C counts them in time. So a pair costs a product of
something of either element (a square, weights, a distance), which needs sums over all larger elements. The hard rungs
cap the drop, bound the distance and leave out pairs of a team.

`solve` runs our own solution, a tree of partial sums; `verify` looks at all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import programs
from crucibleforge.families._kit import Dialogues, Draft, Family, Item
from crucibleforge.families.coding import _upset_programs as texts
from crucibleforge.families.coding._sources import changed, fenced, kept, loaded, mutants
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Params:
    """`features` are of "most", "tie", "reach", "teams", "modulus", and `charges` what an upset may cost.

    Values are at most `span` from nought; `longest` is the length of a list, and `is_large` makes it a matter of time.
    """

    charges: tuple[str, ...]
    features: tuple[str, ...]
    span: int
    longest: int
    is_large: bool = False


@dataclass(frozen=True)
class Rule:
    """What costs how much; `most`, `tie` and `modulus` count where the feature of that name is on."""

    params: Params
    entry: str
    charge: str
    margin: int
    most: int
    tie: int
    modulus: int

    @property
    def features(self) -> tuple[str, ...]:
        """All that tells this program from the plainest one."""
        return (*self.params.features, self.charge)

    @property
    def names(self) -> list[str]:
        """The parameters of the function."""
        optional = {"weights": "weight", "teams": "teams", "reach": "reach"}
        return ["values", *(name for name, feature in optional.items() if feature in self.features)]


@dataclass(frozen=True)
class Task:
    """The rule, the arguments of the example, and those of the stored tests."""

    rule: Rule
    example: tuple[Any, ...]
    tests: tuple[tuple[Any, ...], ...]


_FIRST = ("upset", "regret", "slip", "drop", "slide", "fall", "setback", "reversal", "decline", "sinking")
_LAST = ("cost", "bill", "toll", "charge", "total", "price", "sum", "levy", "due", "fee")
_TEAMS = 4
_HEAVIEST = 50


def generate(params: Params, draw: Draw) -> Task:
    """A rule, an example that every part of it matters to, and lists on which its look-alikes differ."""
    rule = Rule(
        params=params,
        entry=f"{draw.pick(_FIRST)}_{draw.pick(_LAST)}",
        charge=draw.pick(params.charges),
        margin=draw.between(2, params.span // 10),
        most=draw.between(params.span // 8, params.span // 3),
        tie=draw.between(2, 9),
        modulus=draw.between(10**6, 10**7),
    )
    example = draw.until(lambda: _telling(rule, _arguments(rule, draw, 7, 3)))
    return Task(
        rule, example, (*_edges(rule, draw), *(_arguments(rule, draw, size, size // 3) for size in (9, 14, 24)))
    )


def _arguments(rule: Rule, draw: Draw, size: int, reach: int) -> tuple[Any, ...]:
    """A list of values near each other and far apart, and what goes with it."""
    margin, span = rule.margin, rule.params.span
    near = [draw.between(-span // 4, span // 4) for _ in range(3)]
    values = []
    for _ in range(size):
        value = draw.pick(near) + draw.pick((0, 0, 1, margin - 1, margin, -margin))
        values.append(value if draw.chance(2, 3) else draw.between(-span, span))
    return _with(rule, draw, [max(-span, min(span, value)) for value in values], reach)


def _with(rule: Rule, draw: Draw, values: list[int], reach: int) -> tuple[Any, ...]:
    others: dict[str, Any] = {
        "weights": [draw.between(1, _HEAVIEST) for _ in values],
        "teams": [draw.between(1, _TEAMS) for _ in values],
        "reach": reach,
    }
    return (values, *(others[name] for name in rule.names[1:]))


def _telling(rule: Rule, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments, if leaving out any part of the rule gives another value and no modulus hides them."""
    given = _named(rule, arguments)
    cost = _by_pairs(rule, given)
    plainer = [replace(rule, margin=1)]
    plainer += [
        replace(rule, params=replace(rule.params, features=tuple(one for one in rule.params.features if one != left)))
        for left in ("most", "tie", "reach", "teams")
        if left in rule.features
    ]
    return arguments if cost and cost not in [_by_pairs(other, given) for other in plainer] else None


def _named(rule: Rule, arguments: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(rule.names, arguments, strict=True))


def _edges(rule: Rule, draw: Draw) -> list[tuple[Any, ...]]:
    """Nothing, one, all alike, sorted both ways, the extremes, differences at the bounds, reaches at the ends."""
    span, margin, most = rule.params.span, rule.margin, rule.most
    start = draw.between(-span // 9, span // 9)
    steps = [-span + span * step // 3 + draw.below(span // 4) for step in range(5)]
    lists = [
        ([], 3),
        ([start], 0),
        ([start] * 5, 5),
        (steps, 4),
        (steps[::-1], 5),
        ([span, -span, span, -span], 1),
        ([start, start - margin, start, start - margin + 1, start - margin - 1], 2),
        ([start, start - most, start + 1, start - most - 1, start - most], 1),
        ([*steps[::-1], *steps[::-1]], 0),
        ([*steps[::-1], *steps], 9),
    ]
    bounded = [([max(-span, value) for value in values], reach) for values, reach in lists]
    return [_with(rule, draw, values, reach) for values, reach in bounded]


def solve(task: Task) -> list[dict[str, Any]]:
    """Run our own solution."""
    function = loaded(_reference(task.rule), task.rule.entry)
    return [{"args": list(arguments), "returns": function(*arguments)} for arguments in task.tests]


def verify(task: Task) -> list[dict[str, Any]]:
    """Look at all pairs."""
    return [
        {"args": list(arguments), "returns": _by_pairs(task.rule, _named(task.rule, arguments))}
        for arguments in task.tests
    ]


def _by_pairs(rule: Rule, given: dict[str, Any]) -> int:
    values = given["values"]
    total = 0
    for i, high in enumerate(values):
        for j in range(i + 1, len(values)):
            if "reach" in rule.features and j - i > given["reach"]:
                break
            drop = high - values[j]
            if "tie" in rule.features and drop == 0:
                total += rule.tie
            if drop < rule.margin or ("teams" in rule.features and given["teams"][i] == given["teams"][j]):
                continue
            if "most" in rule.features and drop > rule.most:
                drop = rule.most
            weights = given.get("weights", [1] * len(values))
            factors = {"drop": 1, "square": drop, "weight": weights[i] * weights[j], "distance": j - i}
            total += drop * factors[rule.charge]
    return total % rule.modulus if "modulus" in rule.features else total


_CHARGED = {
    "drop": "costs its drop",
    "square": "costs the square of its drop",
    "weight": "costs its drop times `weights[i]` times `weights[j]`",
    "distance": "costs its drop times `j - i`",
}


def ask(task: Task) -> Draft:
    """The rule in words, with its bounds and one example."""
    rule = task.rule
    call = f"{rule.entry}({', '.join(map(repr, task.example))})"
    lines = [
        f"Write a Python function `{rule.entry}({', '.join(rule.names)})`.",
        "",
        "`values` is a list of integers: a ranking, first place first.",
        *_arguments_in_words(rule),
        "",
        *_rule_in_words(rule),
        "",
        (
            f"Bounds: `values` has 0 to {rule.params.longest:,} entries, each from -{rule.params.span:,} to "
            f"{rule.params.span:,}{_further_bounds(rule)}."
        ),
    ]
    if rule.params.is_large:
        lines.append(
            "The function has to be quick: the time limit is a multiple of what our own solution takes on the same "
            f"input, and O(n^2) will not do for lists of {rule.params.longest:,} entries."
        )
    lines += [
        "",
        f"Example: `{call}` returns `{_by_pairs(rule, _named(rule, task.example))}`.",
        "",
        "Use the standard library only; helper functions are fine. Reply with the code in one Python code block.",
    ]
    settings = {"entry": rule.entry, "reference": _reference(rule)}
    return Draft(prompt="\n".join(lines), settings=settings)


def _arguments_in_words(rule: Rule) -> list[str]:
    words = {
        "weights": "`weights` is a list of positive integers, one for each entry of `values`.",
        "teams": "`teams` is a list of integers, one for each entry of `values`: the team that stands there.",
        "reach": "`reach` is an integer, 0 or more.",
    }
    return [words[name] for name in rule.names[1:]]


def _rule_in_words(rule: Rule) -> list[str]:
    within = " and `j - i <= reach`" if "reach" in rule.features else ""
    apart = " and `teams[i] != teams[j]`" if "teams" in rule.features else ""
    lines = [
        f"An upset is a pair of positions `i < j` with `values[i] - values[j] >= {rule.margin}`{within}{apart}. "
        "Its drop is `values[i] - values[j]`"
        + (f", or {rule.most} if that is less." if "most" in rule.features else ".")
    ]
    lines.append(f"An upset {_CHARGED[rule.charge]}.")
    if "tie" in rule.features:
        lines.append(
            f"A pair of positions `i < j`{within} with `values[i] == values[j]` is no upset but costs {rule.tie}."
        )
    of_all = "all upsets and equal pairs" if "tie" in rule.features else "all upsets"
    modulus = f", modulo {rule.modulus}" if "modulus" in rule.features else ""
    lines.append(f"Return the sum of the costs of {of_all}{modulus}; it is 0 if there are none.")
    return lines


def _further_bounds(rule: Rule) -> str:
    bounds = {"weights": f"weights are at most {_HEAVIEST}", "reach": f"`reach` is at most {rule.params.longest:,}"}
    bounds["teams"] = f"teams are from 1 to {_TEAMS}"
    return "".join(f"; {bounds[name]}" for name in rule.names[1:])


def _reference(rule: Rule) -> str:
    return _tree(rule, texts.REFERENCE)


def _tree(rule: Rule, text: str) -> str:
    moments, names, cost, capped = texts.MOMENTS[rule.charge]
    more = "".join(f", {name}" for name in ("weights", "reach") if name in rule.names)
    parts = {"moments": moments, "names": names, "cost": cost, "capped": capped, "more": more}
    return _filled(kept(text, rule.features), rule, **parts, kinds=str(len(names.split(","))))


def _double_loop(rule: Rule) -> str:
    charges = {"drop": "drop", "square": "drop * drop", "distance": "drop * (j - i)"}
    charge = charges.get(rule.charge, "drop * weights[i] * weights[j]")
    start = "max(0, j - reach)" if "reach" in rule.names else "0"
    return _filled(kept(texts.DOUBLE_LOOP, rule.features), rule, charge=charge, start=start)


def _filled(text: str, rule: Rule, **parts: str) -> str:
    fixed = {"entry": rule.entry, "parameters": ", ".join(rule.names), "margin": str(rule.margin)}
    fixed |= {"most": str(rule.most), "tie": str(rule.tie), "modulus": str(rule.modulus)}
    for name, part in (fixed | parts).items():
        text = text.replace(f"<{name}>", part)
    return text


def right(item: Item) -> Dialogues:
    """Our own solution, and where time is no matter the plain one."""
    rule = item.instance.rule
    return programs(_reference(rule)) + (() if rule.params.is_large else fenced(_double_loop(rule)))


def near_misses(item: Item) -> Dialogues:
    """Bounds off by one, parts of the rule left out, pairs the wrong way round, another result than was asked for."""
    rule = item.instance.rule
    plain = _double_loop(rule)
    adding = next(line for line in plain.splitlines() if line.startswith(" " * 16 + "total += ")).strip()
    wrong = [
        (f"drop >= {rule.margin}", f"drop > {rule.margin}"),
        (f"drop >= {rule.margin}", "drop > 0"),
        (f"drop >= {rule.margin}", f"abs(drop) >= {rule.margin}"),
        ("values[i] - values[j]", "values[j] - values[i]"),
        (adding, "total += 1"),
        ("total = 0", "total = values[0] * 0"),
        ("range(len(values))", "range(len(values) - 1)"),
        ("return total", "print(total)\n    return None and total"),
        ("            drop = ", "            if j - i != 1:\n                continue\n            drop = "),
    ]
    if rule.charge != "drop":
        wrong.append((adding, "total += drop"))
    if "most" in rule.features:
        wrong.append((f"drop = min(drop, {rule.most})", "pass"))
    if "reach" in rule.names:
        wrong += [("j - reach)", "j - reach + 1)"), ("j - reach)", "j - 2 * reach)")]
    if "teams" in rule.names:
        wrong.append(("teams[i] == teams[j]", "False"))
    if "modulus" in rule.features:
        wrong.append((f" % {rule.modulus}", ""))
    return fenced(*(changed(plain, swap) for swap in wrong))


def shortcuts(item: Item) -> Dialogues:
    """A constant, and the value of the example."""
    rule = item.instance.rule
    return fenced(
        *(
            f"def {rule.entry}({', '.join(rule.names)}):\n    return {value}\n"
            for value in ("0", str(_by_pairs(rule, _named(rule, item.instance.example))))
        )
    )


def hidden(task: Task, draw: Draw) -> list[dict[str, Any]]:
    """Short lists, and where time matters two long ones."""
    rule = task.rule
    inputs = [(0, _arguments(rule, draw, draw.between(12, 60), draw.between(0, 30))) for _ in range(12)]
    if rule.params.is_large:
        for size in (rule.params.longest // 4, rule.params.longest):
            values = [draw.between(-rule.params.span, rule.params.span) for _ in range(size)]
            inputs.append((size, _with(rule, draw, values, size - size // 8)))
    function = loaded(_reference(rule), rule.entry)
    return [
        {"args": list(arguments), "returns": function(*arguments)} | ({"size": size} if size else {})
        for size, arguments in inputs
    ]


def slow(item: Item) -> tuple[str, ...]:
    """All pairs; and a sorted list with sums of slices, which is quadratic at the speed of C."""
    rule = item.instance.rule
    if not rule.params.is_large:
        return ()
    head, _, rest = texts.REFERENCE.partition("class Sums:")
    tail = rest.partition("def total_cost")[2]
    return _double_loop(rule), _tree(rule, f"{head}{texts.SLICED_SUMS}def total_cost{tail}")


def effort(task: Task) -> float:
    """Parts of the rule to get right at once; time counts as three."""
    params = task.rule.params
    return 1 + len(params.features) + (task.rule.charge != "drop") + 3 * params.is_large


_PRODUCTS = ("square", "weight", "distance")

FAMILY = Family(
    name="coding/upset-cost",
    rungs={
        "L1": Params(("drop",), (), 100, 200),
        "L2": Params(("drop",), ("most", "tie", "reach"), 100, 500),
        "L3": Params(_PRODUCTS, ("modulus",), 1_000_000, 60_000, is_large=True),
        "L4": Params(_PRODUCTS, ("most", "reach", "modulus"), 1_000_000, 70_000, is_large=True),
        "L5": Params(_PRODUCTS, ("most", "reach", "teams", "modulus"), 1_000_000, 60_000, is_large=True),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("program", {}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    max_tokens={"L1": 1024, "L2": 1024, "L3": 3072, "L4": 4096, "L5": 4096},
    prompt_tokens={"L1": 300, "L2": 450, "L3": 500, "L4": 600, "L5": 700},
    fingerprint=lambda task: [task.rule, task.example],
    shared=("Rule.names", "Rule.features", "_named"),
    mutants=mutants,
    hidden=hidden,
    slow=slow,
    cost=5,
)
