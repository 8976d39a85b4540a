from __future__ import annotations

from crucibleforge.families.coding._mended_lists import Params, Rule, Use, run

RULE = Rule(Params(("queue", "report"), 1), "Shelf", "take", "bring", limit=2, days=10, rate=4, most=30)


def used(*log: tuple[object, ...]) -> list[object]:
    return run(RULE, Use((("oak", 1), ("elm", 1), ("fir", 1)), log))


def test_a_fine_counts_days_after_the_due_one_up_to_its_most_and_bars_at_it():
    # Due on day 11: nothing then, 4 on day 12, and 7 days late make 28 of at most 30; 8 days would be 32.
    log = (("take", "A", "oak", 1), ("bring", "A", "oak", 11), ("take", "A", "oak", 11), ("bring", "A", "oak", 29))
    assert used(*log, ("take", "A", "elm", 29), ("pay", "A", 1), ("take", "A", "elm", 29)) == [
        "lent", 0, "lent", 30, "refused", 0, "lent",
    ]  # fmt: skip


def test_a_copy_passes_over_who_holds_enough_and_keeps_their_place():
    log = (("take", "A", "oak", 1), ("take", "B", "oak", 1), ("take", "C", "oak", 1), ("take", "B", "elm", 1))
    log = (*log, ("take", "B", "fir", 1), ("bring", "A", "oak", 5), ("waiting", "oak"), ("held_by", "C"))
    assert used(*log)[-3:] == [0, ["B"], [["oak", 15]]]


def test_overdue_is_after_the_due_day_and_most_come_first():
    log = (("take", "A", "oak", 1), ("take", "B", "elm", 1), ("take", "B", "fir", 1), ("overdue", 11), ("overdue", 12))
    assert used(*log)[-2:] == [[], [["B", 2], ["A", 1]]]
