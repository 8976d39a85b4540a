"""What graders ask of a reply before they look at its content."""

from __future__ import annotations

from collections.abc import Sequence

from crucibleforge.chat import Reply
from crucibleforge.extract.thinking import visible
from crucibleforge.types import Element, Finding


def text_of(reply: Reply) -> str:
    """What the reply says, without leaked reasoning; its own reasoning field is never graded."""
    return visible(reply.text)


def is_cut(reply: Reply) -> bool:
    """True when a token limit ended the reply, so that its last word may be half a word."""
    return reply.finish == "length"


def nothing_said(reply: Reply) -> Finding | None:
    """The finding about a reply without visible text; None if it has some."""
    if text_of(reply).strip():
        return None
    return Finding("unanswered", 0.0, "nothing but reasoning in reply" if reply.text.strip() else "empty reply")


def all_or_nothing(fault: str) -> Finding:
    """A pass without a fault, else a fail because of it."""
    return Finding("fail", 0.0, fault) if fault else Finding("pass", 1.0)


def share(elements: Sequence[Element]) -> float:
    """The part of the elements that passed, in [0, 1]; there must be some."""
    return sum(element.passed for element in elements) / len(elements)
