"""Read native tool calls and decide whether two of them ask for the same."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from crucibleforge.chat import Tool, ToolCall
from crucibleforge.extract.jsontext import NO_JSON, strict_json
from crucibleforge.graders._same import same
from crucibleforge.graders._shown import as_json, shortened

Kinds = Mapping[str, str]
"""How arguments are compared, by their path: `when`, `address.code`, `lines[].price`."""

_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
    r" ?(?:[Zz]|([+-])([01][0-9]|2[0-3]):?([0-5][0-9]))"
)
_DECIMAL = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Made:
    """A call as made; `arguments` is None and `broken` says why where its tool could not have been run with them."""

    name: str
    arguments: dict[str, Any] | None
    broken: str = ""


def read(call: ToolCall, tools: Mapping[str, Tool]) -> Made:
    """A native call of a model; one that its tool's schema refuses is broken."""
    # Some servers send no text for no arguments.
    arguments = strict_json(call.arguments) if call.arguments.strip() else {}
    if not isinstance(arguments, dict):
        return Made(call.name, None, f"arguments are not {'JSON' if arguments is NO_JSON else 'a JSON object'}")
    tool = tools.get(call.name)
    refused = _refused(arguments, tool.parameters) if tool else ""
    return Made(call.name, None, refused) if refused else Made(call.name, arguments)


def is_call(made: Made, expected: Mapping[str, Any], kinds: Kinds) -> bool:
    """True when a call is the expected one: numbers by value, text exactly, the rest as `kinds` says."""
    if made.name != expected["name"] or made.arguments is None:
        return False
    return _alike(made.arguments, expected["arguments"], kinds, "")


def has(arguments: Mapping[str, Any], some: Mapping[str, Any]) -> bool:
    """True when the arguments hold all of `some`, whatever else they hold."""
    return all(name in arguments and same(arguments[name], value, within=0) for name, value in some.items())


def fault(made: Made, expected: Mapping[str, Any], kinds: Kinds) -> str:
    """How a call differs from the expected one; empty if it does not."""
    if made.name != expected["name"]:
        return f"called {shortened(made.name)}, expected {expected['name']}"
    if made.arguments is None:
        return made.broken
    for name, value in expected["arguments"].items():
        if name not in made.arguments:
            return f"argument '{name}' is missing"
        if not _alike(made.arguments[name], value, kinds, name):
            return f"argument '{name}' is {as_json(made.arguments[name])}, expected {as_json(value)}"
    extra = next((name for name in made.arguments if name not in expected["arguments"]), None)
    return "" if extra is None else f"argument '{shortened(extra)}' is not expected"


def _alike(got: Any, expected: Any, kinds: Kinds, path: str) -> bool:
    return same(_canonical(got, kinds, path), _canonical(expected, kinds, path), within=0)


def _canonical(value: Any, kinds: Kinds, path: str) -> Any:
    """The value with all that `kinds` names in a form in which equal ones are the same."""
    if not any(rule.startswith(path) for rule in kinds):
        return value
    if isinstance(value, dict):
        value = {key: _canonical(inner, kinds, f"{path}.{key}" if path else key) for key, inner in value.items()}
    elif isinstance(value, list):
        value = [_canonical(inner, kinds, f"{path}[]") for inner in value]
    return FORMS[kinds[path]](value) if path in kinds else value


def _instant(value: Any) -> Any:
    """Time since 1970, whatever offset it is written with; a time without one is no instant and stays text."""
    found = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return value
    year, month, day, hour, minute = map(int, found.group(1, 2, 3, 4, 5))
    try:
        local = datetime(year, month, day, hour, minute, int(found[6] or 0), int((found[7] or "").ljust(6, "0")), UTC)
    except ValueError:
        return value
    offset = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0))
    return local - _EPOCH + (offset if found[8] == "-" else -offset)


def _decimal(value: Any) -> Any:
    if isinstance(value, str):
        return Fraction(value) if _DECIMAL.fullmatch(value) else value
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return Fraction(value if type(value) is int else repr(value))
    return value


def _set(value: Any) -> Any:
    return sorted(value, key=_place) if isinstance(value, list) else value


def _place(value: Any) -> str:
    # Only an order: 25 and 25.0 must get the same place.
    whole = int(value) if type(value) is float and value.is_integer() else value
    return json.dumps(whole, sort_keys=True, default=str)


FORMS: dict[str, Callable[[Any], Any]] = {"instant": _instant, "decimal": _decimal, "set": _set}
"""What `kinds` may say: a point in time, a number as text or number, a list in which the order says nothing."""

_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "number": lambda value: type(value) in {int, float},
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _refused(arguments: dict[str, Any], schema: Mapping[str, Any]) -> str:
    """Why a server that checks would refuse the arguments, by the part of JSON Schema that tools use."""
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"argument '{name}' is missing"
    for name, value in arguments.items():
        if name not in known:
            if schema.get("additionalProperties") is False:
                return f"argument '{shortened(name)}' is not expected"
        elif not _fits(value, known[name]):
            return f"argument '{name}' is {as_json(value)}, which its schema does not allow"
    return ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    is_type = _TYPES.get(schema.get("type", ""))
    if is_type is not None and not is_type(value):
        return False
    if "enum" in schema and not any(same(value, one, within=0) for one in schema["enum"]):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(_fits(inner, schema["items"]) for inner in value)
    return True
