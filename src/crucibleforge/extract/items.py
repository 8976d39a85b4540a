"""Read an answer of several parts: numbers or names in a row, or cells with labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from crucibleforge.extract import Unread
from crucibleforge.extract.answer import MAX_ANSWER, clean
from crucibleforge.extract.closed import any_of, folded
from crucibleforge.extract.number import number

MAX_ITEMS = 400

_BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"), ("\\{", "\\}"), ("\\left(", "\\right)"), ("\\left[", "\\right]"))
_ARROW = r"(?:->|=>|-->|\u2192|\u21d2|\\to(?![a-z])|\\rightarrow|\\Rightarrow)"
_STRONG = re.compile(rf"\s*(?:,\s+and\s+|,\s+|;\s*|\||\n|{_ARROW}|&|\s+and\s+)\s*")
_GROUPED = re.compile(r"[+\-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBERING = re.compile(r"(?:^|\n)[ \t]*(?:[0-9]{1,3}[.)][ \t]+|[-*+\u2022][ \t]+)")
_BETWEEN = re.compile(
    r"(?:[\s,;|&\[\](){}<>\"'*_`.\\$\u2192\u21d2=\-\u2013\u2014]"
    r"|\\to|\\rightarrow|(?<!\w)(?:and|then|[0-9]{1,3}[.)])(?!\w))*"
)
_AFTER_LABEL = re.compile(
    r"[\s\"'*_`|]*(?::|=(?!=|>)|->|=>|\u2192|\||\bis\b|\bhas\b|\s-\s|\u2013|\u2014|\(|[.)](?=\s))[\s\"'*_`|]*"
    r"|[ \t]+(?=\w)"
)
_TABLE_HEAD = re.compile(r"\|[^\n]*\n[ \t]*\|?[ \t:|\-]{3,}\|?[ \t]*\n")
_AROUND = " \t\n,;|\"'*_`{}[]()&"


def numbers(text: str, *, units: Sequence[str] = ()) -> tuple[Fraction, ...] | Unread:
    """The numbers of a list, in order; nothing else may stand in it.

    A comma that is followed by white space separates; without any such one, every comma does.
    """
    body = _bare(text)
    if "..." in text or "\u2026" in text:
        return Unread("the list is left open")
    if len(body) > MAX_ANSWER:
        return Unread("the list is too long")
    body = _without_numbering(body)
    parts = [part for part in _STRONG.split(body) if part.strip()]
    is_spaced = len(parts) > 1
    pieces = [piece for part in parts for piece in _pieces(part, is_spaced=is_spaced)]
    if len(pieces) > MAX_ITEMS:
        return Unread("the list is too long")
    values = tuple(number(clean(piece), units=units) for piece in pieces)
    read = tuple(value for value in values if value is not None)
    return read if read and len(read) == len(values) else Unread("the answer is no list of numbers")


def _without_numbering(text: str) -> str:
    """The lines without `1.` or a bullet; on a line alone a dash is a sign, and `1.` may be a number."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) == 1 or not all(map(_NUMBERING.match, lines)):
        return text
    return "\n".join(_NUMBERING.sub("", line, count=1) for line in lines)


def names_in(text: str, names: Sequence[str]) -> tuple[str, ...] | Unread:
    """The names of a list, in order, each as it stands in `names`; nothing but separators may stand between them."""
    if len(text) > MAX_ANSWER:
        return Unread("the list is too long")
    if "..." in text or "\u2026" in text:
        return Unread("the list is left open")
    by_folded = {folded(name): name for name in names}
    body = " ".join(_NUMBERING.sub("\n", text.casefold()).split())
    pattern = any_of(tuple(by_folded))
    if not all(_BETWEEN.fullmatch(rest) for rest in pattern.split(body)):
        return Unread("the answer holds more than the list")
    found = tuple(by_folded[name] for name in pattern.findall(body))
    return found if found and len(found) <= MAX_ITEMS else Unread("the answer is no list of the possible names")


def cells(text: str, labels: Sequence[str]) -> dict[str, str] | Unread:
    """What stands behind each label, cleaned; a label with two different contents, or none, is left out.

    The text before the first label may say nothing but brackets and quotes.
    """
    if len(text) > MAX_ANSWER:
        return Unread("the answer is too long")
    by_folded = {folded(label): label for label in labels}
    head = _TABLE_HEAD.match(text.lstrip())
    text = text.lstrip()[head.end() :] if head else text
    body = text.casefold()
    starts = [
        (found, separator)
        for found in any_of(tuple(by_folded)).finditer(body)
        if (separator := _AFTER_LABEL.match(body, found.end()))
    ]
    if not starts or _NUMBERING.sub("", body[: starts[0][0].start()]).strip(_AROUND + "-\u2022\\$<."):
        return Unread("the answer has no labelled cells")
    ends = [found.start() for found, _ in starts[1:]] + [len(body)]
    read: dict[str, str] = {}
    torn = set()
    for (found, separator), end in zip(starts, ends, strict=True):
        label = by_folded[found[0]]
        content = _content(text[separator.end() : end] if len(body) == len(text) else body[separator.end() : end])
        if read.setdefault(label, content) != content:
            torn.add(label)
    return {label: content for label, content in read.items() if content and label not in torn}


def _content(text: str) -> str:
    bare = re.sub(r"(?:\n[ \t]*(?:[-*+\u2022]|[0-9]{1,3}[.)])|,?\s+and)\s*\Z", "", text)
    return clean(bare.strip(_AROUND))


def _bare(text: str) -> str:
    body = clean(text)
    shorter = True
    while shorter:
        shorter = False
        for opener, closer in _BRACKETS:
            if body.startswith(opener) and body.endswith(closer) and len(body) >= len(opener) + len(closer):
                body = clean(body[len(opener) : -len(closer)])
                shorter = True
    return body


def _pieces(part: str, *, is_spaced: bool) -> list[str]:
    """A part without a strong separator: a number, or several between commas or spaces."""
    if "," in part and not (is_spaced and _GROUPED.fullmatch(part)):
        return part.split(",")
    return part.split() if not is_spaced and "," not in part and re.fullmatch(r"[+\-\d./ ]+", part) else [part]
