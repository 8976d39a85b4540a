"""The eight checks of `bench-llm`: five of ability, and three of fitness as an agent that one reply answers.

All that can be learnt by heart is drawn anew from the seed of a run, and the seed gives it back. Marking is that of
the suite; a reply that a token limit cut never passes, as a wrong guess at its end would count for the model.
"""

from __future__ import annotations

from collections.abc import Callable

from crucibleforge.bench import _evens, _facts, _median, _pets, _shape, fitness
from crucibleforge.bench._question import Check, Judged, Question
from crucibleforge.chat import Reply
from crucibleforge.families._draw import Draw
from crucibleforge.graders import Grader
from crucibleforge.graders._mark import decide, explained
from crucibleforge.graders._said import text_of
from crucibleforge.programs import Program, Ran
from crucibleforge.types import Case, Finding

__all__ = ["ABILITY", "CHECKS", "FITNESS", "Check", "Judged", "Question", "judge", "questions", "right"]

ABILITY = (
    Check("median", "ability", "Code Generation (median_of_list)"),
    Check("pets", "ability", "Logic Puzzle (Pet Ownership)"),
    Check("shape", "ability", "JSON Compliance"),
    Check("evens", "ability", "Instruction Following"),
    Check("facts", "ability", "Summarization (Key Facts)"),
)
FITNESS = (
    Check("outline", "fitness", "Task Acknowledgment"),
    Check("structure", "fitness", "Format Adherence"),
    Check("brevity", "fitness", "Conciseness"),
)
CHECKS = (*ABILITY, *FITNESS)
"""In the order of the screen."""

_POSE: dict[str, Callable[[Draw], Case]] = {
    "median": _median.pose,
    "pets": _pets.pose,
    "shape": _shape.pose,
    "evens": _evens.pose,
    "facts": _facts.pose,
}
_RIGHT: dict[str, Callable[[Case], str]] = {
    "median": _median.right,
    "pets": _pets.right,
    "shape": _shape.right,
    "evens": _evens.right,
    "facts": _facts.right,
}
_GRADERS: dict[str, Grader] = {
    "median": _median.GRADER,
    "pets": _pets.GRADER,
    "shape": _shape.GRADER,
    "evens": _evens.GRADER,
    "facts": _facts.GRADER,
    "outline": fitness.OUTLINE,
    "structure": fitness.STRUCTURE,
    "brevity": fitness.BREVITY,
}


def questions(seed: str) -> tuple[Question, ...]:
    """The six questions of a run, in the order of the screen; the same seed gives the same ones.

    Args:
        seed: Hex digits that nobody can know before the run (`suite.hidden.new_seed`).
    """
    ability = (Question((check,), _POSE[check.key](_draw(seed, check.key))) for check in ABILITY)
    return (*ability, Question(FITNESS, fitness.pose(_draw(seed, "syslog"))))


def judge(question: Question, reply: Reply, run: Callable[[Program], Ran]) -> tuple[Judged, ...]:
    """What came of each check of a question.

    Args:
        question: One of `questions`.
        reply: One reply of unknown content; any gets a verdict.
        run: Runs a program in a sandbox; what it raises is passed on. Only `median` calls it.
    """
    return tuple(_judged(check, question.case, reply, run) for check in question.checks)


def right(question: Question) -> str:
    """The text of a reply that passes every check of a question: what a check of the checks compares with."""
    keys = [check.key for check in question.checks]
    return _RIGHT[keys[0]](question.case) if keys[0] in _RIGHT else fitness.right(question.case)


def _draw(seed: str, key: str) -> Draw:
    return Draw("bench-llm", seed, key)


def _judged(check: Check, case: Case, reply: Reply, run: Callable[[Program], Ran]) -> Judged:
    figure = fitness.ratio(case, text_of(reply) or reply.text) if check.key == "brevity" else None
    if reply.finish == "length":
        so_far = "" if figure is None else f"so far {fitness.told(figure)}"
        finding, isolation = explained(Finding("fail", 0.0, so_far), reply), ""
    else:
        finding, isolation = decide(_GRADERS[check.key], case, (reply,), run)
    return Judged(check.key, finding.outcome, finding.score, finding.why, finding.elements, isolation, figure)
