"""Write given words as a numbered list whose rules touch each other.

Easy only copies into a form. Medium sorts and changes case by length. Hard counts down, breaks ties of one order by
another, excepts the outer lines from the case rule and closes with a count that depends on the exception. One text
is right. It comes from `sorted` and is derived again by ranking each word among the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from crucibleforge.families._kit import Dialogues, Draft, Draw, Family, said
from crucibleforge.types import Grading

WORDS = tuple(
    """
    acorn anvil basin beacon bramble candle cedar chimney clover copper cradle ember falcon fern gravel hammer
    harbor hazel island kettle ladder lantern lemon magnet maple meadow mirror needle orchard otter paper pebble
    plum quarry ribbon river saddle sand silver sparrow spruce stone tulip tunnel velvet walnut willow window
    """.split()  # noqa: SIM905 - a list literal would take a line for each word
)


@dataclass(frozen=True)
class Params:
    """How many words, and which set of rules."""

    words: int
    rules: Literal["copy", "sort", "count down"]


@dataclass(frozen=True)
class Instance:
    """The words as given; `longest_small` (sort) and `letter` (count down) decide about capital letters."""

    rules: str
    words: tuple[str, ...]
    longest_small: int = 0
    letter: str = ""


def make(params: Params, draw: Draw) -> Draft:
    """Draw words on which every rule of the level shows."""
    instance = draw.until(lambda: _fitting(params, draw))
    lines = _lines(instance)
    return Draft(
        prompt=_prompt(instance),
        expected="\n".join(lines),
        instance=instance,
        settings={"checks": [{"type": "equals_lines", "lines": lines}]},
    )


def _fitting(params: Params, draw: Draw) -> Instance | None:
    words = tuple(draw.sample(WORDS, params.words))
    match params.rules:
        case "copy":
            return Instance("copy", words)
        case "sort":
            longest = draw.between(4, 6)
            loud = sum(len(word) > longest for word in words)
            return Instance("sort", words, longest_small=longest) if 2 <= loud < len(words) - 1 else None
        case "count down":
            found = Instance("count down", words, letter=draw.pick("aeilrn"))
            return found if _shows_all(found) else None


def _shows_all(instance: Instance) -> bool:
    """Some lengths are equal, the exception of the outer lines applies, and some words are in capital letters."""
    order = _by_length(instance.words)
    outer = [instance.letter in order[0], instance.letter in order[-1]]
    inner = sum(instance.letter in word for word in order[1:-1])
    return any(outer) and 2 <= inner < len(order) - 2 and len({len(word) for word in order}) < len(order) - 1


def _by_length(words: tuple[str, ...]) -> list[str]:
    return sorted(sorted(words, reverse=True), key=len)


def _lines(instance: Instance) -> list[str]:
    match instance.rules:
        case "copy":
            return [f"{number}. {word}" for number, word in enumerate(instance.words, start=1)]
        case "sort":
            shown = [word.upper() if len(word) > instance.longest_small else word for word in sorted(instance.words)]
            return [f"{number}. {word}" for number, word in enumerate(shown, start=1)]
        case _:
            first, *inner, last = _by_length(instance.words)
            shown = [first, *(word.upper() if instance.letter in word else word for word in inner), last]
            lines = [f"{len(shown) - number}. {word}" for number, word in enumerate(shown)]
            return [*lines, f"CAPITALS: {sum(word.isupper() for word in shown)}"]


_COPY = """\
Write nothing but a numbered list of these {count} words, in this order, one word on each line: {words}
Each line has the number, a full stop, a space and the word in small letters, as it stands above.
"""
_SORT = """\
Write these {count} words as a list, one word on each line, following all of these rules:
- The words are in alphabetical order.
- The lines are numbered from 1 up; the number, a full stop and a space stand before the word.
- A word of more than {longest} letters is written in capital letters, every other word in small letters.
Write nothing before or after the list.
Words: {words}
"""
_COUNT_DOWN = """\
Write these {count} words as a list, one word on each line, following all of these rules:
- Shorter words (fewer letters) come before longer ones. Words of equal length are in reverse alphabetical order.
- The lines are numbered downwards from {count} to 1; the number, a full stop and a space stand before the word.
- A word that contains the letter "{letter}" is written in capital letters, every other word in small letters. The \
words on the first and the last line of the list are exceptions: they are always in small letters.
- After the list comes one more line: the word CAPITALS, a colon, a space and the number of words that you wrote in \
capital letters.
Write nothing before the list, and nothing after that line.
Words: {words}
"""


def _prompt(instance: Instance) -> str:
    rules = {"copy": _COPY, "sort": _SORT, "count down": _COUNT_DOWN}[instance.rules]
    return rules.format(
        count=len(instance.words),
        words=", ".join(instance.words),
        longest=instance.longest_small,
        letter=instance.letter,
    ).rstrip()


def rederive(draft: Draft) -> str:
    """Give each word the line of its rank: one more than the number of words that must stand before it."""
    instance: Instance = draft.instance
    words = re.findall(r"(?:Words|on each line): (.+)", draft.prompt)[0].split(", ")
    rank = {word: 1 + sum(_before(instance.rules, other, word, words) for other in words) for word in words}
    lines = [""] * len(words)
    loud = 0
    for word in words:
        is_inner = 1 < rank[word] < len(words)
        is_loud = {
            "copy": False,
            "sort": bool(word[instance.longest_small :]),
            "count down": is_inner and word.find(instance.letter or " ") >= 0,
        }[instance.rules]
        loud += is_loud
        number = len(words) + 1 - rank[word] if instance.rules == "count down" else rank[word]
        shown = "".join(chr(ord(letter) - 32) for letter in word) if is_loud else word
        lines[rank[word] - 1] = f"{number}. {shown}"
    return "\n".join([*lines, f"CAPITALS: {loud}"] if instance.rules == "count down" else lines)


def _before(rules: str, one: str, other: str, words: list[str]) -> bool:
    if rules == "copy":
        return words.index(one) < words.index(other)
    if rules == "sort" or len(one) != len(other):
        return one < other if rules == "sort" else len(one) < len(other)
    return one > other


def right(draft: Draft) -> Dialogues:
    """The text with the white space that models add."""
    text = draft.expected
    dressed = (text, f"{text}\n", f"\n{text}\n\n", text.replace("\n", "\r\n"), text.replace("\n", "  \n"))
    return tuple((said(reply),) for reply in dressed)


def wrong(draft: Draft) -> Dialogues:
    """Two lines swapped, one lost, one added, chat around the text, all capital letters, no numbers."""
    lines = draft.expected.split("\n")
    texts = [
        "\n".join([lines[1], lines[0], *lines[2:]]),
        "\n".join(lines[:-1]),
        "\n".join([*lines, "Let me know if you need more."]),
        "\n".join(["Here is the list:", *lines]),
        draft.expected.upper(),
        "\n".join(line.split(" ", 1)[1] for line in lines),
    ]
    return tuple((said(text),) for text in texts)


FAMILY = Family(
    name="instruct/word-list",
    levels={"easy": Params(3, "copy"), "medium": Params(5, "sort"), "hard": Params(8, "count down")},
    make=make,
    grading=Grading("checks", {}),
    rederive=rederive,
    right=right,
    wrong=wrong,
    count=5,
    max_tokens={"easy": 150, "medium": 200, "hard": 300},
    prompt_tokens={"easy": 120, "medium": 200, "hard": 340},
)
