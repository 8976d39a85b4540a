from __future__ import annotations

import pytest
from judged import asked, dressed, outcome

from crucibleforge.bench.abilities import right

MARK = asked("evens").case.expected["mark"]
RIGHT = right(asked("evens"))
LIST, SUM = RIGHT.rsplit("\n", 1)


@pytest.mark.parametrize(
    "text",
    [
        *dressed(RIGHT),
        f"```\n{LIST}\n```\n{SUM}",
        f"```text\n{RIGHT}\n```",
        RIGHT.replace(f" {MARK}", MARK),
        "\n".join(f"- {line}" for line in LIST.split("\n")) + "\n\n**Sum:** 30",
        LIST.replace("\n", "\n\n") + "\n\nThe sum of the even numbers is **30**.",
        LIST + "\n30",
        LIST + "\nSum = 2 + 4 + 6 + 8 + 10 = 30",
        f"1\n2\n3\nOops, I forgot the marks.\n\n{RIGHT}",
        RIGHT.replace(MARK, f"\\{MARK}"),
        RIGHT.replace("Sum", "sum") + "\n\nThat is 2, 4, 6, 8 and 10.",
    ],
)
def test_a_right_list_passes_in_every_dress(text):
    assert outcome("evens", text) == ("pass", f"1 to 10 in order, the even ones marked {MARK}, sum 30")


@pytest.mark.parametrize("seed", [f"{number:x}" for number in range(20)])
def test_a_bold_number_is_a_number_with_every_mark(seed):
    mark = asked("evens", seed).case.expected["mark"]
    lines = [f"**{value}** {mark}" if value % 2 == 0 else f"**{value}**" for value in range(1, 11)]
    assert outcome("evens", "\n".join([*lines, "**Sum: 30**"]), seed)[0] == "pass"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (RIGHT.replace("Sum: 30", "Sum: 55"), "expected a line with the sum 30"),
        (LIST, "nothing"),
        (RIGHT.replace(f"8 {MARK}", "8"), "behind 8 stands nothing"),
        (RIGHT.replace("7\n", f"7 {MARK}\n"), "behind 7 stands"),
        (RIGHT.replace(MARK, "%"), "behind 2 stands %"),
        (RIGHT.replace(MARK, "(even)"), "behind 2 stands (even)"),
        (RIGHT.replace("5\n", ""), "expected 1 to 10"),
        (RIGHT.replace("Sum", "11\nSum"), "expected 1 to 10"),
        ("0\n" + RIGHT, "expected 1 to 10"),
        ("\n".join([*reversed(LIST.split("\n")), SUM]), "expected 1 to 10"),
        (RIGHT.replace("\n", ", "), "no list of numbers"),
        (RIGHT.replace(MARK, f"{MARK}{MARK}"), "behind 2 stands"),
        (RIGHT.replace("Sum: 30", "Sum: 30 or 55"), "expected a line with the sum 30"),
        (RIGHT.replace("3\n", "3 (odd)\n"), "the lines say"),
        ("\n".join(f"{value} {MARK}" for value in range(1, 11)) + "\n30", "behind 1 stands"),
    ],
)
def test_a_wrong_list_fails_and_is_told_where(text, says):
    result, why = outcome("evens", text)
    assert result == "fail"
    assert says in why
