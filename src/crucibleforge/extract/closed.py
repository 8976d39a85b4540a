"""Read an answer out of a closed set: the letter of an option, one of several names, yes or no or unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from crucibleforge.extract import Unread
from crucibleforge.extract.answer import clean

YES, NO, UNKNOWN = "yes", "no", "unknown"

_NEGATION = re.compile(
    r"(?<!\w)(?:not|neither|nor|never|cannot|except|excluding|without|(?:rather|other)\sthan|instead\sof|unlikely"
    r"|(?:any|every|no)\s?(?:one|body|thing)\s+but|all\s+but|\w{1,9}n['\u2019]t)(?!\w)",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"(?:(?:the\s)?(?:correct\s)?(?:option|choice|letter|answer)(?:\sis)?[\s:]{1,3})?[(\[*`]{0,3}([A-Za-z])",
    re.ASCII | re.IGNORECASE,
)
_OTHER_LETTER = re.compile(r"(?<![\w'])(?:[B-HJ-Z]|[AI](?=[.):,\]*]|\Z)|(?<=or )[AI]|(?<=and )[AI])(?![\w'])")
_JOINS = re.compile(r"[\s)\].:*`]{0,6}(?:or|and|/|&)(?![a-z])", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:(?:the|this|that)\s(?:answer|statement|claim|conclusion)|the|a|an|it|this|that|is|are|was|be|and|also"
    r"|therefore|so|thus|hence|logically|definitely|certainly|clearly|simply)\b"
)
_SYNONYMS: dict[str, tuple[str, ...]] = {
    YES: (
        *("yes", "y", "true", "correct", "right", "entailed", "entailment", "entails", "holds", "follows", "valid"),
        *("must true", "necessarily true", "always true", "proved", "proven", "implied"),
    ),
    NO: (
        *("no", "n", "false", "incorrect", "wrong", "contradicted", "contradiction", "contradicts", "contradictory"),
        *("refuted", "must false", "necessarily false", "always false", "not true", "not correct", "not possible"),
        *("impossible", "inconsistent", "disproved", "invalid"),
    ),
    UNKNOWN: (
        *("unknown", "undetermined", "indeterminate", "undecided", "undecidable", "uncertain", "neutral", "unclear"),
        *("cannot determined", "can not determined", "can't determined", "could not determined", "cannot determine"),
        *("cannot known", "cannot tell", "can't tell", "cannot say", "can't say", "cannot decided", "cannot inferred"),
        *("cannot answered", "impossible to determine", "impossible to tell", "impossible to say", "not determined"),
        *("not determinable", "indeterminable", "not enough information", "not enough info", "not enough data"),
        *("insufficient information", "insufficient data", "insufficient evidence", "not sufficient information"),
        *("there not enough information", "there insufficient information", "information insufficient"),
        *("not stated", "not given", "not mentioned", "not specified", "not provided", "not known", "not in text"),
        *("no information", "there no information", "not recorded", "not answerable", "unanswerable", "unspecified"),
    ),
}


def letter(text: str, options: Mapping[str, str]) -> str | tuple[str, ...] | Unread:
    """The letter of the one option that an answer names, by its letter or by just its text.

    A tuple where a letter stands with the text of another.

    Args:
        text: An answer, cleaned.
        options: From capital letter to what the option says, empty where it is a letter alone.
    """
    said = {name: folded(words) for name, words in options.items() if words}
    by_text = [name for name, words in said.items() if folded(text) == words]
    if by_text:
        return by_text[0] if len(by_text) == 1 else Unread(f"several options say {text[:60]}")
    found = _LETTER.match(text)
    name = found[1].upper() if found else ""
    if found is None or name not in options:
        return Unread("the answer is no option")
    rest = text[found.end() :]
    words = folded(rest.lstrip(")].:*`-\u2013\u2014 \t"))
    if others := [other for other, option in said.items() if other != name and words.startswith(option)]:
        return name, *others
    return name if _leaves(rest, words, said.get(name, ""), options) else Unread("the answer is not one option")


def _leaves(rest: str, words: str, option: str, options: Mapping[str, str]) -> bool:
    """True when what stands behind a letter, as it is and as bare words, leaves the choice as it was."""
    if not words or words == option or (option and words.startswith(f"{option} ")):
        return True
    is_apart = rest[0] in ")].:,*`" or rest.lstrip()[:1] in "(-\u2013\u2014:"
    is_hedged = _JOINS.match(rest) or _OTHER_LETTER.search(rest) or _NEGATION.match(words)
    return is_apart and not is_hedged and words.upper() not in options


def one_of(text: str, names: Iterable[str], *, case_sensitive: bool = False) -> str | tuple[str, ...] | Unread:
    """The one name that an answer holds as a whole word, as it stands in `names`; a tuple where it holds several.

    A longer name hides a shorter one inside it. An answer that negates names nobody.
    """
    by_folded = {folded(name, case_sensitive=case_sensitive): name for name in names}
    answer = folded(text, case_sensitive=case_sensitive)
    if answer in by_folded:
        return by_folded[answer]
    pattern = any_of(tuple(by_folded))
    if _NEGATION.search(pattern.sub(" ", answer)):
        return Unread("the answer negates")
    found = tuple(dict.fromkeys(by_folded[name] for name in pattern.findall(answer)))
    if not found:
        return Unread("the answer is none of the possible ones")
    return found[0] if len(found) == 1 else found


def tristate(text: str, more: Mapping[str, Sequence[str]] | None = None) -> str | Unread:
    """`yes`, `no` or `unknown`, where every part of the answer is a known way to say the same one of them.

    Args:
        text: An answer, cleaned.
        more: Further ways to say one of the three, for a question of its own kind.
    """
    known = {_bare(way): state for state, ways in _SYNONYMS.items() for way in ways}
    known |= {_bare(way): state for state, ways in (more or {}).items() for way in ways}
    stated = re.split(r"\s(?:because|since|as)\s", text.casefold().replace("\u2019", "'"), maxsplit=1)[0]
    parts = [_bare(part) for part in re.split(r"[.;,:()\n/\u2013\u2014]|\s-\s", stated)]
    states = {known.get(part, "") for part in parts if part}
    if len(states) != 1 or "" in states:
        return Unread("the answer is not one of yes, no and unknown")
    return states.pop()


def folded(text: str, *, case_sensitive: bool = False) -> str:
    """Text as it is compared: cleaned, with single spaces, and in one case unless that matters."""
    words = " ".join((clean(text) or text).split())
    return words if case_sensitive else words.casefold()


@cache
def any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Finds whole words that are one of the names, the longest first; a possessive is not the name."""
    longest_first = sorted((name for name in names if name), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first)) or r'(?!)'})(?!\w|['\u2019]s(?!\w))")


def _bare(text: str) -> str:
    return " ".join(_FILLER.sub(" ", text.strip(" !?*`\"'").casefold()).split())
