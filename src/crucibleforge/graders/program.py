"""The reply's function or class gives the expected values. It runs in a sandbox, which never sees these values.

`expected` is a list of {"args": [...], "returns": value}, and "size" for an input that measures how the time grows.
For a class, "args" is [constructor's arguments, [[method, argument, ...], ...]] and "returns" what the operations give,
in order. Settings: `entry`, the name to call; `form`, "function" if left out; `containers`, `scratch` and `reference`
as in `Program`; `tolerance`: without it types count, so that 3 and 3.0 differ; with it numbers may be that far off, at
any depth. A case passes by all calls; the score is the share that are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crucibleforge.errors import CrucibleError
from crucibleforge.extract.code import first_problem, python_code
from crucibleforge.graders import ByRunning, Replies
from crucibleforge.graders._said import is_cut, nothing_said, share, text_of
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_python, shortened
from crucibleforge.programs import Call, Program, Raised, Ran, Returned
from crucibleforge.types import Case, Element, Finding

MAX_SOURCE = 64_000
"""Characters of a program: a hundred times what the longest case needs, and no room for tables of answers."""
_MESSAGE_WIDTH = 120
_SHOWN_ARGS = 12
_SHORTEST_S = 0.005
"""Shorter times say nothing about growth."""
_LIMITS = {"time limit", "memory limit", "output limit", "exit"}


def program(case: Case, replies: Replies) -> Program | Finding:
    """The code of the last reply with the inputs of the case, or why there is no code.

    Raises:
        CrucibleError: the case has no input.
    """
    expected, settings = _calls(case), case.grading.settings
    if nothing := nothing_said(replies[-1]):
        return nothing
    text, cut, entry = text_of(replies[-1]), is_cut(replies[-1]), settings["entry"]
    source = python_code(text, entry, cut=cut)
    if source is None:
        return Finding("fail", 0.0, shortened(first_problem(text, entry, cut=cut), _MESSAGE_WIDTH))
    if len(source) > MAX_SOURCE:
        return Finding("fail", 0.0, f"the code is longer than {MAX_SOURCE:,} characters")
    return Program(
        source,
        entry,
        tuple(Call(tuple(call["args"]), size=call.get("size", 0)) for call in expected),
        form=settings.get("form", "function"),
        containers=tuple(settings.get("containers", ())),
        scratch=settings.get("scratch", False),
        reference=settings.get("reference", ""),
    )


def conclude(case: Case, ran: Ran) -> Finding:
    """Compare what the calls gave.

    Raises:
        CrucibleError: the case has no input.
    """
    expected = _calls(case)
    if ran.broken:
        return Finding("fail", 0.0, shortened(ran.broken, _MESSAGE_WIDTH))
    marked = _Marked(case.grading.settings, tuple(_tried(expected, ran)))
    elements = tuple(Element(shortened(marked.name(one)), passed=not why, why=why) for one, why in marked.faults())
    failed = [element for element in elements if not element.passed]
    return Finding("fail", share(elements), failed[0].why, elements) if failed else Finding("pass", 1.0, "", elements)


def _calls(case: Case) -> Sequence[dict[str, Any]]:
    if not case.expected:
        raise CrucibleError(f"case {case.id} gives its programs no input, so all would pass")
    calls: Sequence[dict[str, Any]] = case.expected
    return calls


@dataclass(frozen=True)
class _Tried:
    """One call: what it should give, what came of it, the CPU seconds it took and ours; 0.0: not known."""

    args: Sequence[Any]
    returns: Any
    size: int
    result: Returned | Raised | None
    took_s: float
    ours_s: float


def _tried(expected: Sequence[dict[str, Any]], ran: Ran) -> list[_Tried]:
    """The calls of a case with what a run says of them, which may be less than all."""
    count = len(expected)
    results = (*ran.results, *[None] * count)[:count]
    took_s, ours_s = ((*times, *[0.0] * count)[:count] for times in (ran.cpu_s, ran.reference_cpu_s))
    return [
        _Tried(call["args"], call["returns"], call.get("size", 0), result, took, ours)
        for call, result, took, ours in zip(expected, results, took_s, ours_s, strict=True)
    ]


@dataclass(frozen=True)
class _Marked:
    """All calls of a program, and the words for them."""

    settings: dict[str, Any]
    tried: tuple[_Tried, ...]

    def faults(self) -> list[tuple[_Tried, str]]:
        """Every call with what is wrong with it, "" for nothing."""
        return [(one, self._fault(one)) for one in self.tried]

    def name(self, one: _Tried) -> str:
        """A call as Python writes it, its arguments shortened."""
        if not self._is_class:
            return _call(self.settings["entry"], one.args)
        return f"{self._made(one)}, {_counted(len(one.args[1]), 'operation')}"

    @property
    def _is_class(self) -> bool:
        return bool(self.settings.get("form") == "class")

    def _made(self, one: _Tried) -> str:
        return _call(self.settings["entry"], one.args[0] if self._is_class else one.args)

    def _same(self, got: Any, expected: Any) -> bool:
        return same(got, expected, within=self.settings.get("tolerance"))

    def _fault(self, one: _Tried) -> str:
        match one.result:
            case Returned(value) if self._same(value, one.returns):
                return ""
            case Returned(value) if self._is_class:
                return self._first_wrong(one, value)
            case Returned(value):
                return f"{self.name(one)} gave {as_python(value)}, expected {as_python(one.returns)}"
            case Raised(kind) as raised if kind in _LIMITS:
                return self._limit(one, raised)
            case Raised() as raised:
                return f"{self._raiser(one, raised.step)} raised {_error(raised)}"
            case None:
                return f"{self.name(one)} was not run"

    def _first_wrong(self, one: _Tried, value: Any) -> str:
        log = zip(one.args[1], value if isinstance(value, list) else (), one.returns, strict=False)
        for right, ((method, *args), got, expected) in enumerate(log):
            if not self._same(got, expected):
                before = f"after {_counted(right, 'operation')} that {'was' if right == 1 else 'were'} right, "
                said = f"{_call(method, args)} gave {as_python(got)}, expected {as_python(expected)}"
                return before + said if right else said
        return f"{self.name(one)} gave {as_python(value)}, expected {as_python(one.returns)}"

    def _raiser(self, one: _Tried, step: int) -> str:
        if not self._is_class or not 0 < step <= len(one.args[1]):
            return self._made(one)
        method, *args = one.args[1][step - 1]
        return f"operation {step:,}, {_call(method, args)},"

    def _limit(self, one: _Tried, raised: Raised) -> str:
        where = f"{raised.kind} at size {one.size:,}" if one.size else f"{self.name(one)}: {raised.kind}"
        said = [shortened(raised.message, _MESSAGE_WIDTH)] if raised.message else []
        if raised.kind == "time limit" and one.took_s and one.ours_s:
            said.append(f"ours took {_seconds(one.ours_s)}")
        text = where + (": " if one.size else ", ") * bool(said) + ", ".join(said)
        place = f" ({shortened(raised.at)})" if raised.at else ""
        return text + place + (self._growth(one.size) if one.took_s else "")

    def _growth(self, size: int) -> str:
        """How far it came below this size, and how its time grew on the way, if that can be told."""
        took = {one.size: one.took_s for one in self.tried if 0 < one.size < size and isinstance(one.result, Returned)}
        if not took:
            return ""
        *_, small, large = (0, *sorted(took))
        text = f"; size {large:,} took {_seconds(took[large])}"
        if small and took[small] >= _SHORTEST_S:
            power = math.log(took[large] / took[small]) / math.log(large / small)
            text += f", growing like n^{power:.1f}"
        return text


def _call(name: str, args: Sequence[Any]) -> str:
    shown = [as_python(value) for value in args[:_SHOWN_ARGS]]
    return shortened(f"{name}({', '.join([*shown, '...'] if len(args) > _SHOWN_ARGS else shown)})", _MESSAGE_WIDTH)


def _error(raised: Raised) -> str:
    message = f": {shortened(raised.message, _MESSAGE_WIDTH)}" if raised.message else ""
    return shortened(raised.kind) + message + (f" ({shortened(raised.at)})" if raised.at else "")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"  # noqa: PLR2004 - two digits


SETTINGS = frozenset({"entry", "form", "containers", "scratch", "tolerance", "reference"})
GRADER = ByRunning("program", 2, program, conclude, SETTINGS)
