r"""Read a string that is one number and nothing else, exactly.

Taken: a sign, thousands separators of one kind (also in the Indian and the dotted way), decimals with point or, where
that cannot be a thousands separator, comma; `a/b`, `\frac`, mixed and vulgar fractions; powers; English number words
below a billion; ordinals; `x =` before it and what it equals; a remark in brackets behind it.
Not taken: two numbers, ranges, sums, a half-read one, anything left over.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from crucibleforge.extract.words import spelt

MAX_NUMBER = 400
"""Characters; Python refuses to read integers over 4,300 digits, and no answer is that long."""

_MAX_SIDES = 8
_MAX_POWER = 400
"""Digits of a power; a larger one would fill the memory."""

_GROUPS = r"(?:[1-9][0-9]{0,2}(?:(?P<sep>[,_' ])[0-9]{3})(?:(?P=sep)[0-9]{3})*"
_INDIAN = r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
_WHOLE = rf"{_GROUPS}{_INDIAN}|[0-9]+)"
_EXPONENT = r"[+\-]?[0-9]{1,3}"  # three digits, as a longer one would fill the memory
_TENS = (
    rf"(?:[eE](?P<exp>{_EXPONENT})"
    rf"| *(?:\\times|\\cdot|\u00d7|\u00b7|\*|x) *10 *(?:\^|\*\*) *"
    rf"(?P<brace>\{{)? *(?P<power>{_EXPONENT}) *(?(brace)\}}))?"
)
_DECIMAL = re.compile(rf"(?P<whole>{_WHOLE})?(?:\.(?P<part>[0-9]*))?{_TENS}")
_DOTTED = re.compile(r"(?P<whole>[1-9][0-9]{0,2}(?:(?:\.[0-9]{3}){2,}|(?:\.[0-9]{3})+(?=,)))(?:,(?P<part>[0-9]+))?")
_COMMA = re.compile(r"(?P<whole>0|[1-9][0-9]*),(?P<part>[0-9]+)")
_SLASH = r"(?P<top>[0-9]+) ?/ ?(?P<bottom>[0-9]+)"
_FRAC = (
    r"\\[dtc]?frac *(?:\{ *(?P<sign>-?) *(?P<upper>[0-9]+) *\} *\{ *(?P<lower>[0-9]+) *\}"
    r"|(?P<up>[0-9]) ?(?P<low>[0-9]))"
)
_FRACTION = re.compile(rf"(?:(?P<whole>[0-9]+) )?{_SLASH}|(?P<ahead>[0-9]+)? *{_FRAC}")
_POWER = re.compile(r"(?P<base>[0-9]{1,40}) *(?:\^|\*\*) *(?:\{ *(?P<braced>[0-9]{1,4}) *\}|(?P<bare>[0-9]{1,4}))")
_ORDINAL = re.compile(r"(?P<digits>[0-9]{1,30})(?:\^\{?)?(?:\\text\{)?(?:st|nd|rd|th)\}{0,2}", re.IGNORECASE)
_SIGN = re.compile(r"(?:[+\-\u2212\u2013\u2014]|(?:minus|negative|plus)(?= )) *", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z\\][A-Za-z0-9_ ,'{}()\\]{0,60}")
_GLOSS = re.compile(r" *(?:\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\[([^][]*)\])")
_NO_GLOSS = re.compile(r"(?<![a-z])(?:or|if|unless|between|either|maybe|perhaps|possibly|not)(?![a-z])", re.IGNORECASE)
_EQUALS = re.compile(r"(\\approx|\\equiv|[=\u2248])")
_SYMBOLS = r"[\d\s+\-*/^().,!{}\u00d7\u00b7\u2212\u00f7]*"
_ARITHMETIC = re.compile(rf"{_SYMBOLS}(?:\\[a-z]{{2,8}}{_SYMBOLS})*")
_LATEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|operatorname)\{([^{}]{0,60})\}")
_VULGAR = {
    "\u00bc": "1/4",
    "\u00bd": "1/2",
    "\u00be": "3/4",
    "\u2153": "1/3",
    "\u2154": "2/3",
    "\u2155": "1/5",
    "\u2156": "2/5",
    "\u2157": "3/5",
    "\u2158": "4/5",
    "\u2159": "1/6",
    "\u215a": "5/6",
    "\u215b": "1/8",
    "\u215c": "3/8",
    "\u215d": "5/8",
    "\u215e": "7/8",
}
_IS_VULGAR = re.compile(rf" ?([{''.join(_VULGAR)}])")
_RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b", "0123456789-")
_IS_RAISED = re.compile(r"(?<=[0-9])([\u207b]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+)")
_MIN_PLURAL = 3


def number(text: str, *, units: Collection[str] = (), percent: bool = False) -> Fraction | None:
    """The number that the whole string is; None if it is none, or two, or over `MAX_NUMBER` characters.

    Args:
        text: An answer, cleaned.
        units: What may stand before or behind the number, in any case: "km", "EUR". A plural s of a word is let pass.
        percent: A percent sign may stand behind it; the number is that of per cent, so "25%" is 25.
    """
    if len(text) > MAX_NUMBER:
        return None
    written = [*units, *(("%", "percent", "per cent") if percent else ())]
    plain = _without_gloss(_plain(text), written)
    if plain is None:
        return None
    *before, last = _EQUALS.split(plain)
    if not before:
        return _side(last, written)
    return _of_sides(before, last, written)


def _of_sides(before: list[str], last: str, units: list[str]) -> Fraction | None:
    """The value of `a = b = c`: every side that is a number must say the same; of an approximation the exact side."""
    sides, signs = [*before[::2], last], before[1::2]
    if len(sides) > _MAX_SIDES:
        return None
    value = _side(last, units)
    if value is None:
        return None
    for side, sign in zip(reversed(sides[:-1]), reversed(signs), strict=True):
        other = _side(side, units)
        if other is None:
            if not _may_equal(side.strip()):
                return None
        elif sign in {"\u2248", "\\approx"}:
            value = other
        elif other != value:
            return None
    return value


def _may_equal(side: str) -> bool:
    r"""True for what a value may stand behind: nothing, a name, arithmetic such as `12 * 144 + 1` or `\binom{6}{2}`."""
    if not side or _ARITHMETIC.fullmatch(side):
        return True
    return _NAME.fullmatch(side) is not None and not _NO_GLOSS.search(side)


def _plain(text: str) -> str:
    text = _LATEX.sub(r"\1", text.strip())
    text = re.sub(r"\\!|\{,\}", lambda found: "," if found[0] == "{,}" else "", text)
    text = re.sub(r"\\[,;: ]|[\u00a0\u2009\u202f~]", " ", text).replace("\\%", "%").replace("\\$", "$")
    text = text.replace("\u2212", "-").replace("\u2044", "/").replace("\u2019", "'")
    text = _IS_VULGAR.sub(lambda found: f" {_VULGAR[found[1]]}", text)
    text = _IS_RAISED.sub(lambda found: "^{" + found[1].translate(_RAISED) + "}", text)
    return text.strip()


def _without_gloss(text: str, units: list[str]) -> str | None:
    """The text without a last remark in brackets; None if the remark names another number or a choice."""
    if not text.endswith((")", "]")):
        return text
    start = max(text.rfind(" ("), text.rfind(" ["))
    if start <= 0 or not (gloss := _GLOSS.fullmatch(text, start)):
        return text
    said = (gloss[1] or gloss[2] or "").strip()
    value = _side(said.lstrip("=\u2248 "), units)
    ahead = _side(text[:start], units)
    if _NO_GLOSS.search(said) or (value is not None and ahead is not None and value != ahead):
        return None
    return text[:start].rstrip()


def _side(text: str, units: list[str]) -> Fraction | None:
    text = re.sub(r"^(?:exactly|precisely) ", "", text.strip(), flags=re.IGNORECASE)
    text, before = _without_unit(text, units, at_start=True)
    is_negative = False
    if sign := _SIGN.match(text):
        is_negative = sign[0].strip().lower() not in {"+", "plus"}
        text = text[sign.end() :]
    if not before:
        text, before = _without_unit(text, units, at_start=True)
    if not before:
        text, _ = _without_unit(text, units, at_start=False)
    value = _unsigned(text.strip())
    return value if value is None or not is_negative else -value


def _without_unit(text: str, units: list[str], *, at_start: bool) -> tuple[str, bool]:
    if not units:
        return text, False
    one = "|".join(
        re.escape(unit) + ("(?:e?s)?" if len(unit) >= _MIN_PLURAL and unit[-1].isalpha() else "")
        for unit in sorted(units, key=len, reverse=True)
    )
    found = re.match(rf"(?:{one})(?![^\W\d_]) *", text, re.IGNORECASE) if at_start else None
    if found:
        return text[found.end() :], True
    found = None if at_start else re.search(rf"(?<![^\W\d_])(?:{one})\Z", text, re.IGNORECASE)
    return (text[: found.start()].rstrip(), True) if found else (text, False)


def _unsigned(text: str) -> Fraction | None:
    if found := _DECIMAL.fullmatch(text):
        return _decimal(found)
    if found := _DOTTED.fullmatch(text) or _COMMA.fullmatch(text):
        whole, part = found["whole"].replace(".", ""), found["part"] or ""
        return Fraction(int(whole + part), 10 ** len(part))
    if found := _FRACTION.fullmatch(text):
        return _fraction(found)
    if found := _POWER.fullmatch(text):
        base, power = int(found["base"]), int(found["braced"] or found["bare"])
        return Fraction(base**power) if len(found["base"]) * power <= _MAX_POWER else None
    if found := _ORDINAL.fullmatch(text):
        return Fraction(int(found["digits"]))
    words = spelt(text)
    return None if words is None else Fraction(words)


def _decimal(found: re.Match[str]) -> Fraction | None:
    whole, part = re.sub(r"[^0-9]", "", found["whole"] or ""), found["part"] or ""
    if not whole and not part:
        return None
    power = int(found["exp"] or found["power"] or "0")
    return Fraction(int(whole + part)) * Fraction(10) ** (power - len(part))


def _fraction(found: re.Match[str]) -> Fraction | None:
    top = int(found["top"] or found["upper"] or found["up"])
    bottom = int(found["bottom"] or found["lower"] or found["low"])
    if not bottom:
        return None
    whole = found["whole"] or found["ahead"]
    if whole is None:
        return -Fraction(top, bottom) if found["sign"] else Fraction(top, bottom)
    # Behind a whole number only a proper fraction reads as its part.
    return int(whole) + Fraction(top, bottom) if top < bottom and not found["sign"] else None
