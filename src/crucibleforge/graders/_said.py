"""What graders ask of a reply before they look at its content, and how they read the one answer that it states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from crucibleforge.chat import Reply
from crucibleforge.extract import Unread
from crucibleforge.extract.answer import NOTHING, answer_block, answer_line, first_sentence, last_line
from crucibleforge.extract.thinking import visible
from crucibleforge.graders._shown import shortened
from crucibleforge.types import Element, Finding

Value = TypeVar("Value")

MAX_TEXT = 1_000_000
"""Characters of a reply; no budget of tokens lets one be as long, and reading it would take its time."""

_TURN_ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<|return|>"),
    *(
        "<end_of_turn>",
        "</s>",
        "<eos>",
        "<|end_of_turn|>",
        "<|END_OF_TURN_TOKEN|>",
        "<\uff5cend\u2581of\u2581sentence\uff5c>",
    ),
)
"""End marks of chat templates that servers let through."""


def text_of(reply: Reply) -> str:
    """What the reply says, without leaked reasoning or end marks; its own reasoning field is never graded.

    Empty for a reply over `MAX_TEXT`.
    """
    return _spoken(reply.text) if len(reply.text) <= MAX_TEXT else ""


@lru_cache(maxsize=4)
def _spoken(raw: str) -> str:
    text = visible(raw)
    end = _end(text, len(text))
    if not text.endswith(_TURN_ENDS, 0, end):
        return text
    while mark := next((mark for mark in _TURN_ENDS if text.endswith(mark, 0, end)), ""):
        end = _end(text, end - len(mark))
    return text[:end]


def _end(text: str, end: int) -> int:
    """Where the white space before `end` begins; a slice for each mark would take time without bound."""
    while end and text[end - 1].isspace():
        end -= 1
    return end


def is_cut(reply: Reply) -> bool:
    """True when a token limit ended the reply, so that its last word may be half a word."""
    return reply.finish == "length"


def nothing_said(reply: Reply) -> Finding | None:
    """The finding about a reply without visible text; None if it has some."""
    if len(reply.text) > MAX_TEXT:
        return Finding("fail", 0.0, unparsed(Unread(f"the reply is longer than {MAX_TEXT:,} characters")))
    if text_of(reply).strip():
        return None
    return Finding("unanswered", 0.0, "nothing but reasoning in reply" if reply.text.strip() else "empty reply")


def answer_of(
    reply: Reply,
    read: Callable[[str], Value | Unread],
    *,
    bare: Callable[[str], Value | Unread] | None = None,
    lines: bool = False,
) -> Value | Unread:
    """The answer that a reply states, read as its kind demands; without a statement its last line may be the answer.

    Args:
        reply: One reply of unknown text.
        read: From a cleaned answer to its value.
        bare: The stricter `read` of a last line without a label; None: the same.
        lines: The answer may go on over several lines.
    """
    text, cut = text_of(reply), is_cut(reply)
    stated = answer_block(text, cut=cut) if lines else answer_line(text, cut=cut)
    if isinstance(stated, Unread):
        value = stated if cut or stated is not NOTHING else (bare or read)(last_line(text))
        return stated if isinstance(value, Unread) else value
    value = read(stated)
    if isinstance(value, Unread) and (first := first_sentence(stated)):
        again = read(first)
        value = value if isinstance(again, Unread) else again
    return Unread(f"{value.why}: {shortened(stated)}") if isinstance(value, Unread) else value


def unparsed(unread: Unread) -> str:
    """The fault of a reply whose answer could not be read: no reply passes by that."""
    return f"unparsed: {unread.why}"


def all_or_nothing(fault: str) -> Finding:
    """A pass without a fault, else a fail because of it."""
    return Finding("fail", 0.0, fault) if fault else Finding("pass", 1.0)


def by_share(elements: Sequence[Element]) -> Finding:
    """A pass when every element passed, else the share of those that did; there must be some."""
    score = share(elements)
    failed = [element for element in elements if not element.passed]
    if not failed:
        return Finding("pass", score, "", tuple(elements))
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    why = f"{failed[0].name}: {failed[0].why}{more}"
    return Finding("partial" if score else "fail", score, why, tuple(elements))


def share(elements: Sequence[Element]) -> float:
    """The part of the elements that passed, in [0, 1]; there must be some."""
    return sum(element.passed for element in elements) / len(elements)
