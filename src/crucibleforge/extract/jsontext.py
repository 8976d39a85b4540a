"""Read JSON strictly (RFC 8259): no NaN, no Infinity, no duplicate keys, nothing around it."""

from __future__ import annotations

import json
import math
import re
from enum import Enum
from typing import Any, Final, NoReturn

from crucibleforge.extract.fence import fences

MAX_SIZE = 256 * 1024
"""Characters."""

MAX_DEPTH = 64
"""Arrays and objects inside each other."""


_TAGS = {"", "json", "json5", "jsonc"}
_WORD = re.compile(r"\A\s{0,40}json[ \t]{0,8}\r?\n", re.IGNORECASE)


class _Nothing(Enum):
    NO_JSON = 0


NO_JSON: Final = _Nothing.NO_JSON
"""There is no JSON; None is the value that `null` has."""


def json_value(text: str, *, in_prose: bool = False) -> Any:
    """The JSON that the text is, else that of its last fenced block which is JSON; else `NO_JSON`.

    Args:
        text: What the model said, without its reasoning; the bare word `json` may stand in front.
        in_prose: What stands between the first brace or bracket of the text and the last one may be it, too.
    """
    value = strict_json(_WORD.sub("", text, count=1))
    blocks = [] if value is not NO_JSON else [block.body for block in fences(text) if block.tag in _TAGS]
    fenced = bool(blocks)
    while value is NO_JSON and blocks:
        value = strict_json(blocks.pop())
    return _between(text) if value is NO_JSON and in_prose and not fenced else value


def _between(text: str) -> Any:
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    if not starts:
        return NO_JSON
    start = min(starts)
    return strict_json(text[start : text.rfind("}" if text[start] == "{" else "]") + 1])


def strict_json(text: str) -> Any:
    """The JSON that the whole text is, else `NO_JSON`."""
    if len(text) > MAX_SIZE:
        return NO_JSON
    try:
        value = json.loads(
            text.strip("\ufeff \t\r\n"), object_pairs_hook=_object, parse_float=_float, parse_constant=_refused
        )
    except (ValueError, RecursionError):
        return NO_JSON
    return value if _is_shallow(value) else NO_JSON


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("duplicate key")
    return built


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("number out of range")
    return value


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        if not level:
            return True
    return False


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
