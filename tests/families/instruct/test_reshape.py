from __future__ import annotations

from crucibleforge.families.instruct._log import Log, Row
from crucibleforge.families.instruct.reshape import ask, solve, verify

NAMES = ("code", "site", "count", "mass")
ROWS = (
    Row("BB11", "Hexby", "9", "1.25 kg"),  # Replaced below.
    Row("CC20", "Ardley", "", "2350 g"),  # Half-way between 2.3 and 2.4: the even one. No count, so it stays.
    Row("DD30", "Hexby", "7", "2.50 kg"),  # Below 8.
    Row("BB11", "Ardley", "8", "2450 g"),  # Half-way again: 2.4, level with CC20, and BB comes first.
    Row("FF12", "Hexby", "30", "9.90 kg"),
    Row("AA99", "Hexby", "12", ""),  # Null comes last.
    Row("FF12", "", "", "", "void"),
    Row("EE10", "Hexby", "8", "2460 g"),
)


def test_half_goes_to_even_null_goes_last_and_the_later_line_counts():
    log = Log(ROWS, NAMES, least=8, order="weight", rounds=True, corrects=True)
    wanted = [
        {"code": "EE10", "site": "Hexby", "count": 8, "mass": 2.5},
        {"code": "BB11", "site": "Ardley", "count": 8, "mass": 2.4},
        {"code": "CC20", "site": "Ardley", "count": None, "mass": 2.4},
        {"code": "AA99", "site": "Hexby", "count": 12, "mass": None},
    ]
    assert solve(log) == verify(log) == wanted


def test_groups_hold_their_members_in_order_and_add_up_what_was_rounded():
    log = Log(ROWS, NAMES, least=8, order="place", rounds=True, corrects=True, groups=True)
    ardley = [{"code": "BB11", "count": 8, "mass": 2.4}, {"code": "CC20", "count": None, "mass": 2.4}]
    hexby = [{"code": "AA99", "count": 12, "mass": None}, {"code": "EE10", "count": 8, "mass": 2.5}]
    wanted = [{"site": "Ardley", "total": 4.8, "list": ardley}, {"site": "Hexby", "total": 2.5, "list": hexby}]
    assert solve(log) == verify(log) == wanted


def test_integers_stay_integers_and_decimals_may_be_written_either_way():
    whole = Log((Row("BB11", "Hexby", "9", "12 kg"),), NAMES)
    assert ask(whole).settings["schema"] == [
        {"code": "string", "site": "string", "count": "integer", "mass": "integer"}
    ]
    assert ask(Log(ROWS, NAMES, rounds=True)).settings["schema"][0]["mass"] == "number"
