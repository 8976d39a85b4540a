r"""Find the short answer that a reply states, and take its dress off.

The best kind of statement counts: an answer line, a `\boxed{}` or a tag; else such a label after a sentence, or the
member `answer` of JSON; else a sentence that says what the answer is. Of the best kind it is the last one, whole.
One that was begun later and never finished means that there is no answer: an earlier one, which the model was about
to replace, is not fallen back on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from crucibleforge.extract import Unread
from crucibleforge.extract.fence import opened, unified
from crucibleforge.extract.jsontext import json_value

MAX_ANSWER = 2000
"""Characters; a longer answer is none."""

NOTHING = Unread("no answer line in reply")
UNFINISHED = Unread("the last answer was begun and not finished")

_WORDS = r"(?:(?:the|my|our)[ \t]{1,4})?(?:(?:final|correct)[ \t]{1,4})?answer"
_LABEL = rf"[ \t*_#>`~+\-]{{0,40}}{_WORDS}(?:[ \t]{{1,4}}is)?[ \t*_`]{{0,12}}[:=\uff1a]"
_FLAGS = re.IGNORECASE | re.ASCII | re.MULTILINE
_AT_LINE_START = re.compile(
    rf"^(?:{_LABEL}|[ ]{{0,3}}#{{1,6}}[ \t]{{1,4}}[*_]{{0,3}}{_WORDS}[*_]{{0,3}}[ \t]{{0,40}}$"
    rf"|[ \t>]{{0,8}}(?:\*\*|__){_WORDS}(?:\*\*|__)[ \t]{{0,40}}$)",
    _FLAGS,
)
_AT_START = re.compile(_LABEL, re.IGNORECASE | re.ASCII)
_AFTER_SENTENCE = re.compile(
    rf"(?<=[.!?;:)])[ \t]{{1,4}}[*_`]{{0,3}}{_WORDS}(?:[ \t]{{1,4}}is)?[*_`]{{0,3}}[:=]", _FLAGS
)
_SENTENCE = re.compile(
    r"(?:^[ \t*_>\-]{0,12}|(?<=[.!?:;])[ \t]{1,4}|,[ \t]{1,4}(?=so|thus|hence|therefore))"
    r"(?:(?:so|thus|hence|therefore|finally)[, \t]{1,4})?(?:the|my|our)[ \t]{1,4}(?:(?:final|correct)[ \t]{1,4})?"
    r"answer[ \t]{1,4}is[ \t*]{1,4}",
    _FLAGS,
)
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d)*_`]{0,4}[ \t]+(?=[\"'\u201c(*_]{0,3}[A-Z])")
_TAG = re.compile(r"<(/?)(answer|final_answer|solution|final)>", re.IGNORECASE | re.ASCII)
_BOX = re.compile(r"\\(?:d?boxed|fbox)(?:[ ]{0,4}\{|[ ]{0,4}(?=[+\-]?[0-9]{1,40}(?![\w.,/])|[A-Za-z](?![A-Za-z0-9_])))")
_BARE_BOXED = re.compile(r"[+\-]?[0-9]{1,40}|[A-Za-z]")
_WRAPPER = re.compile(r"\\(?:d?boxed|fbox|text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|mbox|bm|bf) ?\{")
_HEDGE = re.compile(r"\d|(?<![a-z])(?:or|and|not|maybe|between|either|neither|nor|if|unless)(?![a-z])", re.IGNORECASE)
_TAKES_BACK = re.compile(
    r"\W{0,9}(?:or|no|not|wait|hmm|actually|sorry|but|however|maybe|perhaps|alternatively|either|otherwise"
    r"|correction|instead|unless|if|though|although|and)(?![a-z])",
    re.IGNORECASE,
)
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
_BULLET = re.compile(r"[ \t]{0,12}[-*+\u2022][ \t]{1,8}(?!\d)")  # before digits it is a sign
_MEMBERS = ("final_answer", "answer")

# NFKC would do more than this, and wrong: it reads the power in "10\u00b2" as a third digit.
_PLAIN = (
    dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
    | dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF))
    | {0x2010: "-", 0x2011: "-", 0x2212: "-", 0xFE63: "-"}
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
)
_DASH_AS_SIGN = re.compile(r"(?<![\w)])[\u2013\u2014](?= ?\d)")


@dataclass(frozen=True)
class _Stated:
    """A statement of an answer: where it stands, and its value or None if it was never finished.

    `block` has the lines after it too, up to a blank one, where the value begins on a line of its own.
    """

    start: int
    end: int
    value: str | None
    block: str = ""


def answer_line(text: str, *, cut: bool) -> str | Unread:
    """The answer that the reply states last, cleaned.

    Args:
        text: What the model said, without its reasoning.
        cut: The reply ended at a token limit. An answer line then needs the end of its line, as a number may have
            lost digits; a box or tag is complete by its closer. No other statement counts.
    """
    found = _found(unified(text), cut=cut)
    return found if isinstance(found, Unread) else _cleaned(found.value or "")


def answer_block(text: str, *, cut: bool) -> str | Unread:
    """As `answer_line`; where the answer begins on the line after its label, with its further lines, not cleaned."""
    found = _found(unified(text), cut=cut)
    if isinstance(found, Unread):
        return found
    return found.block if len(found.block) <= MAX_ANSWER and "\n" in found.block else _cleaned(found.value or "")


def last_line(text: str) -> str:
    """The last line with anything on it, cleaned; empty if there is none or it is no short answer."""
    line = unified(text).rstrip().rpartition("\n")[2]
    return clean(line) if len(line) <= MAX_ANSWER else ""


def first_sentence(text: str) -> str:
    """The first of several sentences, cleaned; empty if there is one only, or what follows takes it back."""
    end = _SENTENCE_END.search(text[:MAX_ANSWER])
    return "" if end is None or _TAKES_BACK.match(text, end.end()) else clean(text[: end.start()])


def clean(text: str) -> str:
    """The bare answer: without markdown, math delimiters, quotes, a repeated label or trailing stops.

    Cleaning twice changes nothing. Text over `MAX_ANSWER` is left as it is.
    """
    if len(text) > MAX_ANSWER:
        return text
    value = text.translate(_PLAIN)
    while True:
        bare = value.strip(" \t\r\n*_`$")
        # Three dots say that more would follow, so they are part of the answer.
        shorter = _DASH_AS_SIGN.sub("-", _unwrapped(bare if bare.endswith("...") else bare.rstrip(".;,!")))
        if shorter == value:
            return value
        value = shorter


def _cleaned(value: str) -> str | Unread:
    if len(value) > MAX_ANSWER:
        return Unread("the answer is too long")
    return clean(value) or Unread("the answer is empty")


def _unwrapped(value: str) -> str:
    for opener, closer in _PAIRS:
        if len(value) >= len(opener) + len(closer) and value.startswith(opener) and value.endswith(closer):
            return value[len(opener) : -len(closer)]
    if wrapper := _WRAPPER.match(value):
        return value[wrapper.end() : -1] if _closer(value, wrapper.end()) == len(value) - 1 else value
    label = _AT_START.match(value)
    return value[label.end() :] if label else value


def _found(text: str, *, cut: bool) -> _Stated | Unread:
    best = _labelled(text, cut=cut)
    if best is None and not cut:
        best = _after_sentence(text) or _member(text) or _sentence(text)
    if best is None:
        return NOTHING
    return UNFINISHED if best.value is None else best


def _labelled(text: str, *, cut: bool) -> _Stated | None:
    """The last answer line, box or tag; one inside another belongs to it."""
    line, tag, box = _last_line(text, cut=cut), _last_tag(text), _last_box(text)
    if line is not None:
        tag = None if _within(tag, line) else tag
        if _within(box, line) and _is_finished(box) and not _says_only(line.value or "", box):
            box = None
    box = None if tag is not None and _within(box, tag) else box
    found = [stated for stated in (line, tag, box) if stated is not None]
    return max(found, key=lambda stated: stated.start) if found else None


def _is_finished(stated: _Stated | None) -> bool:
    return stated is not None and stated.value is not None


def _says_only(line: str, box: _Stated | None) -> bool:
    """True when the words around the box in a line state no other value and do not hedge."""
    if box is None or not box.value or len(line) > MAX_ANSWER:
        return False
    before, boxed, after = line.partition(box.value)
    return len(_BOX.findall(line)) == 1 and bool(boxed) and not _HEDGE.search(f"{before} {after}")


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
            if cut and end < 0:
                return _Stated(label.start(), stop, None)
            if start == label.end():
                return _Stated(label.start(), stop, line)
            bullet = _BULLET.match(line)
            return _Stated(label.start(), stop, line[bullet.end() :] if bullet else line, _paragraph(text, start))
        if end < 0:
            # Nothing follows a label that is written out; a heading alone says nothing either.
            return _Stated(label.start(), stop, None if cut else "")
        start = end + 1


def _paragraph(text: str, start: int) -> str:
    lines = []
    for line in text[start : start + MAX_ANSWER + 1].split("\n"):
        if not line.strip() or opened(line):
            break
        lines.append(line)
    return "\n".join(lines)


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
    # The other names are words that a text may mention.
    is_open = opener is not None and opener[2].lower() == "answer"
    return _Stated(opener.start(), len(text), None) if opener is not None and is_open else last


def _last_box(text: str) -> _Stated | None:
    last = None
    for last in _BOX.finditer(text):  # noqa: B007 - only the last one matters
        pass
    if last is None:
        return None
    if not last[0].endswith("{"):
        bare = _BARE_BOXED.match(text, last.end())
        return _Stated(last.start(), bare.end(), bare[0]) if bare else None
    end = _closer(text, last.end())
    if end < 0:
        return _Stated(last.start(), len(text), None)
    return _Stated(last.start(), end + 1, text[last.end() : end])


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


def _after_sentence(text: str) -> _Stated | None:
    return _to_line_end(text, _AFTER_SENTENCE.finditer(text))


def _sentence(text: str) -> _Stated | None:
    return _to_line_end(text, _SENTENCE.finditer(text))


def _to_line_end(text: str, found: Iterator[re.Match[str]]) -> _Stated | None:
    last = None
    for last in found:  # noqa: B007 - only the last one matters
        pass
    if last is None:
        return None
    end = text.find("\n", last.end())
    stop = len(text) if end < 0 else end
    return _Stated(last.start(), stop, text[last.end() : stop])


def _member(text: str) -> _Stated | None:
    """The member `answer` of the JSON that the reply is, or has in its last block."""
    if "answer" not in text.lower():
        return None
    value = json_value(text)
    if not isinstance(value, dict):
        return None
    members = {name.casefold().replace(" ", "_"): member for name, member in value.items()}
    for name in _MEMBERS:
        if name in members:
            member = members[name]
            said = member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
            return _Stated(0, len(text), said)
    return None
