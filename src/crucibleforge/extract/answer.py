r"""Find the short answer that a reply states: an answer line, a `\boxed{}`, an `<answer>` tag.

The last statement counts, whole. One that was begun later and never finished means that there is no answer: an
earlier one, which the model was about to replace, is not fallen back on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crucibleforge.extract.fence import opened, unified

MAX_ANSWER = 2000
"""Characters; a longer answer is none."""

_LABEL = (
    r"[ \t*_#>`~+\-]{0,40}(?:(?:the|my)[ \t]{1,4})?(?:(?:final|correct)[ \t]{1,4})?answer(?:[ \t]{1,4}is)?"
    r"[ \t*_`]{0,12}[:=\uff1a]"
)
_AT_LINE_START = re.compile(rf"^{_LABEL}", re.IGNORECASE | re.ASCII | re.MULTILINE)
_AT_START = re.compile(_LABEL, re.IGNORECASE | re.ASCII)
_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE | re.ASCII)
_BOX = "\\boxed{"
_WRAPPER = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\{")
_PAIRS = (
    ("<answer>", "</answer>"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ('"', '"'),
    ("'", "'"),
    ("\u201c", "\u201d"),
    ("\u2018", "\u2019"),
    ("<", ">"),  # a prompt's `<value>`, filled in with its brackets kept
)
_ONLY_OPENS_MATH = {"$$", "\\[", "\\("}

# NFKC would do more than this, and wrong: it reads the power in "10\u00b2" as a third digit.
_PLAIN = (
    dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
    | dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF))
    | {0x2010: "-", 0x2011: "-", 0x2212: "-", 0xFE63: "-"}
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
)


@dataclass(frozen=True)
class _Stated:
    """A statement of an answer: where it stands, and its value or None if it was never finished."""

    start: int
    end: int
    value: str | None


def answer_line(text: str, *, cut: bool) -> str | None:
    """The answer that the reply states last, cleaned; None without one.

    Args:
        text: What the model said, without its reasoning.
        cut: The reply ended at a token limit. An answer line then needs the end of its line, as a number may have
            lost digits; a box or tag is complete by its closer.
    """
    text = unified(text)
    line, tag, box = _last_line(text, cut=cut), _last_tag(text), _last_box(text)
    if line is not None:
        tag = None if _within(tag, line) else tag
        box = None if _within(box, line) else box
    box = None if tag is not None and _within(box, tag) else box
    found = [stated for stated in (line, tag, box) if stated is not None]
    if not found:
        return None
    value = max(found, key=lambda stated: stated.start).value
    return (clean(value) or None) if value is not None and len(value) <= MAX_ANSWER else None


def last_line(text: str) -> str:
    """The last line with anything on it, cleaned; empty if there is none or it is no short answer."""
    line = unified(text).rstrip().rpartition("\n")[2]
    return clean(line) if len(line) <= MAX_ANSWER else ""


def clean(text: str) -> str:
    """The bare answer: without markdown, math delimiters, quotes, a repeated label or trailing stops.

    Cleaning twice changes nothing. Text over `MAX_ANSWER` is left as it is.
    """
    if len(text) > MAX_ANSWER:
        return text
    value = text.translate(_PLAIN)
    while True:
        shorter = _unwrapped(value.strip(" \t\r\n*_`$").rstrip(".;,!"))
        if shorter == value:
            return value
        value = shorter


def _unwrapped(value: str) -> str:
    for opener, closer in _PAIRS:
        if len(value) >= len(opener) + len(closer) and value.startswith(opener) and value.endswith(closer):
            return value[len(opener) : -len(closer)]
    if wrapper := _WRAPPER.match(value):
        return value[wrapper.end() : -1] if _closer(value, wrapper.end()) == len(value) - 1 else value
    label = _AT_START.match(value)
    return value[label.end() :] if label else value


def _last_line(text: str, *, cut: bool) -> _Stated | None:
    label = None
    for label in _AT_LINE_START.finditer(text):  # noqa: B007 - only the last one matters
        pass
    if label is None:
        return None
    start = label.end()
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        line = text[start:stop]
        if line.strip(" \t*_`~") and not _opens_block(line):
            return _Stated(label.start(), stop, None if cut and end < 0 else line)
        if end < 0:
            return _Stated(label.start(), stop, None)
        start = end + 1


def _opens_block(line: str) -> bool:
    return line.strip() in _ONLY_OPENS_MATH or opened(line) is not None


def _last_tag(text: str) -> _Stated | None:
    opener: re.Match[str] | None = None
    last = None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opener = tag
        elif opener is not None:
            last = _Stated(opener.start(), tag.end(), text[opener.end() : tag.start()])
            opener = None
    return last if opener is None else _Stated(opener.start(), len(text), None)


def _last_box(text: str) -> _Stated | None:
    start = text.rfind(_BOX)
    if start < 0:
        return None
    inner = start + len(_BOX)
    end = _closer(text, inner)
    return _Stated(start, len(text), None) if end < 0 else _Stated(start, end + 1, text[inner:end])


def _closer(text: str, start: int) -> int:
    """Where the brace that was open at `start` closes, -1 if it does not within `MAX_ANSWER`."""
    depth = 1
    for place in range(start, min(len(text), start + MAX_ANSWER)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return -1


def _within(inner: _Stated | None, outer: _Stated) -> bool:
    return inner is not None and outer.start <= inner.start and inner.end <= outer.end
