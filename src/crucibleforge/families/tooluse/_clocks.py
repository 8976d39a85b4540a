"""Clocks of an invented town: its offset, and when it puts them forward and back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from crucibleforge.families._draw import Draw

DAY = 1440
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NTH = {1: "first", 2: "second", 3: "third", -1: "last"}


@dataclass(frozen=True)
class Change:
    """Clocks are changed on the `nth` Sunday of a month (-1: the last) when they show `at`, minutes after midnight."""

    month: int
    nth: int
    at: int


@dataclass(frozen=True)
class Zone:
    """`base` is the offset in winter, minutes ahead of UTC; `shift` is added between `forward` and `back`."""

    town: str
    base: int
    shift: int
    forward: Change
    back: Change


@dataclass(frozen=True)
class Wall:
    """What clocks show: days as ordinals of the calendar, minutes after midnight; `second` time that they do."""

    year: int
    day: int
    minute: int
    second: bool = False


def zone(town: str, draw: Draw, *, odd: bool) -> Zone:
    """A town's clocks; `odd` ones may be half hours off and change by half an hour."""
    hours = draw.pick((-300, -240, -180, 60, 120, 180, 240))
    base = hours + draw.pick((0, 30, -15)) if odd else hours
    shift = draw.pick((60, 60, 30)) if odd else 60
    forward = Change(*draw.pick(((3, -1), (3, 2), (4, 1))), 60 * draw.between(1, 2))
    return Zone(town, base, shift, forward, Change(*draw.pick(((10, -1), (10, 3), (11, 1))), 60 * draw.between(2, 3)))


def told(zone: Zone) -> str:
    """The rule in words."""
    return (
        f"Clocks in {zone.town} are {span(abs(zone.base))} {'ahead of' if zone.base > 0 else 'behind'} UTC in winter. "
        f"There {_changed(zone.forward)} they are put forward by {zone.shift} minutes, and "
        f"{_changed(zone.back)} they are put back by as much."
    )


def span(minutes: int) -> str:
    """A length of time, such as `2 h 15 min`."""
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0))


def _changed(change: Change) -> str:
    return f"on the {_NTH[change.nth]} Sunday of {MONTHS[change.month - 1]} at {clock(change.at)}"


def clock(minute: int) -> str:
    """Minutes after midnight as `02:45`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def day(ordinal: int) -> str:
    """A day in words, such as `Sunday, 26 October 2031`."""
    one = date.fromordinal(ordinal)
    return f"{WEEKDAYS[one.weekday()]}, {one.day} {MONTHS[one.month - 1]} {one.year}"


def sunday(year: int, change: Change) -> int:
    """The day of a change, as an ordinal."""
    first = date(year, change.month, 1)
    if change.nth > 0:
        return first.toordinal() + (6 - first.weekday()) % 7 + 7 * (change.nth - 1)
    end = date(year, change.month + 1, 1) - timedelta(days=1)
    return end.toordinal() - (end.weekday() + 1) % 7


def instant(zone: Zone, wall: Wall) -> int:
    """Minutes of UTC since day 0 of the calendar when the clocks show that.

    A time that is skipped is read as if the clocks had not yet been changed.
    """
    summer = zone.base + zone.shift
    start = sunday(wall.year, zone.forward) * DAY + zone.forward.at - zone.base
    end = sunday(wall.year, zone.back) * DAY + zone.back.at - summer
    local = wall.day * DAY + wall.minute
    found = [local - summer] if start <= local - summer < end else []
    found += [] if start <= local - zone.base < end else [local - zone.base]
    return found[-1 if wall.second else 0] if found else local - zone.base


def stamp(instant: int, offset: int = 0) -> str:
    """Minutes of UTC as RFC 3339, written with `offset` minutes."""
    local = datetime(1, 1, 1, tzinfo=UTC) + timedelta(minutes=instant - DAY + offset)
    sign = "-" if offset < 0 else "+"
    return local.strftime("%Y-%m-%dT%H:%M:00") + (f"{sign}{clock(abs(offset))}" if offset else "Z")


def watched(zone: Zone, wall: Wall, later: int = 0) -> str:
    """The same instant found by watching the clocks minute by minute, then `later` minutes on."""
    shown = list(_ticks(zone, wall))
    wanted = wall.day * DAY + wall.minute
    found = [utc for utc, local in shown if local == wanted]
    if not found:  # skipped: go on counting from the last minute before it as if nothing had happened
        last = max(local for _, local in shown if local < wanted)
        found = [next(utc for utc, local in shown if local == last) + wanted - last]
    days, minute = divmod(found[-1 if wall.second else 0] + later, DAY)
    return f"{date.fromordinal(days).isoformat()}T{minute // 60:02}:{minute % 60:02}:00Z"


def _ticks(zone: Zone, wall: Wall) -> list[tuple[int, int]]:
    """What the clocks show at each minute of UTC from the day before to the day after."""
    days = {change: _counted(wall.year, change) for change in (zone.forward, zone.back)}
    put: Change | None = zone.forward
    offset = zone.base
    if wall.day - 1 > days[zone.back]:
        put = None
    elif wall.day - 1 > days[zone.forward]:
        put, offset = zone.back, zone.base + zone.shift
    ticks = []
    for utc in range((wall.day - 1) * DAY - offset, (wall.day + 2) * DAY - offset):
        if put and utc + offset == days[put] * DAY + put.at:
            offset += zone.shift if put is zone.forward else -zone.shift
            put = zone.back if put is zone.forward else None
        ticks.append((utc, utc + offset))
    return ticks


def _counted(year: int, change: Change) -> int:
    """The day of a change, by going through the month."""
    days = [date(year, change.month, number) for number in range(1, 31)]
    if change.month in {3, 10}:
        days.append(date(year, change.month, 31))
    sundays = [one for one in days if one.isoweekday() == 7]
    return sundays[change.nth if change.nth < 0 else change.nth - 1].toordinal()
