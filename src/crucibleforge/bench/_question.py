"""What the eight checks are made of: a check, a question that answers one or several of them, what came of it.

Each kind of question has a module of its own with `pose` (draw a case), `right` (a reply that must pass) and a grader
for every check; a check is marked as a case of the suite is, by `graders`.
"""

from __future__ import annotations

from math import ceil
from typing import Any, Literal

from msgspec import Struct

from crucibleforge.chat import Dialogue, Message
from crucibleforge.families._build import CHARS_PER_TOKEN
from crucibleforge.types import Case, Element, Finding, Grading, Needs, Outcome

MAX_TEXT = 100_000
"""Characters of a reply that prose is looked for in; none of the questions asks for a hundredth of it."""

Kind = Literal["ability", "fitness"]


class Check(Struct, frozen=True):
    """One line of the screen."""

    key: str
    kind: Kind
    title: str


class Question(Struct, frozen=True):
    """What is asked for one or several checks; `case.expected` is what marking needs and is never sent."""

    checks: tuple[Check, ...]
    case: Case

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent."""
        return self.case.dialogue.messages

    @property
    def max_tokens(self) -> int:
        """The budget of a model that does not reason before it answers."""
        return self.case.dialogue.max_tokens


class Judged(Struct, frozen=True, omit_defaults=True):
    """What came of one check.

    `why` is one line that explains every outcome, a pass too. `score` in [0, 1] is the share that was right, and only
    `pass` counts. `isolation` is the level under which code ran, "" if none did. `figure` is the length of the reply
    over that of the request, of the check `brevity` alone.
    """

    key: str
    outcome: Outcome
    score: float
    why: str
    elements: tuple[Element, ...] = ()
    isolation: str = ""
    figure: float | None = None


def posed(name: str, prompt: str, max_tokens: int, expected: Any, grading: Grading) -> Case:
    """A case of one message. It has no place in the suite, so it needs no hash."""
    return Case(
        id=f"bench/{name}/L1.1",
        hash="",
        dialogue=Dialogue((Message("user", prompt),), max_tokens),
        expected=expected,
        grading=grading,
        needs=Needs(ceil(len(prompt) / CHARS_PER_TOKEN) + max_tokens, sandbox=grading.grader == "program"),
    )


def explained(finding: Finding, praise: str) -> Finding:
    """The finding with words for a pass, and with nothing between pass and fail: a check counts or does not."""
    match finding.outcome:
        case "pass":
            return Finding("pass", 1.0, praise, finding.elements)
        case "partial":
            right = sum(element.passed for element in finding.elements)
            why = f"{right} of {len(finding.elements)} right; {finding.why}"
            return Finding("fail", finding.score, why, finding.elements)
        case _:
            return finding
