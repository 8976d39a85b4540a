"""Read JSON strictly (RFC 8259): no NaN, no Infinity, no duplicate keys, nothing around it."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Any, Final, NoReturn

from crucibleforge.extract.fence import fences

MAX_SIZE = 256 * 1024
"""Characters."""

MAX_DEPTH = 64
"""Arrays and objects inside each other."""


class _Nothing(Enum):
    NO_JSON = 0


NO_JSON: Final = _Nothing.NO_JSON
"""There is no JSON; None is the value that `null` has."""


def json_value(text: str) -> Any:
    """The JSON that the text is, else that of its last fenced block which is JSON; else `NO_JSON`."""
    value = strict_json(text)
    blocks = [] if value is not NO_JSON else [block.body for block in fences(text) if block.tag in {"", "json"}]
    while value is NO_JSON and blocks:
        value = strict_json(blocks.pop())
    return value


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
