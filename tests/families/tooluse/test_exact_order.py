from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import played
import pytest

from crucibleforge.families._build import build, item
from crucibleforge.families.tooluse._clocks import DAY, Change, Wall, Zone, instant, stamp, watched
from crucibleforge.families.tooluse._order import Params, Request
from crucibleforge.families.tooluse.exact_order import FAMILY, solve, verify

EAST = Zone("Here", 120, 60, Change(3, -1, 180), Change(10, -1, 240))
"""The rule that the European Union has had since 1996, as clocks show it two hours east of Greenwich."""


def at(text, *, second=False):
    day = date.fromisoformat(text[:10])
    return Wall(day.year, day.toordinal(), int(text[11:13]) * 60 + int(text[14:]), second)


@pytest.mark.parametrize(
    ("wall", "utc"),
    [
        (at("2027-03-28 02:59"), "2027-03-28T00:59:00Z"),
        (at("2027-03-28 03:30"), "2027-03-28T01:30:00Z"),  # skipped: 03:30 as if it were still winter
        (at("2027-03-28 04:00"), "2027-03-28T01:00:00Z"),
        (at("2027-10-31 03:30"), "2027-10-31T00:30:00Z"),
        (at("2027-10-31 03:30", second=True), "2027-10-31T01:30:00Z"),
        (at("2027-10-31 04:00"), "2027-10-31T02:00:00Z"),
        (at("2027-07-01 00:30"), "2027-06-30T21:30:00Z"),
        (at("2027-01-01 00:30"), "2026-12-31T22:30:00Z"),
    ],
)
def test_clocks_that_are_put_forward_and_back_show_the_instant_that_is_meant(wall, utc):
    assert stamp(instant(EAST, wall)) == watched(EAST, wall) == utc


def test_clocks_of_a_known_rule_agree_with_the_tz_database():
    try:
        helsinki = ZoneInfo("Europe/Helsinki")
    except ZoneInfoNotFoundError:
        pytest.skip("no tz database on this machine")
    for day in range(date(2019, 1, 2).toordinal(), date(2019, 12, 30).toordinal(), 3):
        minute = day * 97 % DAY
        local = datetime.fromordinal(day).replace(hour=minute // 60, minute=minute % 60, tzinfo=helsinki)
        told = f"{local.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        assert stamp(instant(EAST, Wall(2019, day, minute))) == told


def test_a_request_with_all_that_can_go_wrong_is_worked_out_by_hand():
    # 10 + 2 cans of 1 gallon 1 quart: 12 * 5 * 946 = 56,760 ml, and 3.5 l. 13 cans at 1.250 dinars: 16.250, in
    # thousandths. 03:30 the second time is 01:30 UTC; 125 minutes before is 23:25. 08:00 next day in winter: 06:00.
    asks = ("product", "volume_ml", "limit_minor", "collect_at", "hold_until", "handling", "phone")
    params = Params(asks, odd=True, edge=True, priced=True, corrected=True)
    wall = at("2027-10-31 03:30", second=True)
    needs = (1, 0, -1, 0, 1, 0)
    request = Request(
        params, "AB-1", 5, 10, 5, 35, False, 5, "KWD", 3, 1250, needs, "555123456", EAST, wall, 2, 125, 480
    )
    arguments = {
        "product": "remover",
        "volume_ml": 60_260,
        "limit_minor": 16_250,
        "collect_at": "2027-10-30T23:25:00Z",
        "hold_until": "2027-11-01T06:00:00Z",
        "handling": ["keep_dry", "frost_free"],
        "phone": "+43555123456",
    }
    assert solve(request) == verify(request) == {"calls": [{"name": "place_order", "arguments": arguments}]}


@pytest.mark.parametrize("rung", FAMILY.rungs)
def test_the_one_call_ends_the_dialogue(rung):
    made = item(FAMILY, rung, 1)
    assert played.results(build(FAMILY, rung, 1, made), FAMILY.right(made)[0]) == []
