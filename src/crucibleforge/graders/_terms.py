"""What a prompt must say about the terms of rules, and which rules do not go together."""

from __future__ import annotations

from collections.abc import Sequence

DEFINITIONS = {
    "word": "A word is a run of letters, digits, apostrophes and hyphens with at least one letter or digit in it, "
    "so well-kept is one word; whether it has capitals makes no difference to which word it is.",
    "form": "A given word counts only in exactly the given form, neither as a plural nor with 's.",
    "line": "Empty lines do not count as lines.",
    "letter": "Small and capital letters count alike.",
    "character": "Characters are letters, digits, spaces and marks; line ends do not count.",
}
"""What a prompt says about a term, since it is not exact in everyday use."""


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


_USES: dict[str, frozenset[str]] = {
    "word": _kinds(
        "word_count words_per_line line_words rising_lines longest_word long_words capital_words contains_word "
        "forbids_word word_times words_from word_order line_contains line_ends no_repeats chained_lines "
        "same_ends"
    ),
    "form": _kinds("contains_word forbids_word word_times words_from word_order line_contains line_ends"),
    "line": _kinds(
        "line_count words_per_line line_words rising_lines line_length line_prefix line_suffix acrostic "
        "line_contains line_ends chained_lines"
    ),
    "letter": frozenset({"forbids_letter", "letter_count", "acrostic"}),
    "character": frozenset({"char_count", "line_length"}),
}
_REPEATABLE = _kinds(
    "char_times contains_word ends_with forbids_letter forbids_word letter_count line_contains line_ends line_words "
    "long_words word_times"
)
_CLASHES: dict[str, frozenset[str]] = {
    "acrostic": frozenset({"line_count", "starts_with", "line_prefix"}),
    "equals_lines": _kinds("line_count word_count char_count words_per_line line_words acrostic"),
    "json_equals": _kinds("line_count word_count char_count equals_lines numbered_lines"),
    "ends_with": frozenset({"line_suffix"}),
    "line_ends": frozenset({"chained_lines", "same_ends"}),
    "line_prefix": frozenset({"starts_with", "numbered_lines"}),
    "line_words": frozenset({"words_per_line"}),
    "lowercase": frozenset({"uppercase", "capital_words"}),
    "no_repeats": frozenset({"same_ends", "chained_lines", "word_times"}),
    "uppercase": frozenset({"capital_words"}),
    "word_order": frozenset({"contains_word"}),
    "word_times": frozenset({"contains_word", "forbids_word"}),
}


def definitions(kinds: Sequence[str]) -> list[str]:
    """The sentences about the terms that rules of these types use, each once, in a fixed order."""
    return [words for term, words in DEFINITIONS.items() if any(kind in _USES[term] for kind in kinds)]


def clash(one: str, other: str) -> bool:
    """True when rules of these types contradict each other, or one can follow from the other."""
    return one not in _REPEATABLE if one == other else other in _CLASHES.get(one, ()) or one in _CLASHES.get(other, ())
