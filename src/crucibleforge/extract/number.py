r"""Read a string that is one number and nothing else.

Not read yet: number words, mixed numbers, decimal commas, units, powers other than of ten.
"""

from __future__ import annotations

import re
from fractions import Fraction

MAX_NUMBER = 400
"""Characters; Python refuses to read integers over 4,300 digits, and no answer is that long."""

_NAME = r"(?:[A-Za-z][A-Za-z0-9_]{0,15} *= *)?"
_SIGN = r"(?P<sign>[+\-\u2212\u2013]?) *"
_WHOLE = r"(?:[1-9][0-9]{0,2}(?:(?P<sep>[,_' \u00a0\u2009\u202f]|\{,\}|\\,)[0-9]{3})(?:(?P=sep)[0-9]{3})*|[0-9]+)"
_EXPONENT = r"[+\-\u2212]?[0-9]{1,3}"  # three digits, as a longer one would fill the memory
_POWER = (
    rf"(?:[eE](?P<exp>{_EXPONENT})"
    rf"| *(?:\\times|\\cdot|\u00d7|\*) *10\^(?P<brace>\{{)?(?P<power>{_EXPONENT})(?(brace)\}}))?"
)
_DECIMAL = re.compile(rf"{_NAME}{_SIGN}(?P<whole>{_WHOLE})?(?:\.(?P<part>[0-9]*))?{_POWER}")
_FRACTION = re.compile(
    rf"{_NAME}{_SIGN}(?:(?P<top>[0-9]+) */ *(?P<bottom>[0-9]+)"
    r"|\\[dt]?frac *\{ *(?P<upper>-?[0-9]+) *\} *\{ *(?P<lower>[0-9]+) *\})"
)


def number(text: str) -> Fraction | None:
    r"""The number that the whole string is, exactly; None if it is none, or two, or over `MAX_NUMBER` characters.

    Taken: a sign, thousands separators (one kind, comma, underscore, apostrophe or space, in groups of three),
    decimals, `a/b` and `\frac`, powers of ten, and `x =` before it. `0,75` could mean two numbers and means none.
    """
    if len(text) > MAX_NUMBER:
        return None
    text = text.strip()
    if found := _DECIMAL.fullmatch(text):
        return _decimal(found)
    if found := _FRACTION.fullmatch(text):
        bottom = int(found["bottom"] or found["lower"])
        return _signed(found, Fraction(int(found["top"] or found["upper"]), bottom)) if bottom else None
    return None


def _decimal(found: re.Match[str]) -> Fraction | None:
    whole, part = re.sub(r"[^0-9]", "", found["whole"] or ""), found["part"] or ""
    if not whole and not part:
        return None
    power = int((found["exp"] or found["power"] or "0").replace("\u2212", "-"))
    return _signed(found, Fraction(int(whole + part)) * Fraction(10) ** (power - len(part)))


def _signed(found: re.Match[str], value: Fraction) -> Fraction:
    return -value if found["sign"] not in {"", "+"} else value
