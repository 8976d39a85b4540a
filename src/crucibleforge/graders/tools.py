"""The replies make the expected native tool calls, change nothing else, and may have to state an answer in the end.

`expected` is {"calls": [{"name", "arguments"}, ...]} and, where one is asked for, "answer": number or text. The calls
are those that change the world; each must be made just once, in any order, at once or one by one. Every other tool
call is a change too many and fails the case, even if it is undone, unless a setting names its tool as a read. Settings:

    {"reads": ["find_house"]}        tools that only look: their calls are free
    {"max_calls": 12}                more native calls than that fail, reads and failed attempts among them
    {"ordered": true}                the expected calls must come in their order
    {"compare": {"when": "instant", "lines[].price": "decimal", "tags": "set"}}
                                     arguments that may be spelt in several ways, by their path: points in time with
                                     their offset, decimals as text, lists in any order. Else numbers are compared by
                                     value (25 is 25.0, true is no number) and text exactly
    {"forbidden": [{"name": "read_page", "arguments": {"page": "P-7"}}]}
                                     calls that hold these arguments fail the case, also when they are only written as
                                     text; without arguments every call of that tool
    {"answer": {"units": ["crate"]}} settings of `numeric` for an answer that is a number, else of `exact`

A call with malformed arguments, or with arguments that its tool's schema refuses, is none: it changes nothing, nor
does one of a tool that does not exist. A call written into the text is never executed, but the user is told of it,
and where no call is expected it is an attempt at one, whole or malformed. With no calls expected there must be an
answer, as nobody may pass by doing nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from crucibleforge.extract.calls import Written, written_calls
from crucibleforge.graders import ByReading, Replies, exact, numeric
from crucibleforge.graders._calls import FORMS, Kinds, Made, fault, has, is_call, read
from crucibleforge.graders._said import is_cut, share, text_of
from crucibleforge.graders._shown import as_json, shortened
from crucibleforge.types import Case, Element, Finding

MAX_CALLS = 1000
"""Calls that are looked at, and the largest `max_calls`."""

_KNOWN = {"reads", "max_calls", "ordered", "compare", "forbidden", "answer"}


@dataclass(frozen=True)
class _Rules:
    """The settings; `writes` are the tools of the case that are no reads."""

    reads: frozenset[str]
    writes: frozenset[str]
    max_calls: int
    ordered: bool
    compare: Kinds
    forbidden: tuple[Mapping[str, Any], ...]
    answer: dict[str, Any]


@dataclass
class _Matching:
    """Which call, by its place, was made for which expected one, right or wrong; and which are changes too many."""

    right: dict[int, int] = field(default_factory=dict)
    wrong: dict[int, int] = field(default_factory=dict)
    spare: list[int] = field(default_factory=list)


def find(case: Case, replies: Replies) -> Finding:
    """Compare the calls of all replies, and the answer of the last one.

    Raises:
        ValueError: the settings are wrong, or nothing is expected, whatever the replies say.
    """
    rules = _rules(case)
    expected = case.expected["calls"]
    tools = {tool.name: tool for tool in case.dialogue.tools}
    made = [read(call, tools) for call in islice((call for reply in replies for call in reply.tool_calls), MAX_CALLS)]
    written = [call for reply in replies for call in written_calls(text_of(reply))]
    matching = _matched(made, expected, rules)
    guards = [
        *_whole_elements(replies),
        _changes_element(made, expected, matching),
        *_forbidden_elements(made, written, rules),
        *_budget_elements(replies, rules),
        *_attempt_elements(written, expected, rules),
    ]
    wanted = [*_call_elements(made, expected, matching, rules), *_answer_elements(case, replies, rules)]
    elements = (*wanted, *guards)
    if broken := next((guard.why for guard in guards if not guard.passed), ""):
        return Finding("fail", 0.0, broken, elements)
    score = share(wanted)
    why = _first_fault(wanted, matching) if made or not expected else _no_call(written, len(expected))
    return Finding("pass" if score == 1 else "partial" if score else "fail", score, "" if score == 1 else why, elements)


def _rules(case: Case) -> _Rules:
    settings = case.grading.settings
    expected = case.expected["calls"]
    if unknown := sorted(settings.keys() - _KNOWN):
        raise ValueError(f"unknown setting '{unknown[0]}'; known: {', '.join(sorted(_KNOWN))}")
    if strange := sorted(case.expected.keys() - {"calls", "answer"}):
        raise ValueError(f"expected holds '{strange[0]}', not only calls and answer")
    if not expected and case.expected.get("answer") is None:
        raise ValueError("neither calls nor an answer are expected, so that doing nothing would pass")
    tools = {tool.name for tool in case.dialogue.tools}
    reads, limit = settings.get("reads", []), settings.get("max_calls", MAX_CALLS)
    forbidden = settings.get("forbidden", [])
    _demand(_is_names(reads), "reads must be a list of names")
    _demand(type(limit) is int and limit >= len(expected), f"max_calls must be a number of at least {len(expected)}")
    _demand(isinstance(settings.get("ordered", False), bool), "ordered must be true or false")
    _demand(isinstance(forbidden, list), "forbidden must be a list of calls")
    _demand(isinstance(settings.get("answer", {}), dict), "answer must hold the settings of a grader")
    return _Rules(
        reads=frozenset(reads),
        writes=frozenset((tools | {call["name"] for call in expected}) - set(reads)),
        max_calls=min(limit, MAX_CALLS),
        ordered=settings.get("ordered", False),
        compare=_compare(settings.get("compare", {})),
        forbidden=tuple(_forbidden(rule, tools) for rule in forbidden),
        answer=settings.get("answer", {}),
    )


def _demand(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _compare(kinds: Any) -> Kinds:
    _demand(isinstance(kinds, dict), "compare must map paths to kinds")
    for kind in kinds.values():
        _demand(kind in list(FORMS), f"unknown kind '{kind}'; known: {', '.join(sorted(FORMS))}")
    return dict(kinds)


def _forbidden(rule: Any, tools: set[str]) -> Mapping[str, Any]:
    is_rule = isinstance(rule, dict) and isinstance(rule.get("name"), str) and not rule.keys() - {"name", "arguments"}
    _demand(is_rule, "a forbidden call has a name and perhaps arguments, nothing else")
    _demand(isinstance(rule.get("arguments", {}), dict), "the arguments of a forbidden call must be an object")
    _demand(not tools or rule["name"] in tools, f"forbidden call of '{rule['name']}', which is no tool of the case")
    return dict(rule)


def _matched(made: list[Made], expected: list[dict[str, Any]], rules: _Rules) -> _Matching:
    """Match right calls one to one, then say which wrong one was meant for what is still missing."""
    matching = _Matching()
    left = []
    for place, call in enumerate(made):
        open_ones = [index for index in range(len(expected)) if index not in matching.right]
        open_ones = open_ones[:1] if rules.ordered else open_ones
        index = next((index for index in open_ones if is_call(call, expected[index], rules.compare)), None)
        if index is None:
            left.append(place)
        else:
            matching.right[index] = place
    missing = [index for index in range(len(expected)) if index not in matching.right]
    for place in left:
        call = made[place]
        if call.name in rules.reads:
            continue
        changes = call.arguments is not None and call.name in rules.writes
        meant = [index for index in missing if expected[index]["name"] == call.name] or ([] if changes else missing)
        if meant:
            matching.wrong[meant[0]] = place
            missing.remove(meant[0])
        elif changes:
            matching.spare.append(place)
    return matching


def _call_elements(
    made: list[Made], expected: list[dict[str, Any]], matching: _Matching, rules: _Rules
) -> Iterator[Element]:
    for index, call in enumerate(expected):
        name = f"{call['name']} {index + 1}"
        if index in matching.right:
            yield Element(name, passed=True)
        elif (place := matching.wrong.get(index)) is None:
            yield Element(name, passed=False, why=f"not called: {call['name']} {as_json(call['arguments'])}")
        else:
            why = fault(made[place], call, rules.compare) or "out of order"
            yield Element(name, passed=False, why=f"call {place + 1}: {why}")


def _answer_elements(case: Case, replies: Replies, rules: _Rules) -> Iterator[Element]:
    answer = case.expected.get("answer")
    if answer is not None:
        compare = exact.fault if isinstance(answer, str) else numeric.fault
        why = compare(replies[-1], answer, rules.answer)
        yield Element("answer", passed=not why, why=why)


def _changes_element(made: list[Made], expected: list[dict[str, Any]], matching: _Matching) -> Element:
    if not matching.spare:
        return Element("no other change", passed=True)
    call = made[matching.spare[0]]
    more = f" (and {len(matching.spare) - 1} more)" if len(matching.spare) > 1 else ""
    asked = "made once more" if any(is_call(call, one, {}) for one in expected) else "not asked for"
    why = f"call {matching.spare[0] + 1}: {asked}: {shortened(call.name)} {as_json(call.arguments)}{more}"
    return Element("no other change", passed=False, why=why)


def _forbidden_elements(made: list[Made], written: list[Written], rules: _Rules) -> Iterator[Element]:
    if not rules.forbidden:
        return
    calls: list[Made | Written] = [*made, *written]
    tried = next((call for call in calls if any(_breaks(call, rule) for rule in rules.forbidden)), None)
    if tried is None:
        yield Element("nothing forbidden", passed=True)
    else:
        how = " (as text)" if isinstance(tried, Written) else ""
        why = f"forbidden{how}: {tried.name} {as_json(tried.arguments or {})}"
        yield Element("nothing forbidden", passed=False, why=why)


def _breaks(call: Made | Written, rule: Mapping[str, Any]) -> bool:
    """True for a forbidden call; one that is malformed is an attempt where its name alone is forbidden."""
    return call.name == rule["name"] and has(call.arguments or {}, rule.get("arguments", {}))


def _budget_elements(replies: Replies, rules: _Rules) -> Iterator[Element]:
    count = sum(len(reply.tool_calls) for reply in replies)
    over = count > rules.max_calls
    if over or rules.max_calls < MAX_CALLS:
        why = f"{count} calls, at most {rules.max_calls}" if over else ""
        yield Element(f"at most {rules.max_calls} calls", passed=not over, why=why)


def _attempt_elements(written: list[Written], expected: list[dict[str, Any]], rules: _Rules) -> Iterator[Element]:
    if expected:
        return
    attempts = [call for call in written if call.name not in rules.reads or call.arguments is None]
    why = f"the reply writes a call as text ({_names(attempts)}), expected none" if attempts else ""
    yield Element("no attempt", passed=not attempts, why=why)


def _whole_elements(replies: Replies) -> Iterator[Element]:
    if any(is_cut(reply) for reply in replies):
        yield Element("whole reply", passed=False, why="the reply is cut off")


def _first_fault(wanted: list[Element], matching: _Matching) -> str:
    """That of the earliest wrong call made, which in any order need not be the first one expected; else the next."""
    by_place = [wanted[index] for index in sorted(matching.wrong, key=matching.wrong.__getitem__)]
    return next((element.why for element in [*by_place, *wanted] if not element.passed), "")


def _no_call(written: list[Written], expected: int) -> str:
    told = f" (the reply writes one as text: {_names(written)})" if written else ""
    return f"no call{told}, expected {expected}"


def _names(written: list[Written]) -> str:
    return shortened(
        ", ".join(call.name if call.name and call.arguments is not None else "a malformed call" for call in written)
    )


GRADER = ByReading("tools", 3, find, frozenset(_KNOWN))
