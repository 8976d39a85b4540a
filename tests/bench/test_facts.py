from __future__ import annotations

import pytest
from judged import asked, dressed, outcome

from crucibleforge.bench._facts import _FOUND, LIMIT, _plain
from crucibleforge.bench.abilities import right
from crucibleforge.graders._gauge import words_of

RIGHT = right(asked("facts"))
COUNT = len(words_of(RIGHT))
PASS = ("pass", f"6 of 6 facts in {COUNT} words, at most {LIMIT}")
FACTS = {kind: value for kind, _, value in asked("facts").case.expected["facts"]}
PARAGRAPH = asked("facts").messages[0].content.rsplit("\n", 1)[1]


@pytest.mark.parametrize(
    "text",
    [
        *dressed(RIGHT),
        f"**Summary:** {RIGHT}",
        f"```\n{RIGHT}\n```\n\n*({COUNT} words)*",
        f"# Shortened text\n\n> {RIGHT}\n\nThis version keeps all six facts.",
        RIGHT.replace(FACTS["total"], f"**{FACTS['total']}**"),
        RIGHT.replace(" ", "\n"),
    ],
)
def test_a_right_text_passes_in_every_dress(text):
    assert outcome("facts", text) == PASS


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("total", "12,450", "12450 12,450 12\u202f450 12'450 12_450 12.45k 12.45\u00a0thousand"),
        ("total", "12,450", "in March 2014 12 450 people"),
        ("total", "30,100", "30.1k|30,100,|(30100)|30100."),
        (
            "money",
            "3.8 million euros",
            "\u20ac3.8m|EUR 3.8 million|3.8M euros|3,800,000 euros|\u20ac3 800 000|3,8 million",
        ),
        ("share", "47 percent", "47%|47 %|47 per cent|forty-seven percent|Forty seven per cent|47.0%|(47%)"),
        ("date", "23 August 2009", "August 23, 2009|23rd of August 2009|Aug. 23 2009|23 aug 2009|2009-08-23"),
        ("date", "23 August 2009", "23.08.2009|23/8/2009|8/23/2009|the 23rd day of August, 2009|23. 8. 2009"),
        ("date", "14 September 2012", "14 Sept. 2012|Sept 14th, 2012|14 Sep 2012|2012/09/14"),
        ("date", "13 May 2020", "May 13, 2020|13 May, 2020"),
        ("person", "Irena Rautio", "Rautio|**Rautio**'s plan|IRENA RAUTIO|_Rautio_"),
        ("place", "Brenvik", "Brenvik\u2019s council|(Brenvik)|brenvik"),
    ],
)
def test_a_fact_is_found_in_every_usual_dress(kind, value, said):
    for one in said.split("|" if "|" in said or " in " in f" {said}" else " "):
        assert _FOUND[kind](_plain(f"So it was {one} then."), value), one


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("total", "12,450", "112,450|12,450,000|124500|12,405|12.4k|about 12,000|1 12,4501|12450.5|-12,45"),
        (
            "money",
            "3.8 million euros",
            "13.8 million|3.88 million|3.8 billion|38 million|3.8|nearly 4 million|3.8 metres",
        ),
        ("share", "47 percent", "147%|47|4.7%|47.5%|nearly half|forty percent|seven percent|47 percentages"),
        ("date", "23 August 2009", "23 August|August 2009|23 August 2008|22 August 2009|123.08.2009|23 August 20091"),
        ("date", "23 August 2009", "2009|2009-08-24|12009-08-23|3 August 2009|23 Augustus"),
        ("person", "Irena Rautio", "Irena|Rautioni|Raut|Frautio"),
        ("place", "Brenvik", "Brenvikstad|Brenv|Ober_Brenvika"),
    ],
)
def test_what_is_nearly_a_fact_is_none(kind, value, said):
    for one in said.split("|"):
        assert not _FOUND[kind](_plain(f"So it was {one} then."), value), one


@pytest.mark.parametrize("kind", FACTS)
def test_a_text_without_one_fact_fails_and_names_it(kind):
    result, why = outcome("facts", RIGHT.replace(FACTS[kind], "something"))
    assert result == "fail"
    assert why.startswith("6 of 7 right; ")
    assert why.endswith(f": {FACTS[kind]} is missing")


@pytest.mark.parametrize(
    "text",
    [
        PARAGRAPH,
        f"Sure! Here is the text:\n\n{PARAGRAPH}",
        RIGHT + " and so on" * 20,
        f"Something was decided.\n\nI kept all facts: {', '.join(FACTS.values())}.",
        "\n".join(FACTS[kind] for kind in list(FACTS)[:5]),
        f"{RIGHT}\n\n{PARAGRAPH}",
    ],
)
def test_a_text_that_is_too_long_or_has_its_facts_in_the_remarks_fails(text):
    assert outcome("facts", text)[0] == "fail"
