from pathlib import Path
from statistics import median

import pytest
from adding import ADDING, DOUBLING

from crucibleforge.families._build import cases, instance
from crucibleforge.suite.catalogue import _cells, _Entry, _first_paragraph, _page, catalogue
from crucibleforge.types import RUNGS

ROOT = Path(__file__).parent.parent.parent


def entry(family):
    effort = {rung: median([family.effort(instance(family, rung, 1))]) for rung in RUNGS}
    return _Entry(family, "Add | double.", tuple(cases(family)), effort)


@pytest.mark.slow
def test_the_page_in_docs_is_what_the_families_say():
    assert (ROOT / "docs" / "cases.md").read_text(encoding="utf-8") == catalogue()


def test_a_row_says_what_is_asked_how_it_is_marked_and_what_it_takes():
    assert _cells(entry(ADDING)) == [
        "`adding`",
        "Add \\| double.",
        "numeric",
        "1",
        "60",
        "133 / 134 / 134 / 135 / 136",
        "27 / 30 / 34 / 37 / 40",
        "structural",
    ]
    assert _cells(entry(DOUBLING))[2] == "program, by running"


def test_a_table_a_category_and_the_totals():
    page = "".join(_page([entry(DOUBLING), entry(ADDING)]))
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## coding", "## math"]
    assert "2 families, 10 cases: 8 count, 2 are reserve." in page
    assert page.count("1 family, 5 cases: 4 count, 1 are reserve.") == 2


def test_how_to_make_the_page_stands_in_its_first_lines():
    assert "`crucibleforge cases docs > docs/cases.md`" in "".join(_page([])).split("\n\n")[1]


def test_the_first_paragraph_is_one_line():
    assert _first_paragraph("What is\nasked?\n\nWhy.\n") == "What is asked?"
