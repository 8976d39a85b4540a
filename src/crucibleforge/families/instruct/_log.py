"""A log that is to be reshaped, and the words of the request."""

from __future__ import annotations

from dataclasses import dataclass

CANCELLED = "void"


@dataclass(frozen=True)
class Row:
    """One line of the log, as it is printed; empty text is a missing cell. `note` may be `void`."""

    id: str
    place: str
    pieces: str
    weight: str
    note: str = ""


@dataclass(frozen=True)
class Log:
    """The rows and what is to become of them.

    `names` are the new ones of id, place, pieces and weight. `least` pieces or more are kept, or unknown ones; 0 keeps
    all. `order` is "" (as they come), "weight" or "place".
    """

    rows: tuple[Row, ...]
    names: tuple[str, str, str, str]
    least: int = 0
    order: str = ""
    rounds: bool = False
    corrects: bool = False
    groups: bool = False


HEAD = "id | place | pieces | weight"


def request(log: Log) -> str:
    """The steps in order, then the log."""
    _, place, _, weight = log.names
    steps = [*_correction(log), *_fields(log), *_filter(log), *_order(log)]
    if log.groups:
        steps.append(
            f"Put the objects together by place: the array holds one object for each place that is left, in "
            f"alphabetical order of place, with `{place}` (string), `total` (number: the sum of the rounded `{weight}` "
            f"values of the place, null counting as 0) and `list` (array of the place's objects in their order, each "
            f"without `{place}`)."
        )
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    lines = "\n".join(_printed(row) for row in log.rows)
    return (
        "Turn this log into a JSON array of objects. Do these steps in this order:\n"
        f"{numbered}\n\n{HEAD}\n{lines}\n\n"
        "Strings, numbers and null must have exactly these types. Reply with nothing but the JSON; a code fence around "
        "it is allowed."
    )


def _printed(row: Row) -> str:
    if row.note:
        return f"{row.id} | {row.note}"
    return " | ".join((row.id, row.place, row.pieces or "-", row.weight or "-"))


def _correction(log: Log) -> list[str]:
    if not log.corrects:
        return []
    return [
        (
            "A later line about the same id replaces the whole earlier line. If the last line about an id says "
            f"{CANCELLED}, there is no object for that id."
        )
    ]


def _fields(log: Log) -> list[str]:
    one, place, count, weight = log.names
    text = (
        f"Make an object of each line, with id as `{one}` (string), place as `{place}` (string), pieces as `{count}` "
        f"(integer) and weight as `{weight}` "
    )
    if not log.rounds:
        text += "(integer, in kg)."
    else:
        text += (
            "(number, in kilograms, rounded to one decimal; where the exact value lies halfway between two such values "
            "take the one whose last digit is even)."
        )
    return [f"{text} A cell - becomes null." if any("" in (row.pieces, row.weight) for row in log.rows) else text]


def _filter(log: Log) -> list[str]:
    if not log.least:
        return []
    count = log.names[2]
    unknown = f", and those whose `{count}` is null" if any(not row.pieces for row in log.rows) else ""
    return [f"Keep only the objects whose `{count}` is at least {log.least}{unknown}."]


def _order(log: Log) -> list[str]:
    one, place, count, weight = log.names
    match log.order:
        case "weight":
            weighed = f"{'the rounded ' if log.rounds else ''}`{weight}`"
            return [
                (
                    f"Order them by {weighed}, largest first, null last; where it is equal, by `{one}` in "
                    "alphabetical order (digits by character)."
                )
            ]
        case "place":
            return [
                (
                    f"Order them by `{place}` in alphabetical order; where it is equal, by `{count}`, largest first, "
                    f"null last; where that is equal too, by `{one}` in alphabetical order (digits by character)."
                )
            ]
        case _:
            return ["Keep the order of the log."]
