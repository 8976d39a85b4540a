"""The replies make the expected native tool calls, no other ones, and may have to state an answer in the end.

`expected` is {"calls": [{"name", "arguments"}], "ordered": bool, "answer": number, text or null}. No calls means
that none may be made. An answer that is text is compared as by `exact`, with its settings. Settings: `allow_extra`,
names of tools that may be called besides. A call written into the text is none and is never executed, but the user is
told of it, and where no call may be made it is an attempt at one, whole or malformed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from crucibleforge.chat import ToolCall
from crucibleforge.extract.calls import written_calls
from crucibleforge.extract.jsontext import NO_JSON, strict_json
from crucibleforge.graders import ByReading, Replies, exact, numeric
from crucibleforge.graders._said import is_cut, share, text_of
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_json, shortened
from crucibleforge.types import Case, Element, Finding

MAX_CALLS = 1000
"""Calls that are looked at; more of them never pass."""


@dataclass(frozen=True)
class _Made:
    """A call as made; `arguments` is None and `broken` says why where they are no JSON object."""

    name: str
    arguments: dict[str, Any] | None
    broken: str = ""


@dataclass
class _Matching:
    """Which call, by its place, was made for which expected one; what is left over, and what may be."""

    attempts: dict[int, int] = field(default_factory=dict)
    spare: list[int] = field(default_factory=list)
    ignored: int = 0


def find(case: Case, replies: Replies) -> Finding:
    """Compare the calls of all replies, and the answer of the last one."""
    expected = case.expected["calls"]
    calls = (call for reply in replies for call in reply.tool_calls)
    made = [_read(call) for call in islice(calls, MAX_CALLS)]
    match = _in_order if case.expected.get("ordered") else _in_any_order
    matching = match(made, expected, set(case.grading.settings.get("allow_extra", ())))
    as_text = "" if made else _as_text(replies)
    wanted = _call_elements(made, expected, matching)
    others = [
        *_spare_elements(expected, matching, as_text=as_text),
        *_answer_elements(case, replies),
        *_whole_elements(replies),
    ]
    elements = (*wanted, *others)
    score = share(elements)
    why = _count_fault(len(made), expected, matching, as_text=as_text) or _first_fault(wanted, others, matching)
    return Finding("pass" if score == 1 else "partial" if score else "fail", score, why, elements)


def _as_text(replies: Replies) -> str:
    """What the first reply with calls in its text writes there, as a user reads it; empty if there are none."""
    written = next((found for reply in replies if (found := written_calls(text_of(reply)))), ())
    if not written:
        return ""
    names = [call.name if call.name and call.arguments is not None else "a malformed call" for call in written]
    return shortened(", ".join(names))


def _read(call: ToolCall) -> _Made:
    # Some servers send no text for no arguments.
    arguments = strict_json(call.arguments) if call.arguments.strip() else {}
    if isinstance(arguments, dict):
        return _Made(call.name, arguments)
    return _Made(call.name, None, f"arguments are not {'JSON' if arguments is NO_JSON else 'a JSON object'}")


def _is(made: _Made, expected: dict[str, Any]) -> bool:
    return made.name == expected["name"] and same(made.arguments, expected["arguments"], within=0)


def _in_order(made: list[_Made], expected: list[dict[str, Any]], allowed: set[str]) -> _Matching:
    matching = _Matching()
    awaited = 0
    for place, call in enumerate(made):
        if awaited < len(expected) and (_is(call, expected[awaited]) or call.name not in allowed):
            matching.attempts[awaited] = place
            awaited += 1
        elif call.name in allowed:
            matching.ignored += 1
        else:
            matching.spare.append(place)
    return matching


def _in_any_order(made: list[_Made], expected: list[dict[str, Any]], allowed: set[str]) -> _Matching:
    matching = _Matching()
    open_ones = list(range(len(expected)))
    left = []
    for place, call in enumerate(made):
        right = next((index for index in open_ones if _is(call, expected[index])), None)
        if right is None:
            left.append(place)
        else:
            matching.attempts[right] = place
            open_ones.remove(right)
    for place in left:
        name = made[place].name
        if name in allowed:
            matching.ignored += 1
        elif open_ones:
            meant = next((index for index in open_ones if expected[index]["name"] == name), open_ones[0])
            matching.attempts[meant] = place
            open_ones.remove(meant)
        else:
            matching.spare.append(place)
    return matching


def _fault(made: _Made, expected: dict[str, Any]) -> str:
    if made.name != expected["name"]:
        return f"called {shortened(made.name)}, expected {expected['name']}"
    if made.arguments is None:
        return made.broken
    for name, value in expected["arguments"].items():
        if name not in made.arguments:
            return f"argument '{name}' is missing"
        if not same(made.arguments[name], value, within=0):
            return f"argument '{name}' is {as_json(made.arguments[name])}, expected {as_json(value)}"
    extra = next((name for name in made.arguments if name not in expected["arguments"]), None)
    return "" if extra is None else f"argument '{shortened(extra)}' is not expected"


def _call_elements(made: list[_Made], expected: list[dict[str, Any]], matching: _Matching) -> list[Element]:
    elements = []
    for index, call in enumerate(expected):
        place = matching.attempts.get(index)
        fault = "not called" if place is None else _fault(made[place], call)
        why = f"call {place + 1}: {fault}" if fault and place is not None else fault
        elements.append(Element(f"{call['name']} {index + 1}", passed=not fault, why=why))
    return elements


def _spare_elements(expected: list[dict[str, Any]], matching: _Matching, *, as_text: str) -> list[Element]:
    """One about calls that should not be; only where there are some, or where there is nothing else to judge."""
    if expected and not matching.spare:
        return []
    unwanted = len(matching.spare) + (bool(as_text) and not expected)
    return [Element("no other call", passed=not unwanted, why=f"{unwanted} too many" if unwanted else "")]


def _answer_elements(case: Case, replies: Replies) -> list[Element]:
    answer = case.expected.get("answer")
    if answer is None:
        return []
    compare = exact.fault if isinstance(answer, str) else numeric.fault
    fault = compare(replies[-1], answer, case.grading.settings)
    return [Element("answer", passed=not fault, why=fault)]


def _whole_elements(replies: Replies) -> list[Element]:
    if any(is_cut(reply) for reply in replies):
        return [Element("whole reply", passed=False, why="the reply is cut off")]
    if sum(len(reply.tool_calls) for reply in replies) > MAX_CALLS:
        return [Element("whole reply", passed=False, why=f"more than {MAX_CALLS} calls")]
    last = replies[-1]
    if not last.tool_calls and not text_of(last).strip():
        return [Element("whole reply", passed=False, why="the last reply is empty")]
    return []


def _count_fault(made: int, expected: list[dict[str, Any]], matching: _Matching, *, as_text: str) -> str:
    counted = made - matching.ignored
    if as_text and not expected:
        return f"the reply writes a call as text ({as_text}), expected none"
    if as_text:
        return f"no call (the reply writes one as text: {as_text}), expected {len(expected)}"
    if counted == len(expected):
        return ""
    if matching.ignored and counted < len(expected):
        # Which of the allowed calls was meant for it, nobody can say; so say which one is missing.
        missing = next(call for index, call in enumerate(expected) if index not in matching.attempts)
        return f"not called: {missing['name']} {as_json(missing['arguments'])}"
    noun = f"{counted or 'no'} {'call' if counted in {0, 1} else 'calls'}"
    besides = " besides the allowed ones" if matching.ignored else ""
    return f"{noun}{besides}, expected {len(expected) or 'none'}"


def _first_fault(calls: list[Element], others: list[Element], matching: _Matching) -> str:
    """That of the earliest call made, which in any order need not be the first one expected; else the next one."""
    by_place = [calls[index] for index in sorted(matching.attempts, key=matching.attempts.__getitem__)]
    return next((element.why for element in [*by_place, *others] if not element.passed), "")


GRADER = ByReading("tools", 2, find, frozenset({"allow_extra"}) | exact.SETTINGS | numeric.SETTINGS)
