"""Find tool calls that a model wrote into its text. They are attempts, never calls: nothing runs them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from crucibleforge.extract.jsontext import MAX_SIZE, NO_JSON, strict_json

MAX_WRITTEN = 64
"""More written calls than this are not looked at; each costs a look at its JSON."""

_CALL = re.compile(
    r"<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|channel\|>commentary to=|<\|tool_call>|<function=[A-Za-z_]"
    r'|\{\s{0,40}"name"\s{0,8}:\s{0,8}"[^"\n]{1,80}"\s{0,8},\s{0,40}"(?:arguments|parameters|args)"\s{0,8}:'
)
_JSON_AT = re.compile(r"\s{0,40}(?:<\|constrain\|>)?(?:json)?(?:<\|message\|>)?\s{0,40}(?=[\[{])")
_FUNCTION = re.compile(r"([A-Za-z_][\w.\-]{0,79})>")
_TO = re.compile(r"(?:functions\.)?([A-Za-z_][\w.\-]{0,79})")
_PARAMETER = re.compile(r"\s{0,40}<parameter=([A-Za-z_][\w.\-]{0,79})>([^<]{0,4000})</parameter>")
_ARGUMENTS = ("arguments", "parameters", "args")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Written:
    """A call as written; "malformed" is told by `arguments` None, and `name` is "" where none can be read."""

    name: str
    arguments: dict[str, Any] | None


def writes_call(text: str) -> bool:
    """True when the text holds something that was meant as a tool call, whole or broken."""
    return _CALL.search(text) is not None


def written_calls(text: str) -> tuple[Written, ...]:
    """The calls that the text writes out, in order, at most `MAX_WRITTEN`.

    Args:
        text: What the model said, without its reasoning: a call that it only thought of is none.
    """
    found: list[Written] = []
    at, room = 0, MAX_SIZE
    while len(found) < MAX_WRITTEN and room > 0 and (mark := _CALL.search(text, at)):
        start = mark.start() if mark[0].startswith("{") else mark.end()
        calls, at = _calls(text, mark[0], start, room)
        room -= at - mark.start()
        found += calls
    return tuple(found[:MAX_WRITTEN])


def _calls(text: str, mark: str, start: int, room: int) -> tuple[list[Written], int]:
    if mark.startswith("<function="):
        return _function(text, start - 1)
    if mark in {"<tool_call>", "<|tool_call>"} and text.startswith("<function=", start + _blanks(text, start)):
        return [], start
    named = _TO.match(text, start) if mark.startswith("<|channel|>") else None
    begin = _JSON_AT.match(text, named.end() + _blanks(text, named.end()) if named else start)
    if begin is None:
        return [Written(named[1] if named else "", None)], start
    return _json_calls(text, begin.end(), room, named[1] if named else "")


def _blanks(text: str, start: int) -> int:
    window = text[start : start + 40]
    return len(window) - len(window.lstrip())


def _json_calls(text: str, start: int, room: int, name: str) -> tuple[list[Written], int]:
    piece = text[start : start + room]
    try:
        _, length = _DECODER.raw_decode(piece)
    except (ValueError, RecursionError):
        return [Written(name, None)], start + 1
    value = strict_json(piece[:length])
    if name and isinstance(value, dict):
        return [Written(name, value)], start + length
    made = value if isinstance(value, list) else [value]
    return [_written(one) for one in made[:MAX_WRITTEN]] or [Written("", None)], start + length


def _written(value: Any) -> Written:
    if not isinstance(value, dict):
        return Written("", None)
    inner = value.get("function")
    value = inner if isinstance(inner, dict) else value
    name = value.get("name")
    given: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
    if isinstance(given, str):
        given = strict_json(given) if given.strip() else {}
    is_whole = isinstance(name, str) and given is not NO_JSON and isinstance(given, dict)
    return Written(name if isinstance(name, str) else "", given if is_whole else None)


def _function(text: str, start: int) -> tuple[list[Written], int]:
    found = _FUNCTION.match(text, start)
    if found is None:
        return [Written("", None)], start + 1
    arguments: dict[str, Any] = {}
    at = found.end()
    while parameter := _PARAMETER.match(text, at):
        value = strict_json(parameter[2])
        arguments[parameter[1]] = parameter[2].strip() if value is NO_JSON else value
        at = parameter.end()
    if arguments:
        is_whole = text.startswith("</function>", at + _blanks(text, at))
        return [Written(found[1], arguments if is_whole else None)], at
    if begin := _JSON_AT.match(text, at):
        return _json_calls(text, begin.end(), MAX_SIZE, found[1])
    is_whole = text.startswith("</function>", at + _blanks(text, at))
    return [Written(found[1], {} if is_whole else None)], at
