import made

from crucibleforge.run.owed import lost, to_ask, to_mark
from crucibleforge.store.fold import fold
from crucibleforge.types import Recovery

CASES = [made.case(f"math/sum/L1.{n}") for n in range(1, 6)]
NEW, FAILED, ASKED, MARKED, SKIPPED = CASES
ROWS = fold(
    made.plan(CASES),
    {case.id: case for case in CASES},
    [
        made.failed(FAILED),
        made.attempt(ASKED),
        made.attempt(MARKED),
        made.verdict(MARKED, "fail"),
        made.verdict(SKIPPED, "skipped"),
    ],
)


def test_what_was_never_answered_is_asked_again():
    assert [row.case for row in to_ask(ROWS)] == [NEW, FAILED]


def test_what_was_answered_and_not_marked_is_marked():
    assert [row.case for row in to_mark(ROWS)] == [ASKED]


def test_replies_before_a_failure_do_not_make_an_answer():
    row = fold(made.plan([NEW]), {NEW.id: NEW}, [made.failed(NEW, replies=(made.reply(),))])
    assert (len(to_ask(row)), len(to_mark(row))) == (1, 0)


def test_lost_is_what_was_thought_to_death_and_never_asked_for_again():
    thought = made.reply("", reasoning="hm", finish="length")
    recovered = Recovery(0, "overflow", (thought,))
    rows = fold(
        made.plan(CASES),
        {case.id: case for case in CASES},
        [
            made.attempt(NEW, thought),
            made.verdict(NEW, "truncated"),
            made.attempt(FAILED, thought, recoveries=(recovered,)),
            made.attempt(ASKED, made.reply("an answer", reasoning="hm")),
            made.attempt(MARKED, made.reply("", finish="length")),
        ],
    )
    assert [row.case for row in lost(rows)] == [NEW]
