import made
import pytest

from crucibleforge.chat import Dialogue, Message
from crucibleforge.run.held import parted
from crucibleforge.types import Failure, Job, Row, Served

ROWS = [Row(Job("m", case.id, 1), case) for case in (made.case(f"math/f/L1.{n}") for n in range(1, 5))]
CALLS = made.case("tooluse/f/L1.1", dialogue=Dialogue((Message("user", "q"),), 9, turns=("more",), max_rounds=3))
BROKE = Failure("transport", "it broke", 1)


class Shelf:
    served = Served("a.jsonl")

    def __init__(self, held, others=()):
        self.held, self.others = held, others

    def dialogue(self, case_id, case_hash, repeat):
        return self.held.get(case_id, ()) if repeat == 1 else ()

    def has_other(self, case_id, case_hash):
        return case_id in self.others


def test_where_all_is_held_nothing_is_said():
    assert parted(Shelf({row.case.id: (made.reply(),) for row in ROWS}), ROWS) == (ROWS, "")


def test_what_is_lacking_is_counted_by_its_reason():
    held = {ROWS[1].case.id: (made.reply(),), CALLS.id: (made.reply(),)}
    rows = [*ROWS, Row(Job("m", CALLS.id, 1), CALLS)]
    assert parted(Shelf(held, {ROWS[3].case.id}), rows) == (
        [ROWS[1]],
        "a.jsonl holds 1 of the 5 answers that are owed (1 with the hash of another suite, 1 without the last round)",
    )


@pytest.mark.parametrize(
    ("replies", "is_held"),
    [
        ((made.reply(),), False),
        ((made.reply(), made.reply()), True),
        ((made.reply(finish="length"),), True),
        ((made.reply(tool_calls=(made.call(),)),), True),
        ((made.reply(), BROKE), True),
        ((BROKE,), True),
        ((), False),
    ],
    ids=["one of two rounds", "all", "cut off", "a call that nobody answers", "failed late", "failed", "none"],
)
def test_a_dialogue_is_held_when_it_can_be_carried_to_its_end(replies, is_held):
    row = Row(Job("m", CALLS.id, 1), CALLS)
    assert parted(Shelf({CALLS.id: replies}), [row])[0] == ([row] if is_held else [])
