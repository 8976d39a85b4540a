"""Right answers and near misses of every kind, each in every dress: value, wrapper, leaked thought, what follows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from crucibleforge.chat import Dialogue
from crucibleforge.families._dress import said
from crucibleforge.graders import exact, numeric
from crucibleforge.types import Case, Finding, Grading, Needs


@dataclass(frozen=True)
class Kind:
    """A case, and ways to write its answer (`right`) and what is nearly it (`near`)."""

    grader: str
    expected: object
    settings: dict
    right: tuple[str, ...]
    near: tuple[str, ...]

    def case(self) -> Case:
        return Case(
            id="math/x/L1.1",
            hash="0",
            dialogue=Dialogue((), 10),
            expected=self.expected,
            grading=Grading(self.grader, self.settings),
            needs=Needs(100),
        )


def _numbers() -> Iterator[Kind]:
    draw = random.Random("dressed")
    for sign, digits in product(("", "-"), (2, 3, 4, 5, 7, 10)):
        size = draw.randrange(10 ** (digits - 1) + 1, 10**digits - 1)
        value = -size if sign else size
        right = [
            f"{value}",
            f"{value}.0",
            f"{value:,}",
            f"{value:_}",
            f"{value:,}".replace(",", " "),
            f"{value:,}".replace(",", "{,}"),
        ]
        right += [
            f"{2 * value}/2",
            f"\\frac{{{2 * value}}}{{2}}",
            f"x = {value}",
            f"{value} (checked)",
            f"{value}e0",
            f"\\text{{{value}}}",
        ]
        right += [
            f"{value} crates",
            f"\u2212{size}" if sign else f"+{size}",
            f"- {size}" if sign else f"exactly {size}",
        ]
        near = [
            f"{value + 1}",
            f"{value - 1}",
            f"{-value}",
            f"{value}0",
            f"{value}.5",
            f"{value} or {value + 1}",
            f"{value}, {value + 1}",
        ]
        near += [
            f"between {value - 1} and {value}",
            f"not {value}",
            f"{value} \u00b1 1",
            f"{value}{value}",
            f"{value}/2",
            f"{value}e1",
        ]
        near += [
            f"{value}%",
            f"{value} barrels",
            f"1{size}",
            f"{value} (or {value + 1})",
            f"{value} = {value + 1}",
            f"{value}-{value + 1}",
        ]
        yield Kind("numeric", value, {"units": ["crate"]}, tuple(right), tuple(near))
    yield Kind(
        "numeric",
        "7/4",
        {},
        (
            "7/4",
            "1.75",
            "1,75",
            "14/8",
            "1 3/4",
            "1\u00be",
            "\\frac{7}{4}",
            "\\dfrac{14}{8}",
            "1\\frac{3}{4}",
            "7 / 4",
            "+1.75",
            "y = 7/4",
        ),
        ("4/7", "-7/4", "1.7", "175", "1 4/3", "3/4", "7", "7/4 or 4/7", "7:4", "1.749999", "17/4", "7/40"),
    )


def _closed() -> Iterator[Kind]:
    options = {"A": "The pump starts", "B": "The lamp dims", "C": "The valve closes", "D": "Nothing happens"}
    names = ["Tove", "Pim", "Ana", "Ole"]
    yield Kind(
        "exact",
        "C",
        {"kind": "choice", "options": options},
        (
            "C",
            "c",
            "(C)",
            "C)",
            "[C]",
            "option C",
            "C. The valve closes",
            "C: The valve closes",
            "The valve closes",
            "the valve closes",
        ),
        (
            "B",
            "D",
            "C or D",
            "C and D",
            "not C",
            "CD",
            "C. The pump starts",
            "E",
            "Cannot be determined",
            "valve",
            "C/D",
            "A",
        ),
    )
    yield Kind(
        "exact",
        "Tove",
        {"choices": names, "unknown": True},
        ("Tove", "TOVE", "It was Tove", "Tove (seat 3)", "it is tove", "Tove, in seat 3", "The answer is Tove"),
        (
            "Pim",
            "Tove or Pim",
            "not Tove",
            "Toverton",
            "Tove and Ana",
            "Tov",
            "anyone but Tove",
            "Tove's brother",
            "unknown",
            "all of them",
        ),
    )
    yield Kind(
        "exact",
        "unknown",
        {"kind": "yes_no"},
        (
            "unknown",
            "Unknown",
            "cannot be determined",
            "It cannot be determined",
            "undetermined",
            "not enough information",
            "not stated",
        ),
        (
            "yes",
            "no",
            "true",
            "not unknown",
            "unknown or yes",
            "maybe",
            "nothing",
            "I do not know",
            "none",
            "cannot",
            "no idea",
            "yes and no",
        ),
    )
    for name, expected, other in (("yes", "yes", "no"), ("no", "no", "yes")):
        right = {
            "yes": ("Yes", "true", "It is true", "YES", "correct"),
            "no": ("No", "false", "It is false", "NO", "incorrect"),
        }[name]
        near = (
            other,
            "unknown",
            "yes or no",
            f"{name} or unknown",
            f"not {name}",
            f"{name} unless it rains",
            "perhaps",
            "cannot be determined",
        )
        yield Kind("exact", expected, {"kind": "yes_no"}, right, near)


def _rows() -> Iterator[Kind]:
    for row in ((3, 1, 2), (12, 5, 40, 7), (-4, 0, 19)):
        text = [str(value) for value in row]
        first, second, *rest = text
        swapped = [second, first, *rest]
        ways = (
            ", ".join,
            " ".join,
            " -> ".join,
            "; ".join,
            ",".join,
            " | ".join,
            " \u2192 ".join,
            lambda words: f"[{', '.join(words)}]",
        )
        ways += (lambda words: f"({', '.join(words)})", lambda words: f"{', '.join(words[:-1])} and {words[-1]}")
        right = tuple(way(text) for way in ways)
        near = tuple(
            way(wrong) for way in ways[:5] for wrong in (swapped, text[:-1], [*text, text[-1]], [*text[:-1], "77"])
        )
        near += (
            f"{', '.join(text)} or {', '.join(swapped)}",
            "".join(text),
            f"not {', '.join(text)}",
            f"{', '.join(text)}, ...",
        )
        yield Kind("exact", list(row), {"kind": "list"}, right, near)
        yield Kind("exact", list(row[::-1]), {"kind": "list", "ordered": False}, right, near[1::4][:5] + near[-4:])
    names = ["Tove", "Red Cup", "Ana", "Ole"]
    yield Kind(
        "exact",
        ["Ana", "Red Cup", "Ole"],
        {"kind": "list", "choices": names},
        (
            "Ana, Red Cup, Ole",
            "Ana -> Red Cup -> Ole",
            "[Ana, Red Cup, Ole]",
            "ana red cup ole",
            "Ana, Red Cup and Ole",
            "Ana; Red Cup; Ole",
        ),
        (
            "Ana, Ole, Red Cup",
            "Ana, Red Cup",
            "Ana, Red Cup, Ole, Tove",
            "Ana, Red Cup, Ole, Ole",
            "Ana, Cup, Ole",
            "Anna, Red Cup, Ole",
            "not Ana, Red Cup, Ole",
            "Ana or Red Cup, Ole",
            "nobody",
        ),
    )
    yield Kind(
        "exact",
        {"Ada": "red", "Bo": "blue", "Cem": "green"},
        {"kind": "grid", "choices": ["red", "blue", "green"]},
        (
            "Ada: red, Bo: blue, Cem: green",
            "Ada = red; Bo = blue; Cem = green",
            "Bo: blue, Cem: green, Ada: red",
            "Ada -> red, Bo -> blue, Cem -> green",
            "ada: RED, bo: BLUE, cem: GREEN",
            "Ada is red, Bo is blue, Cem is green",
            '{"Ada": "red", "Bo": "blue", "Cem": "green"}',
        ),
        (
            "Ada: blue, Bo: red, Cem: green",
            "Ada: red, Bo: blue",
            "red, blue, green",
            "Ada: red or blue, Bo: blue, Cem: green",
            "Ada: not red, Bo: blue, Cem: green",
            "Ada: red, Bo: blue, Cem: green, Ada: blue",
            "Ada: red, Bo: blue, Cem: greenish",
        ),
    )


KINDS = (*_numbers(), *_closed(), *_rows())

WRAPPERS = (
    "ANSWER: {}",
    "answer: {}.",
    "**Answer:** {}",
    "**Answer: {}**",
    "### Final Answer: `{}`",
    "Final answer:\n\n{}",
    "Answer:\n```\n{}\n```",
    "## Answer\n\n{}",
    "**Final Answer**\n{}",
    "Answer\uff1a{}",
    "ANSWER: <{}>",
    "> The correct answer is: {}",
    "<answer>{}</answer>",
    "So that is all. Answer: {}",
    "ANSWER: $\\boxed{{{}}}$",
    "\\[ \\boxed{{{}}} \\]",
    "\\boxed{{\\text{{{}}}}}",
    "ANSWER: 77\nNo, I dropped a case.\nANSWER: {}",
    "The final answer is {}",
    "I first thought of 77.\n\n- ANSWER: *{}*",
)
LEAKS = (
    "",
    "Working...\n",
    "<think>ANSWER: 77</think>\n",
    "ANSWER: 77\n</think>\n\n",
    "<|channel|>analysis<|message|>ANSWER: 77<|end|><|start|>assistant<|channel|>final<|message|>",
    "Adding 70 and 7 gives **77** at first. Is the answer 77?\n",
    "```python\nprint(77)\n```\n",
)
TRAILS = (
    "",
    "\n",
    "\r\n\r\n",
    "\n\nI also looked at 77.",
    "\n\nLet me know if you want the proof!",
    "<|im_end|>",
    "\n</s>",
)
"""What follows on a line of its own does not matter; in one line with an answer it would be part of it."""


def replies(values: tuple[str, ...]) -> Iterator[str]:
    """Every value in every dress."""
    for value, wrapper, leak, trail in product(values, WRAPPERS, LEAKS, TRAILS):
        yield f"{leak}{wrapper.format(value)}{trail}"


def marked(kind: Kind, text: str, case: Case | None = None) -> Finding:
    return (numeric if kind.grader == "numeric" else exact).find(case or kind.case(), (said(text),))
