"""Replies to the questions of bench-llm, judged with a run that executes our own programs only."""

from __future__ import annotations

from copy import deepcopy

from crucibleforge.bench.abilities import Judged, Question, judge, questions
from crucibleforge.chat import Finish
from crucibleforge.families._dress import said
from crucibleforge.families.coding._sources import loaded
from crucibleforge.programs import Program, Raised, Ran, Returned

SEED = "5eed"


def asked(key: str, seed: str = SEED) -> Question:
    """The question that answers a check."""
    return next(one for one in questions(seed) if key in [check.key for check in one.checks])


def in_process(program: Program) -> Ran:
    """Run a program that a test has written."""
    function = loaded(program.source, program.entry)
    return Ran(tuple(_called(function, call.args) for call in program.calls), "in process")


def _called(function, args):
    try:
        return Returned(function(*deepcopy(args)))
    except Exception as error:  # noqa: BLE001 - whatever a wrong program raises is its result
        return Raised(type(error).__name__, str(error))


def never(program: Program) -> Ran:
    """No program may be run."""
    raise AssertionError(program.source)


def verdicts(question: Question, text: str, finish: Finish = "stop", run=in_process) -> dict[str, Judged]:
    """What came of each check."""
    return {one.key: one for one in judge(question, said(text, finish), run)}


def outcome(key: str, text: str, seed: str = SEED) -> tuple[str, str]:
    """The outcome of one check and why."""
    one = verdicts(asked(key, seed), text)[key]
    return one.outcome, one.why


def dressed(text: str) -> tuple[str, ...]:
    """A reply as chatty, thinking and careless models and servers send it."""
    return (
        f"Sure! Here is what you asked for:\n\n{text}",
        f"<think>\nLet me see. 1, 2, 3: {{}} [x]\n</think>\n\n{text}",
        f"I think about it first.\n</think>\n{text}<|im_end|>",
        text.replace("\n", "\r\n"),
        f"\ufeff{text}\n\nLet me know if you need anything else!",
        f"\n\n{text}\n\n",
    )
