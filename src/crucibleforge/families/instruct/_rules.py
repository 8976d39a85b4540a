"""Rules about a text as plain data, and how a prompt words them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crucibleforge.graders._terms import definitions


@dataclass(frozen=True)
class Rule:
    """A check of the grader `checks` with its arguments, in order of their names; `wording` says which sentence."""

    kind: str
    arguments: tuple[tuple[str, Any], ...] = ()
    wording: int = 0


def rule(kind: str, wording: int = 0, /, **arguments: Any) -> Rule:
    """A rule of a type."""
    return Rule(kind, tuple(sorted(arguments.items())), wording)


def spec(of: Rule, turn: int | None = None) -> dict[str, Any]:
    """The rule as the grader's settings hold it; `turn` is the reply that it is about."""
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in of.arguments}
    return {"type": of.kind, **listed} | ({} if turn is None else {"turn": turn})


def sentence(of: Rule) -> str:
    """The rule in words."""
    ways = _WAYS[of.kind]
    shown = {
        name: ", ".join(value) if isinstance(value, tuple) or (isinstance(value, str) and name == "letters") else value
        for name, value in of.arguments
    }
    return ways[of.wording % len(ways)].format(**shown)


def explained(rules: Sequence[Rule]) -> str:
    """What the terms of the rules mean, in one paragraph."""
    return " ".join(definitions([one.kind for one in rules]))


_WAYS: dict[str, tuple[str, ...]] = {
    "acrostic": (
        "The first letters of the lines, from the first line to the last, are {letters}; there are no other lines.",
        "Read from top to bottom, the first letters of all lines are {letters}, with no line more or fewer.",
    ),
    "capital_words": (
        "Exactly {n} words of two or more letters are written wholly in capitals.",
        "Write exactly {n} words (of two or more letters each) in capital letters throughout.",
    ),
    "chained_lines": (
        "Every line after the first begins with the last word of the line before it.",
        "The last word of a line is also the first word of the next line.",
    ),
    "char_count": (
        "The text has at most {max} characters.",
        "Do not use more than {max} characters.",
    ),
    "char_times": (
        'The mark "{char}" occurs exactly {n} times.',
        'Use the mark "{char}" exactly {n} times in the whole text.',
    ),
    "contains_word": ('The word "{word}" occurs.', 'Use the word "{word}" somewhere.'),
    "ends_with": (
        'The text ends with "{text}" (without the quotes), and nothing follows it.',
        'The last characters of the text are "{text}" (without the quotes).',
    ),
    "forbids_digits": ("There is no digit in the text.", "Do not use any digits."),
    "forbids_letter": (
        'The letter "{letter}" does not occur, neither small nor capital.',
        'Do not use the letter "{letter}" at all, neither small nor capital.',
    ),
    "forbids_word": ('The word "{word}" does not occur.', 'Do not use the word "{word}".'),
    "letter_count": (
        'The letter "{letter}" occurs exactly {max} times.',
        'Use the letter "{letter}" exactly {max} times in the whole text.',
    ),
    "line_contains": ('Line {line} holds the word "{word}".', 'The word "{word}" occurs in line {line}.'),
    "line_count": ("The text has exactly {n} lines.", "Write exactly {n} lines."),
    "line_ends": ('The last word of line {line} is "{word}".', 'Line {line} has "{word}" as its last word.'),
    "line_length": (
        "No line is longer than {max} characters.",
        "Each line has at most {max} characters.",
    ),
    "line_prefix": (
        'Every line begins with "{text}" (without the quotes, the blank included).',
        'The first characters of each line are "{text}" (without the quotes, the blank included).',
    ),
    "line_suffix": (
        'Every line ends with "{text}" (without the quotes).',
        'The last character of each line is "{text}" (without the quotes).',
    ),
    "line_words": ("Line {line} has exactly {n} words.", "There are exactly {n} words in line {line}."),
    "long_words": (
        "Exactly {n} words have more than {letters} letters.",
        "Use exactly {n} words that have more than {letters} letters each.",
    ),
    "longest_word": ("No word has more than {max} letters.", "Use no word of more than {max} letters."),
    "lowercase": ("All letters are small letters.", "There are no capital letters at all."),
    "no_repeats": (
        "No word of {least} or more letters occurs more than once.",
        "Use each word of {least} or more letters at most once.",
    ),
    "rising_lines": (
        "Every line after the first has more words than the line before it.",
        "From line to line the number of words rises.",
    ),
    "same_ends": (
        "The first word of the text is also its last word.",
        "The text begins and ends with the same word.",
    ),
    "uppercase": ("All letters are capitals.", "There are no small letters at all."),
    "word_count": (
        "The text has exactly {max} words in all.",
        "All lines together have exactly {max} words.",
    ),
    "word_order": (
        "Use each of these words, so that they first occur in this order: {words}.",
        "These words all occur, and their first occurrences are in this order: {words}.",
    ),
    "word_times": ('The word "{word}" occurs exactly {n} times.', 'Use the word "{word}" exactly {n} times.'),
    "words_from": (
        "Use at least {min} different words of this list: {words}.",
        "At least {min} different words of the following list occur: {words}.",
    ),
    "words_per_line": (
        "Every line has at least {min} and at most {max} words.",
        "Each line has from {min} to {max} words.",
    ),
}
