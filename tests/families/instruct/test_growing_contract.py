from __future__ import annotations

from crucibleforge.families.instruct._events import Event
from crucibleforge.families.instruct._rules import rule
from crucibleforge.families.instruct.growing_contract import Contract, Turn, ask, ledger, verify

LISTED = rule("words_from", words=("boat",), min=1)
TWO, THREE, FIVE = (rule("line_count", n=n) for n in (2, 3, 5))
SMALL, LOUD = rule("lowercase"), rule("uppercase")


def turn(*events, text=""):
    return Turn("a harbor", LISTED, events, text)


def test_scopes_end_changes_last_and_what_comes_back_reads_as_it_last_did():
    turns = (
        turn(Event("new", 1, TWO), Event("new", 2, SMALL), text="boat\nboat"),
        turn(Event("instead", 1, FIVE, 1, 1), Event("change", 2, LOUD), text="BOAT\nBOAT"),
        turn(Event("lift", 2), text="boat\nBOAT\nb\nB\nboat"),  # The scope is this reply, the rule on capitals is gone.
        turn(Event("change", 1, THREE), Event("again", 2), text="BOAT\nB\nB"),
        turn(Event("instead", 2, SMALL, 0, 2), text="boat\nb\nb"),
        turn(text="boat\nb\nb"),
        turn(text="BOAT\nB\nB"),
    )
    held = [
        {1: TWO, 2: SMALL},
        {1: TWO, 2: LOUD},
        {1: FIVE},
        {1: THREE, 2: LOUD},
        {1: THREE, 2: SMALL},
        {1: THREE, 2: SMALL},
        {1: THREE, 2: LOUD},
    ]
    assert ledger(turns) == held
    looked_up = [[one["type"] for one in reply["rules"]] for reply in verify(Contract(turns))]
    assert looked_up == [[*(one.kind for one in rules.values()), "words_from"] for rules in held]


def test_each_reply_is_checked_by_the_rules_that_hold_for_it():
    contract = Contract((turn(Event("new", 1, TWO)), turn(Event("change", 1, FIVE)), turn(Event("lift", 1))))
    draft = ask(contract)
    counted = [(one["turn"], one["n"]) for one in draft.settings["checks"] if one["type"] == "line_count"]
    assert counted == [(0, 2), (1, 5)]
    assert draft.max_rounds == len(draft.turns) + 1 == 3
    assert draft.turns[1].startswith("Rule 1 is lifted: it does not hold any more.\nNow write a short text")
