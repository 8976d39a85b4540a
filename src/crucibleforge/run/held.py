"""Which rows a file of replies can answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crucibleforge.chat import Reply
from crucibleforge.providers import Shelved
from crucibleforge.run.dialogue import next_request
from crucibleforge.types import Failure, Row


def parted(shelf: Shelved, owed: Sequence[Row]) -> tuple[list[Row], str]:
    """The rows whose dialogues it holds to their end, or to a failure, and a line about the others.

    Returns:
        The rows, and the line, which is empty when there are no others.
    """
    held, foreign, short = [], 0, 0
    for row in owed:
        found = shelf.dialogue(row.case.id, row.case.hash, row.job.repeat)
        if not found:
            foreign += shelf.has_other(row.case.id, row.case.hash)
        elif _is_whole(row, found):
            held.append(row)
        else:
            short += 1
    if len(held) == len(owed):
        return held, ""
    why = [f"{foreign} with the hash of another suite"] if foreign else []
    why += [f"{short} without the last round"] if short else []
    said = f"{shelf.served.server} holds {len(held)} of the {len(owed)} answers that are owed"
    return held, said + (f" ({', '.join(why)})" if why else "")


def _is_whole(row: Row, found: tuple[Reply | Failure, ...]) -> bool:
    replies = tuple(each for each in found if isinstance(each, Reply))
    return len(replies) < len(found) or next_request(row.case.dialogue, replies) is None
