"""The reply's function gives the expected value for every input. It runs in a sandbox, which never sees these values.

`expected` is a list of {"args": [...], "returns": value}. Settings: `entry`, the function's name, and optionally
`tolerance`: without it types count, so that 3 and 3.0 differ; with it numbers may be that far off, at any depth.
A case passes by all calls; the score is the share that are right.
"""

from __future__ import annotations

from typing import Any

from crucibleforge.extract.code import first_problem, python_code
from crucibleforge.graders import ByRunning, Replies
from crucibleforge.graders._said import is_cut, nothing_said, share, text_of
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_python, shortened
from crucibleforge.programs import Call, Program, Raised, Ran, Returned
from crucibleforge.types import Case, Element, Finding

_MESSAGE_WIDTH = 120
_LIMITS = {"time limit", "memory limit", "output limit", "exit"}


def program(case: Case, replies: Replies) -> Program | Finding:
    """The code of the last reply with the inputs of the case, or why there is no code."""
    if nothing := nothing_said(replies[-1]):
        return nothing
    text, cut, entry = text_of(replies[-1]), is_cut(replies[-1]), case.grading.settings["entry"]
    source = python_code(text, entry, cut=cut)
    if source is None:
        return Finding("fail", 0.0, shortened(first_problem(text, entry, cut=cut), _MESSAGE_WIDTH))
    return Program(source, entry, tuple(Call(tuple(call["args"])) for call in case.expected))


def conclude(case: Case, ran: Ran) -> Finding:
    """Compare what the calls gave."""
    if ran.broken:
        return Finding("fail", 0.0, shortened(ran.broken, _MESSAGE_WIDTH))
    settings = case.grading.settings
    results = [*ran.results, *[None] * (len(case.expected) - len(ran.results))]
    elements = tuple(_element(settings, call, result) for call, result in zip(case.expected, results, strict=False))
    failed = [element for element in elements if not element.passed]
    return Finding("fail", share(elements), failed[0].why, elements) if failed else Finding("pass", 1.0, "", elements)


def _element(settings: dict[str, Any], call: dict[str, Any], result: Returned | Raised | None) -> Element:
    name = f"{settings['entry']}({', '.join(as_python(value) for value in call['args'])})"
    why = _fault(name, call["returns"], result, settings.get("tolerance"))
    return Element(shortened(name), passed=not why, why=why)


def _fault(name: str, expected: Any, result: Returned | Raised | None, tolerance: float | None) -> str:
    match result:
        case Returned(value) if same(value, expected, within=tolerance):
            return ""
        case Returned(value):
            return f"{name} gave {as_python(value)}, expected {as_python(expected)}"
        case Raised(kind, message) if kind in _LIMITS:
            return f"{name}: {kind}" + (f", {shortened(message)}" if message else "")
        case Raised(kind, message):
            said = f": {shortened(message, _MESSAGE_WIDTH)}" if message else ""
            return f"{name} raised {shortened(kind)}{said}"
        case None:
            return f"{name} was not run"


GRADER = ByRunning("program", 1, program, conclude)
