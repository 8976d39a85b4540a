from __future__ import annotations

import json

import pytest
from judged import SEED, asked, dressed, outcome

VALUE = asked("shape").case.expected
RIGHT = json.dumps(VALUE)
PRETTY = json.dumps(VALUE, indent=2)
MISSING = next(key for key, value in VALUE.items() if value is None)


@pytest.mark.parametrize(
    "text",
    [
        *dressed(RIGHT),
        f"```json\n{PRETTY}\n```",
        f"Sure! Here it is:\n\n```\n{PRETTY}\n```\n\nAll six keys are in it.",
        f"**{RIGHT}**",
        f"The order (of 1 [one] customer) as JSON:\n{PRETTY}",
        json.dumps(dict(reversed(VALUE.items()))),
        f"json\n{RIGHT}",
    ],
)
def test_a_right_object_passes_in_every_dress(text):
    assert outcome("shape", text) == ("pass", "6 of 6 keys with the right type and value")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({**VALUE, "quantity": str(VALUE["quantity"])}, "quantity"),
        ({**VALUE, "express": str(VALUE["express"]).lower()}, "express"),
        ({**VALUE, "express": not VALUE["express"]}, "express"),
        ({**VALUE, MISSING: ""}, MISSING),
        ({**VALUE, "city": "Delft"}, '"city" is not expected'),
        ({key: value for key, value in VALUE.items() if key != MISSING}, "missing"),
        ({**VALUE, "labels": ", ".join(VALUE["labels"])}, "labels"),
        ({**VALUE, "labels": VALUE["labels"][::-1]}, "labels"),
        ({**VALUE, "unit_price": f"{VALUE['unit_price']} euros"}, "unit_price"),
        ({**VALUE, "customer": VALUE["customer"].split()[0]}, "customer"),
        ({"order": VALUE}, "missing"),
        ([VALUE], "expected"),
    ],
)
def test_a_wrong_object_fails_and_names_the_key(wrong, says):
    result, why = outcome("shape", json.dumps(wrong))
    assert result == "fail"
    assert says in why


@pytest.mark.parametrize("text", [RIGHT.replace('"', "'"), RIGHT[:-1] + ",}", RIGHT[:-1], RIGHT.replace('"', "\u201c")])
def test_what_a_program_could_not_read_fails(text):
    assert outcome("shape", text) == ("fail", "unparsed: no JSON in reply")


def test_a_price_may_be_written_with_or_without_a_last_nought():
    text = RIGHT.replace(str(VALUE["unit_price"]), f"{VALUE['unit_price']:.2f}")
    assert outcome("shape", text)[0] == "pass"


def test_the_values_stand_in_the_text_and_change_with_the_seed():
    prompt = asked("shape").messages[0].content
    assert VALUE["customer"] in prompt
    assert f"{VALUE['quantity']} " in prompt
    assert f"{VALUE['unit_price']:.2f} euros" in prompt
    assert ("does not want express" in prompt) is not VALUE["express"]
    assert asked("shape", SEED + "1").case.expected != VALUE
