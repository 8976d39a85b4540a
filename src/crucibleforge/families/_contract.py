"""The laws that every family keeps. Pure: whoever has a sandbox passes it in as `run`.

Each broken law is one line. A family that raises breaks the law that was being looked at, never the check itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from crucibleforge import plugins
from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.families._build import CHARS_PER_TOKEN, build, draft, fresh
from crucibleforge.families._kit import Dialogues, Draft, Family, said
from crucibleforge.graders import ByRunning, Replies
from crucibleforge.graders._mark import mark
from crucibleforge.programs import Program, Ran, Returned
from crucibleforge.types import LEVELS, Case, Level

Result = TypeVar("Result")
Run = Callable[[Program], Ran]

_MARKED_DRAWS = 10
_LEAST_RIGHT = 5
_LEAST_WRONG = 3
_LEAST_HIDDEN_PERCENT = 30  # fewer, and a list of the public answers earns most of the score
_SEEDS = ("one run", "another run")
_SHOWN = 120  # characters of a value in a problem line
_EMPTY = Reply(text="", finish="stop", usage=Usage(), timing=Timing(total_s=0.0))


class _BrokenError(Exception):
    """A family's function raised; the message says which and what."""


@dataclass(frozen=True)
class _Drawn:
    """One instance, its case, and its place for the reader of a problem."""

    level: Level
    index: int
    draft: Draft
    case: Case

    def at(self, fault: str) -> str:
        return f"{self.case.id}: {fault}"


def problems(family: Family, run: Run, draws: int = 50) -> list[str]:
    """Every broken law as one line that starts with the case or the level; none means that the family may join.

    Args:
        family: The family to look at.
        run: Runs a program of a reply; the same program runs once only.
        draws: Instances drawn a level; the canonical ones are the first of them.
    """
    unset = list(_levels(family))
    if unset:
        return unset
    once = _once(run)
    found: list[str] = []
    canonical: list[_Drawn] = []
    for level in LEVELS:
        drawn, faults = _draw(family, level, max(draws, family.count))
        found += faults
        canonical += drawn[: family.count]
        marked = family.count if _runs_programs(family) else max(_MARKED_DRAWS, family.count)
        for number, one in enumerate(drawn):
            found += _of_draft(family, one)
            if number < marked:
                found += _of_marks(family, one, once)
                found += _of_program(family, one, once) if _runs_programs(family) else ()
    return found + list(_alike(canonical))


def _levels(family: Family) -> Iterator[str]:
    for what, table in (
        ("levels", family.levels),
        ("max_tokens", family.max_tokens),
        ("prompt_tokens", family.prompt_tokens),
    ):
        if sorted(table) != sorted(LEVELS):
            yield f"{family.name}: {what} must be set for {', '.join(LEVELS)} and no other, not {', '.join(table)}"
    if family.count < 1:
        yield f"{family.name}: count is {family.count}, it must be at least 1"


def _draw(family: Family, level: Level, draws: int) -> tuple[list[_Drawn], list[str]]:
    drawn, faults = [], []
    for index in range(1, draws + 1):
        place = f"{family.name}/{level}.{index}"
        try:
            made = _call("make", draft, family, level, index)
            if _call("make", draft, family, level, index) != made:
                faults.append(f"{place}: the same key gave two different drafts")
            drawn.append(_Drawn(level, index, made, _call("build", build, family, level, index, made)))
        except _BrokenError as error:
            faults.append(f"{place}: {error}")
    return drawn, faults


def _of_draft(family: Family, one: _Drawn) -> Iterator[str]:
    """Laws about a draft alone."""
    try:
        again = _call("rederive", family.rederive, one.draft)
    except _BrokenError as error:
        yield one.at(str(error))
    else:
        if _json(again) != _json(one.draft.expected):
            yield one.at(f"make says {_short(one.draft.expected)}, rederive says {_short(again)}")
    budget = family.prompt_tokens[one.level]
    estimate = (len(one.draft.system) + len(one.draft.prompt)) / CHARS_PER_TOKEN
    if estimate > budget:
        yield one.at(f"the prompt may take {estimate:.0f} tokens, its budget is {budget}")
    if not family.shown and _stands_in(one.draft.expected, f"{one.draft.system}\n{one.draft.prompt}"):
        yield one.at(f"the answer {_short(one.draft.expected)} stands in the prompt")


def _of_marks(family: Family, one: _Drawn, run: Run) -> Iterator[str]:
    """Laws about the family's grader, which each reply goes through."""
    try:
        right: Dialogues = _call("right", family.right, one.draft)
        wrong: Dialogues = _call("wrong", family.wrong, one.draft)
        if len(_different(right)) < _LEAST_RIGHT:
            yield one.at(f"right gives {len(_different(right))} different dialogues, at least {_LEAST_RIGHT} are due")
        if len(_different(wrong)) < _LEAST_WRONG:
            yield one.at(f"wrong gives {len(_different(wrong))} different dialogues, at least {_LEAST_WRONG} are due")
        for number, replies in enumerate(right, start=1):
            outcome, why = _marked(one.case, replies, run)
            if outcome != "pass":
                yield one.at(f"right reply {number} does not pass: {outcome}, {why}")
        must_not = [(f"wrong reply {number}", replies) for number, replies in enumerate(wrong, start=1)]
        must_not += [
            ("an empty reply", (_EMPTY,)),
            *(("a reply cut off half-way", _cut(replies)) for replies in right[:1]),
        ]
        for what, replies in must_not:
            if _marked(one.case, replies, run)[0] == "pass":
                yield one.at(f"{what} passes: {_short(replies[-1].text)}")
    except _BrokenError as error:
        yield one.at(str(error))


def _of_program(family: Family, one: _Drawn, run: Run) -> Iterator[str]:
    """Laws about a case that is marked by running: our own program passes, and no list of answers does."""
    known = one.case.expected
    if not known:
        yield one.at("there is no input to run a program on")
        return
    try:
        drawn = [_call("hidden", fresh, family, one.draft, one.case.id, seed) for seed in _SEEDS]
        if _json(drawn[0]) == _json(drawn[1]):
            yield one.at("two seeds give the same hidden inputs")
        reference = (said(f"```python\n{one.case.grading.settings.get('reference', '')}\n```"),)
        for more in drawn:
            if 100 * len(more) < _LEAST_HIDDEN_PERCENT * (len(known) + len(more)):
                yield one.at(f"{len(more)} hidden inputs beside {len(known)}, {_LEAST_HIDDEN_PERCENT}% of all are due")
            case = msgspec.structs.replace(one.case, expected=[*known, *more])
            outcome, why = _marked(case, reference, run)
            if outcome != "pass":
                yield one.at(f"the reference does not pass: {outcome}, {why}")
            if any(_marked(case, reference, _by_heart(known, call["returns"]))[0] == "pass" for call in known):
                yield one.at("whoever knows the canonical answers by heart passes the hidden inputs")
    except _BrokenError as error:
        yield one.at(str(error))


def _by_heart(known: list[dict[str, Any]], guess: Any) -> Run:
    """Runs nothing: gives the canonical value where an input is canonical, and `guess` for every other."""
    answers = {_json(call["args"]): call["returns"] for call in known}
    return lambda program: Ran(
        tuple(Returned(answers.get(_json(call.args), guess)) for call in program.calls), "by heart"
    )


def _alike(canonical: list[_Drawn]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for one in canonical:
        first = seen.setdefault(f"{one.draft.system}\n{one.draft.prompt}", one.case.id)
        if first != one.case.id:
            yield one.at(f"asks the same as {first}")


def _runs_programs(family: Family) -> bool:
    return isinstance(plugins.find("graders", family.grading.grader), ByRunning)


def _once(run: Run) -> Run:
    """Run each program a single time: dressings of one answer hold the same code."""
    known: dict[bytes, Ran] = {}

    def remembered(program: Program) -> Ran:
        key = msgspec.json.encode(program)
        if key not in known:
            known[key] = run(program)
        return known[key]

    return remembered


def _marked(case: Case, replies: Replies, run: Run) -> tuple[str, str]:
    finding = _call("mark", mark, case, replies, run)[0]
    return finding.outcome, finding.why


def _cut(replies: Replies) -> Replies:
    last = replies[-1]
    half = last.text[: len(last.text) // 2]
    return (*replies[:-1], msgspec.structs.replace(last, text=half, tool_calls=(), finish="length"))


def _different(dialogues: Dialogues) -> set[bytes]:
    return {msgspec.json.encode(dialogue) for dialogue in dialogues}


def _call(what: str, function: Callable[..., Result], *args: Any) -> Result:
    try:
        return function(*args)
    except Exception as error:
        raise _BrokenError(f"{what} raised {type(error).__name__}: {error}") from error


def _json(value: Any) -> bytes:
    """A form in which 1, 1.0 and true differ, and the order of keys does not."""
    return msgspec.json.encode(value, order="sorted")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _stands_in(expected: Any, prompt: str) -> bool:
    """True when the prompt holds the words of the answer, all in order and in one run, or the answer as JSON."""
    wanted = [word for leaf in _leaves(expected) for word in _words(leaf)]
    words = _words(prompt)
    if any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1)):
        return bool(wanted)
    is_structured = bool(wanted) and isinstance(expected, (dict, list))
    return is_structured and _squeezed(msgspec.json.encode(expected).decode()) in _squeezed(prompt)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value if isinstance(value, str) else _json(value).decode()


def _words(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?(?!\w)|\w+", text.casefold())
