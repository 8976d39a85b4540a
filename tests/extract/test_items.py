from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract import Unread
from crucibleforge.extract.items import cells, names_in, numbers

NAMES = ["Ada", "Bo", "Red Cup", "Cup"]
LABELS = ["Ada", "Bo", "Cem"]
GRID = {"Ada": "red", "Bo": "blue", "Cem": "dark green"}


@pytest.mark.parametrize(
    "text",
    [
        "3, 1, 2",
        "[3, 1, 2]",
        "(3,1,2)",
        "{3; 1; 2}",
        "3 1 2",
        "3 -> 1 -> 2",
        "3 \u2192 1 \u2192 2",
        "3, 1 and 2",
        "3, 1, and 2",
        "3|1|2",
        "3 & 1 & 2",
        "3.0, 1, 4/2",
        "- 3\n- 1\n- 2",
        "1. 3\n2. 1\n3. 2",
        "\\{3, 1, 2\\}",
        "3 \\to 1 \\to 2",
        "three, one, two",
        "`[3, 1, 2]`",
    ],
)
def test_numbers_in_a_row_are_read_in_any_dress(text):
    assert numbers(text) == (3, 1, 2)


def test_a_comma_in_a_number_is_told_from_one_between_numbers():
    assert numbers("1,729, 12") == (1729, 12)
    assert numbers("1,729,12") == (1, 729, 12)
    assert numbers("3,1, 2") == (3, 1, 2)
    assert numbers("- 4, 0, 19") == (-4, 0, 19)
    assert numbers("-1/2, 0.25") == (Fraction(-1, 2), Fraction(1, 4))
    assert numbers("5 km, 7 km", units=["km"]) == (5, 7)


@pytest.mark.parametrize(
    "text", ["", "[]", "3, x, 2", "3, 1, 2 or 4", "all of them", "3, 1, 2, ...", "1-3", ",/,", "1 " * 900]
)
def test_what_is_more_than_numbers_is_no_list(text):
    assert isinstance(numbers(text), Unread)


@pytest.mark.parametrize(
    "text",
    [
        "Bo, Red Cup, Ada",
        "[Bo, Red Cup, Ada]",
        "bo -> red cup -> ada",
        "Bo Red Cup Ada",
        "Bo, Red Cup and Ada",
        '["Bo", "Red Cup", "Ada"]',
        "1. Bo\n2. Red Cup\n3. Ada",
        "1) Bo 2) Red Cup 3) Ada",
        "Bo, then Red Cup, then Ada",
        "Bo > Red Cup > Ada",
    ],
)
def test_names_in_a_row_are_read_in_any_dress(text):
    assert names_in(text, NAMES) == ("Bo", "Red Cup", "Ada")


@pytest.mark.parametrize(
    "text", ["", "Bo, ...", "Bo, Eve", "not Bo", "Bo or Ada", "Bob, Ada", "Bo's, Ada", "nobody", "Bo " * 900]
)
def test_what_is_more_than_names_is_no_list(text):
    assert isinstance(names_in(text, NAMES), Unread)


@pytest.mark.parametrize(
    "text",
    [
        "Ada: red, Bo: blue, Cem: dark green",
        "Ada = red; Bo = blue; Cem = dark green",
        "Ada -> red, Bo -> blue, Cem -> dark green",
        "- Ada: red\n- Bo: **blue**\n- Cem: dark green",
        "| Ada | red |\n| Bo | blue |\n| Cem | dark green |",
        "| Name | Colour |\n|---|---|\n| Ada | red |\n| Bo | blue |\n| Cem | dark green |",
        '{"Ada": "red", "Bo": "blue", "Cem": "dark green"}',
        "Ada (red), Bo (blue), Cem (dark green)",
        "Ada is red, Bo is blue and Cem is dark green",
        "Bo: blue, Cem: dark green, Ada: red",
        "Ada red, Bo blue, Cem dark green",
        "**Ada**: red, **Bo**: blue, **Cem**: dark green",
        "1. Ada: red\n2. Bo: blue\n3. Cem: dark green",
    ],
)
def test_cells_are_read_in_any_dress(text):
    assert cells(text, LABELS) == GRID


def test_labels_may_be_numbers():
    assert cells("1. Ada\n2. Bo", ["1", "2"]) == cells("1: Ada, 2: Bo", ["1", "2"]) == {"1": "Ada", "2": "Bo"}


def test_a_cell_that_is_missing_or_torn_is_left_out():
    assert cells("Ada: red, Bo:", LABELS) == {"Ada": "red"}
    assert cells("Ada: red, Bo: blue, Ada: green", LABELS) == {"Bo": "blue"}
    assert cells("Ada: red, Ada: red", LABELS) == {"Ada": "red"}


@pytest.mark.parametrize("text", ["", "red, blue", "Not Ada: red", "Adam: red", "Ada: " + "x" * 3000])
def test_no_labels_are_no_cells(text):
    assert isinstance(cells(text, LABELS), Unread)


@given(
    st.text()
    | st.lists(st.sampled_from([*NAMES, "3", "1,2", ":", "|", "\n", ", ", " and ", "[", "]", "\u0130"])).map("".join)
)
def test_any_text_is_a_row_or_none(text):
    for read in (numbers(text), names_in(text, NAMES), cells(text, LABELS)):
        assert isinstance(read, Unread | tuple | dict)
