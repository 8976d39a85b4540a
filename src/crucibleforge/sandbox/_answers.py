"""Reads the driver's lines. Total: any bytes give an answer of the program, or a `Breach` that says what is wrong."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

from crucibleforge.programs import Raised, Returned

DEPTH = 200
"""Deeper values would break whoever walks them by recursion."""
_KIND_LENGTH = 80
_MESSAGE_LENGTH = 300
_AT_LENGTH = 120
_MOST_STEPS = 10_000_000
_CPU_DIGITS = 15


class Breach(Exception):  # noqa: N818 - the program's doing, not an error of ours
    """The program broke the protocol; the message completes that sentence."""


@dataclass(frozen=True)
class Broken:
    """The code never came to a call."""

    reason: str


def is_ready(line: bytes) -> bool:
    """True for the driver's greeting."""
    return line == b'{"ready": 1}'


@dataclass(frozen=True)
class Answer:
    """What a call gave, and the CPU time that the driver measured for it."""

    result: Returned | Raised | Broken
    cpu_s: float


def decode(line: bytes, nonce: str) -> Answer:
    """What one answer says.

    Raises:
        Breach: it is not an answer to the call with this nonce.
    """
    measured, space, said = line[:_CPU_DIGITS], line[_CPU_DIGITS : _CPU_DIGITS + 1], line[_CPU_DIGITS + 1 :]
    if len(measured) < _CPU_DIGITS or not measured.isdigit() or space != b" ":
        raise Breach("its answer has no measure of its time")
    return Answer(_result(said, nonce), int(measured) / 1e6)


def _result(line: bytes, nonce: str) -> Returned | Raised | Broken:
    try:
        said = json.loads(line.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Breach("its answer is not JSON") from None
    if not isinstance(said, dict) or said.pop("n", None) != nonce:
        raise Breach("its answer belongs to no call")
    match said:
        case {"value": value, **rest} if not rest:
            fault = _fault(value)
            return Raised("ValueError", f"returned {fault}, not JSON") if fault else Returned(value)
        case {"raised": [str(kind), str(message), str(at), int(step)], **rest} if not rest and _is_step(step):
            return Raised(_clean(kind, _KIND_LENGTH), _clean(message, _MESSAGE_LENGTH), _clean(at, _AT_LENGTH), step)
        case {"broken": str(reason), **rest} if not rest:
            return Broken(_clean(reason, _MESSAGE_LENGTH))
        case _:
            raise Breach("its answer has another form")


def _is_step(step: int) -> bool:
    return not isinstance(step, bool) and 0 <= step <= _MOST_STEPS


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _fault(value: Any) -> str:
    """What in a decoded value is not JSON by the letter; "" when all is well."""
    level: list[Any] = [value]
    for _ in range(DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, float) and not math.isfinite(item):
                return "an infinite number"
            if isinstance(item, str) and not _is_unicode(item):
                return "half a character"
            if isinstance(item, list):
                below += item
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
        if not below:
            return ""
        level = below
    return f"a value nested deeper than {DEPTH}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _clean(text: str, length: int) -> str:
    """One printable line: model-written text may hold escape sequences for the terminal that will show it."""
    return "".join(character if character.isprintable() else " " for character in text[:length])
