import json

import pytest

from crucibleforge.cli._screen import duration, print_json, say, table
from crucibleforge.types import Job

HOSTILE = "a\x1b[31mred\x1b]0;title\x07\r\n\x9b1m\u202ebidi\u200b\x7f"


def test_what_is_said_goes_to_stderr_in_one_line_that_steers_nothing(capsys):
    say(HOSTILE)
    assert tuple(capsys.readouterr()) == ("", "a [31mred ]0;title    1m bidi  \n")


def test_json_is_ascii_whatever_it_says(capsys):
    print_json({"job": Job("é", HOSTILE, 1)})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"job": {"label": "é", "case_id": HOSTILE, "repeat": 1}}
    assert all(" " <= char <= "~" or char == "\n" for char in out)
    assert err == ""


def test_a_table_has_columns_as_wide_as_their_widest_cell():
    assert table(["a", "name"], [["long", "x"], ["b", ""]]) == "a     name\n----  ----\nlong  x\nb"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (7169, "119 min"), (7200, "2 h 0 min"), (12_000, "3 h 20 min")],
)
def test_a_duration_has_the_unit_that_reads_best(seconds, text):
    assert duration(seconds) == text
