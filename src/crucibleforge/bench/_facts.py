"""A dense paragraph to be shortened, of which six facts must stay: a name, a place, a date, a count, a sum, a share.

The prompt says which six, so that dropping one is a fault and no matter of taste. Each is looked for as a whole in any
usual dress: 12,450 or 12450, 3.8 million or 3,800,000, 17% or seventeen percent, a date in any order, a surname. That
a fact stands there is checked, not what is said about it. What wraps the text is neither counted nor searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from crucibleforge.bench._paragraphs import MONTHS, TOPICS, values
from crucibleforge.bench._question import MAX_TEXT, explained, posed
from crucibleforge.bench._wrapping import prose_of
from crucibleforge.extract.words import spelt
from crucibleforge.families._draw import Draw
from crucibleforge.graders import ByReading, Replies
from crucibleforge.graders._gauge import PLAIN, counted, words_of
from crucibleforge.graders._said import by_share, nothing_said, text_of
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Case, Element, Finding, Grading

LIMIT = 60
"""Words; ours take about 35, the paragraphs 140 and more."""

_KINDS = ("person", "place", "date", "total", "money", "share")
_GROUPED = re.compile(r"(?<![\d.,])[0-9]{1,3}(?:[,'_ ][0-9]{3})+(?!\d)")
_SPELT_SHARE = re.compile(r"(?<!\w)([a-z]{3,9}(?:[- ][a-z]{3,5})?) (?:percent|per cent|%)")
_MILLION, _THOUSAND = 1_000_000, 1000


def pose(draw: Draw) -> Case:
    """A paragraph about one of the topics, with facts of this run."""
    place = draw.below(len(TOPICS))
    topic, facts = TOPICS[place], values(draw)
    labels = [topic.labels[kind] for kind in _KINDS]
    prompt = "\n".join(
        [
            f"Shorten the text below to at most {LIMIT} words. These six facts must stay in it:",
            *(f"- {label}" for label in labels),
            "Give names, numbers and the date as the text does. Reply with the shortened text only.",
            "",
            topic.long.format(**facts),
        ]
    )
    kept = [[kind, label, facts[kind]] for kind, label in zip(_KINDS, labels, strict=True)]
    return posed("facts", prompt, 256, {"topic": place, "facts": kept}, Grading("facts", {}))


def right(case: Case) -> str:
    """A reply that passes."""
    facts = {kind: value for kind, _, value in case.expected["facts"]}
    return TOPICS[case.expected["topic"]].short.format(**facts)


def _find(case: Case, replies: Replies) -> Finding:
    if nothing := nothing_said(replies[-1]):
        return nothing
    text = text_of(replies[-1])
    if len(text) > MAX_TEXT:
        return Finding("fail", 0.0, f"longer than {MAX_TEXT:,} characters")
    prose = prose_of(text)
    plain, count = _plain(prose), len(words_of(prose))
    elements = []
    for kind, label, value in case.expected["facts"]:
        is_kept = _FOUND[kind](plain, value)
        elements.append(Element(label, passed=is_kept, why="" if is_kept else f"{shortened(value)} is missing"))
    is_short = count <= LIMIT
    why = "" if is_short else f"{counted(count, 'word')}, expected at most {LIMIT}"
    elements.append(Element("length", passed=is_short, why=why))
    return explained(by_share(elements), f"6 of 6 facts in {counted(count, 'word')}, at most {LIMIT}")


def _plain(text: str) -> str:
    """One line in one case, without marks of emphasis, with plain spaces and hyphens."""
    bare = text.translate(PLAIN | {ord(mark): None for mark in "*_`\u200b\u00ad"})
    return " ".join(bare.casefold().split())


def _ungrouped(text: str) -> str:
    return _GROUPED.sub(lambda found: re.sub(r"\D", "", found[0]), text)


def _has(pattern: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){pattern}(?!\w|[.,]\d)", text) is not None


def _person(text: str, value: str) -> bool:
    return _place(text, value.rpartition(" ")[2])


def _place(text: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", text) is not None


def _date(text: str, value: str) -> bool:
    day, name, year = value.split()
    month = MONTHS.index(name) + 1
    named = rf"(?:{name.casefold()}|{name[:3].casefold()}t?\.?)"
    dated = rf"0?{day}(?:st|nd|rd|th)?"
    forms = (
        rf"{dated} (?:day )?(?:of )?{named},? (?:of )?{year}",
        rf"{named} (?:the )?{dated},? (?:of )?{year}",
        rf"{year}[-/.]0?{month}[-/.]0?{day}",
        rf"0?{day}([-/.]) ?0?{month}\1 ?{year}",
        rf"0?{month}/0?{day}/{year}",
    )
    return any(re.search(rf"(?<![\w/]){form}(?!\w)", text) for form in forms)


def _total(text: str, value: str) -> bool:
    count = int(value.replace(",", ""))
    thousands = f"{count / _THOUSAND:.3f}".rstrip("0").rstrip(".").replace(".", r"\.")
    is_scaled = _has(rf"{thousands} ?(?:k|thousand)", text)
    # Behind a number that belongs elsewhere a space is no separator, so the text is read both ways.
    return is_scaled or any(_has(str(count), one) for one in (text, _ungrouped(text)))


def _money(text: str, value: str) -> bool:
    amount = value.partition(" ")[0]
    whole = round(float(amount) * _MILLION)
    scaled = amount.replace(".", "[.,]")
    before = r"(?:eur|euros|\u20ac)? ?"
    is_scaled = _has(rf"{before}{scaled}[- ]?(?:million|millions|mln|mio\.?|mn|m)", text)
    return is_scaled or _has(rf"{before}{whole}", _ungrouped(text))


def _share(text: str, value: str) -> bool:
    part = value.partition(" ")[0]
    if re.search(rf"(?<![\w.,]){part}(?:\.0)?[- ]?(?:%|percent(?!\w)|per cent(?!\w)|pct(?!\w))", text):
        return True
    return any(spelt(found[1]) == int(part) for found in _SPELT_SHARE.finditer(text))


_FOUND: dict[str, Callable[[str, str], bool]] = {
    "person": _person,
    "place": _place,
    "date": _date,
    "total": _total,
    "money": _money,
    "share": _share,
}

GRADER = ByReading("facts", 1, _find)
