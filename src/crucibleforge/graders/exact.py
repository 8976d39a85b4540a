"""The reply states the expected answer, which is no single number; `kind` says what it is and how it is read.

    {}                                             words: equal to `expected` up to white space and case
    {"case_sensitive": true}                       words, and here the case matters
    {"choices": ["Ada", "Bo"]}                     name: just one of these occurs in the answer, as a whole word
    {"kind": "choice", "options": {"A": "Rust"}}   the letter of an option, or its text; `expected` "A"
    {"kind": "yes_no"}                             `expected` "yes", "no" or "unknown", said in any usual way;
                                                   "also": {"no": ["no such order"]} adds ways of this question
    {"kind": "list"}                               numbers in order, `expected` [3, 1, 2]
    {"kind": "list", "choices": [...]}             names in order; with "ordered": false in any order, each as often
    {"kind": "tuple"}                              as list, and each place is an element of its own
    {"kind": "grid", "choices": [...]}             `expected` {"Ada": "red", "Bo": "blue"}, as `Ada: red, Bo: blue`;
                                                   each cell is an element. With several things in a cell, `expected`
                                                   {"Ada": ["red", "cat"]}, "choices" has a list for each of them.
                                                   Without choices cells are numbers or words, as `expected` has them
    {"kind": "json", "schema": {"n": "integer"}}   JSON, strictly typed; see below

Besides, for words, names and choices: "unknown": true, that it cannot be known may be the answer, and `expected` is
then "unknown"; for lists, tuples and grids of numbers: "units", as for `numeric`.

JSON is strict (no duplicate keys, NaN, trailing commas) and compared as it is: 1 and 1.0 differ, and so do 1 and true.
A schema of the same shape as the value, with the names of JSON Schema's types, lets a "number" be written either way;
an array's schema has one element. Members of an object at the top are elements.

An answer that cannot be read is a fail, `unparsed: ...`, whatever is expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from crucibleforge.chat import Reply
from crucibleforge.extract import Unread
from crucibleforge.extract.closed import UNKNOWN, folded, letter, one_of, tristate
from crucibleforge.extract.items import cells, names_in, numbers
from crucibleforge.extract.jsontext import NO_JSON, json_value
from crucibleforge.extract.number import number
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._said import all_or_nothing, answer_of, by_share, is_cut, nothing_said, text_of, unparsed
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_json, shortened
from crucibleforge.types import Case, Element, Finding

Settings = Mapping[str, Any]
Items = tuple[Fraction | str, ...]


def find(case: Case, replies: Replies) -> Finding:
    """Compare what the last reply states.

    Raises:
        ValueError: the settings name no known kind, whatever the reply says.
    """
    settings = case.grading.settings
    compare = _KINDS.get(_kind(settings))
    if compare is None:
        raise ValueError(f"unknown kind '{_kind(settings)}'; known: {', '.join(sorted(_KINDS))}")
    return nothing_said(replies[-1]) or compare(replies[-1], case.expected, settings)


def fault(reply: Reply, expected: str, settings: Settings) -> str:
    """Why the reply's answer is not the expected one; empty if it is."""
    return _KINDS[_kind(settings)](reply, expected, settings).why


def _kind(settings: Settings) -> str:
    return str(settings.get("kind", "name" if settings.get("choices") else "words"))


def _one(
    reply: Reply,
    expected: str,
    settings: Settings,
    read: Callable[[str], str | tuple[str, ...] | Unread],
    bare: Callable[[str], str | Unread] | None = None,
) -> Finding:
    """Compare an answer that is one of a set."""
    may_be_unknown = bool(settings.get("unknown"))

    def known(of: Callable[[str], str | tuple[str, ...] | Unread]) -> Callable[[str], tuple[Any, str] | Unread]:
        def reading(text: str) -> tuple[Any, str] | Unread:
            value = UNKNOWN if may_be_unknown and tristate(text) == UNKNOWN else of(text)
            return value if isinstance(value, Unread) else (value, text)

        return reading

    got = answer_of(reply, known(read), bare=known(bare or read))
    if isinstance(got, Unread):
        return all_or_nothing(unparsed(got))
    value, text = got
    return all_or_nothing("" if value == expected else f"got {shortened(text)}, expected {expected}")


def _words(reply: Reply, expected: str, settings: Settings) -> Finding:
    sensitive: bool = settings.get("case_sensitive", False)

    def read(text: str) -> str | Unread:
        # Both sides go through the same cleaning, so that an expected full stop is not held against the reply.
        is_same = folded(text, case_sensitive=sensitive) == folded(expected, case_sensitive=sensitive)
        return expected if is_same else folded(text, case_sensitive=sensitive)

    def bare(text: str) -> str | Unread:
        return expected if text and read(text) == expected else Unread("the last line is no answer")

    return _one(reply, expected, settings, read, bare)


def _name(reply: Reply, expected: str, settings: Settings) -> Finding:
    sensitive: bool = settings.get("case_sensitive", False)
    by_folded = {folded(name, case_sensitive=sensitive): name for name in settings["choices"]}

    def bare(text: str) -> str | Unread:
        return by_folded.get(folded(text, case_sensitive=sensitive)) or Unread("the last line is no answer")

    return _one(
        reply, expected, settings, lambda text: one_of(text, settings["choices"], case_sensitive=sensitive), bare
    )


def _choice(reply: Reply, expected: str, settings: Settings) -> Finding:
    return _one(reply, expected, settings, lambda text: letter(text, settings["options"]))


def _yes_no(reply: Reply, expected: str, settings: Settings) -> Finding:
    return _one(reply, expected, settings, lambda text: tristate(text, settings.get("also")))


def _list(reply: Reply, expected: list[Any], settings: Settings) -> Finding:
    got = _items(reply, settings)
    if isinstance(got, Unread):
        return all_or_nothing(unparsed(got))
    wanted = _wanted(expected, settings)
    is_same = got == wanted if settings.get("ordered", True) else Counter(got) == Counter(wanted)
    return all_or_nothing("" if is_same else f"got {_shown(got)}, expected {_shown(wanted)}")


def _tuple(reply: Reply, expected: list[Any], settings: Settings) -> Finding:
    got = _items(reply, settings)
    if isinstance(got, Unread):
        return all_or_nothing(unparsed(got))
    wanted = _wanted(expected, settings)
    elements = []
    for place, value in enumerate(wanted):
        name = f"{place + 1}: {value}"
        fault = (
            "missing" if place >= len(got) else "" if got[place] == value else f"got {_shown(got[place : place + 1])}"
        )
        elements.append(Element(name, passed=not fault, why=fault))
    if len(got) > len(wanted):
        elements.append(Element("nothing more", passed=False, why=f"{len(got)} values, expected {len(wanted)}"))
    return by_share(elements)


def _items(reply: Reply, settings: Settings) -> Items | Unread:
    choices = settings.get("choices")

    def read(text: str) -> Items | Unread:
        return names_in(text, choices) if choices else numbers(text, units=settings.get("units", ()))

    return answer_of(reply, read, lines=True)


def _wanted(expected: list[Any], settings: Settings) -> Items:
    return tuple(expected) if settings.get("choices") else tuple(Fraction(str(value)) for value in expected)


def _shown(items: Items) -> str:
    return shortened(", ".join(map(str, items[:40])))


def _grid(reply: Reply, expected: dict[str, Any], settings: Settings) -> Finding:
    got = answer_of(reply, lambda text: cells(text, list(expected)), lines=True)
    if isinstance(got, Unread):
        return all_or_nothing(unparsed(got))
    elements = []
    for label, wanted in expected.items():
        for place, value in enumerate(wanted if isinstance(wanted, list) else [wanted]):
            fault = "missing" if label not in got else _cell_fault(got[label], value, place, settings)
            elements.append(Element(f"{label}: {value}", passed=not fault, why=fault))
    return by_share(elements)


def _cell_fault(text: str, expected: Any, place: int, settings: Settings) -> str:
    choices = settings.get("choices")
    value: Any
    if choices:
        value = one_of(text, choices[place] if isinstance(choices[0], list) else choices)
    elif isinstance(expected, str):
        value = expected if folded(text) == folded(expected) else text
    else:
        value, expected = number(text, units=settings.get("units", ())), Fraction(str(expected))
    return "" if value == expected else f"got {shortened(text)}"


def _json(reply: Reply, expected: Any, settings: Settings) -> Finding:
    got = json_value(text_of(reply), in_prose=True)
    # Of what is no object and no array the cut may have taken a part.
    if got is NO_JSON or (is_cut(reply) and not isinstance(got, dict | list)):
        return all_or_nothing("unparsed: no JSON in reply")
    schema = settings.get("schema")
    if not isinstance(expected, dict) or not isinstance(got, dict) or not expected:
        return all_or_nothing(_typed_fault(got, expected, schema))
    of = schema if isinstance(schema, dict) else {}
    elements = []
    for name, value in expected.items():
        fault = _typed_fault(got[name], value, of.get(name)) if name in got else "missing"
        elements.append(Element(name, passed=not fault, why=fault))
    extra = next((name for name in got if name not in expected), None)
    if extra is not None:
        elements.append(Element("nothing more", passed=False, why=f"{as_json(extra)} is not expected"))
    return by_share(elements)


def _typed_fault(got: Any, expected: Any, schema: Any) -> str:
    return "" if _typed(got, expected, schema) else f"got {as_json(got)}, expected {as_json(expected)}"


def _typed(got: Any, expected: Any, schema: Any) -> bool:
    if isinstance(schema, dict) and isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and got.keys() == expected.keys()
            and all(_typed(got[name], value, schema.get(name)) for name, value in expected.items())
        )
    if isinstance(schema, list) and schema and isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(_typed(one, other, schema[0]) for one, other in zip(got, expected, strict=True))
        )
    return same(got, expected, within=0 if schema == "number" else None)


_KINDS: dict[str, Callable[[Reply, Any, Settings], Finding]] = {
    "words": _words,
    "name": _name,
    "choice": _choice,
    "yes_no": _yes_no,
    "list": _list,
    "tuple": _tuple,
    "grid": _grid,
    "json": _json,
}

SETTINGS = frozenset({"case_sensitive", "choices", "kind", "options", "also", "ordered", "unknown", "units", "schema"})
GRADER = ByReading("exact", 2, find, SETTINGS)
