"""Read whole numbers below a billion that are written in English words."""

from __future__ import annotations

import re

_ONES = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_SMALL = {word: value for value, word in enumerate(f"{_ONES} {_TEENS}".split())}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)  # noqa: SIM905
}
_SCALES = {"million": 1_000_000, "thousand": 1000}
_MAX_WORDS = 40
_GROUP = re.compile(r"(?:(?P<hundreds>.+) hundred(?: (?:and )?(?P<rest>.+))?|(?P<small>.+))")
_TEN = 10
_HUNDRED = 100


def spelt(text: str) -> int | None:
    """The number that the words say, such as "two thousand and forty-one"; None if they say none, or two."""
    words = text.lower().replace("-", " ").replace(",", " ").split()
    if not words or len(words) > _MAX_WORDS or not all(word.isalpha() for word in words):
        return None
    total = 0
    for scale, value in _SCALES.items():
        if scale in words:
            place = words.index(scale)
            group = _group(words[:place])
            if not group:  # none, or nought of them
                return None
            total += group * value
            words = words[place + 1 :]
            if not words:
                return total
            if words[0] == "and" and len(words) > 1:
                words = words[1:]
    last = _group(words)
    return None if last is None or (total and not last) else total + last


def _group(words: list[str]) -> int | None:
    """Up to 9,999, as in "nineteen hundred"."""
    found = _GROUP.fullmatch(" ".join(words))
    if found is None:
        return None
    if found["small"] is not None:
        return _below_hundred(found["small"])
    hundreds = 1 if found["hundreds"] == "a" else _below_hundred(found["hundreds"])
    rest = 0 if found["rest"] is None else _below_hundred(found["rest"])
    return None if not hundreds or rest is None else hundreds * _HUNDRED + rest


def _below_hundred(text: str) -> int | None:
    words = text.split()
    match words:
        case [word] if word in _SMALL or word in _TENS:
            return _SMALL.get(word, _TENS.get(word))
        case [tens, ones] if tens in _TENS and 0 < _SMALL.get(ones, 0) < _TEN:
            return _TENS[tens] + _SMALL[ones]
        case _:
            return None
