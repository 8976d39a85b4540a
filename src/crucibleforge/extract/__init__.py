"""From the text of a reply to an answer. Nothing here sees the expected answer, so nothing can search for it.

Every function takes text of unknown intent: it is total, needs time linear in the text, and is capped. What does
not parse as a whole is no answer; nothing is repaired or guessed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unread:
    """No answer could be read; `why` as a user reads it."""

    why: str
