"""Follow ids through several tools and answer from the last result.

No call can be written before the result of the one before it was read: a name gives the id of a house, the house
gives its beds, a bed gives its sensor. Harder levels add a step, then a second house and beds that are told apart by
a number. The calls and the answer come from the world that was drawn; they are derived again from the prompt's words
and the scripted answers, as a model has to find them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from crucibleforge.chat import Reply, Tool, ToolAnswer
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Draw, Family, called, said
from crucibleforge.types import Grading

TWINS = (
    ("Alder House", "Elder House"),
    ("Rowan House", "Rowan Annex"),
    ("North Hazel House", "South Hazel House"),
    ("Beech House", "Birch House"),
    ("Willow House", "Willow Lodge"),
)
"""Names that are easily taken for each other; a world has two pairs."""
CROPS = ("basil", "chard", "chervil", "cress", "dill", "fennel", "mint", "parsley", "sorrel", "thyme")


@dataclass(frozen=True)
class Params:
    """The question: plants of a bed, moisture of a bed, difference of moisture between two houses."""

    asks: Literal["plants", "moisture", "difference"]


@dataclass(frozen=True)
class Bed:
    """A bed and its sensor; `moisture` in percent."""

    crop: str
    plants: int
    sensor: str
    moisture: int


@dataclass(frozen=True)
class House:
    """A house and its beds; the first bed is the one that the question means."""

    name: str
    id: str
    beds: tuple[Bed, ...]


def make(params: Params, draw: Draw) -> Draft:
    """Draw a world, the calls that lead through it and their answers."""
    return draw.until(lambda: _world(params, draw))


def _world(params: Params, draw: Draw) -> Draft | None:
    crop, *others = draw.shuffled(CROPS)
    ids = iter(draw.sample(range(101, 1000), 20))
    names = [name for pair in draw.sample(TWINS, 2) for name in pair]
    twins = params.asks == "difference"
    houses = [
        _house(name, [crop, crop if twins else others[3], *others[:2]], ids, draw) for name in draw.shuffled(names)
    ]
    asked = tuple(houses[: 2 if twins else 1])
    answer = _answer(params, asked)
    if answer == 0:
        return None
    calls = [call for house in asked for call in _calls(params, house)]
    return Draft(
        prompt=_prompt(params, crop, asked),
        expected={"calls": calls, "ordered": False, "answer": answer},
        instance=asked,
        tools=_TOOLS[:2] if params.asks == "plants" else _TOOLS,
        answers=tuple(answer for house in houses for answer in _answers(house, draw)),
        max_rounds=len(calls) + 2,
    )


def _house(name: str, crops: list[str], ids: Iterator[int], draw: Draw) -> House:
    """Of two beds of one crop the first has more plants."""
    plants = sorted(draw.sample(range(12, 60), len(crops)), reverse=True)
    moistures = draw.sample(range(20, 90), len(crops))
    beds = tuple(Bed(*bed[:2], f"S-{next(ids)}", bed[2]) for bed in zip(crops, plants, moistures, strict=True))
    return House(name, f"H-{next(ids)}", beds)


def _prompt(params: Params, crop: str, asked: tuple[House, ...]) -> str:
    name = asked[0].name
    match params.asks:
        case "plants":
            question = f"How many plants are in the {crop} bed of {name}?"
        case "moisture":
            question = f"What moisture, in percent, does the sensor in the {crop} bed of {name} show?"
        case "difference":
            question = (
                f"{name} and {asked[1].name} each have two {crop} beds. In each of these houses take the {crop} bed "
                "with more plants and read its sensor. By how many percentage points do the two moistures differ? Give "
                "a positive number."
            )
    return f"{question}\nUse the tools to find out; do not guess an id. Answer with the number alone.\n{ANSWER_LINE}"


def _calls(params: Params, house: House) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {"name": "find_house", "arguments": {"name": house.name}},
        {"name": "list_beds", "arguments": {"house_id": house.id}},
    ]
    if params.asks != "plants":
        calls.append({"name": "read_sensor", "arguments": {"sensor_id": house.beds[0].sensor}})
    return calls


def _answer(params: Params, asked: tuple[House, ...]) -> int:
    match params.asks:
        case "plants":
            return asked[0].beds[0].plants
        case "moisture":
            return asked[0].beds[0].moisture
        case "difference":
            return abs(asked[0].beds[0].moisture - asked[1].beds[0].moisture)


def _answers(house: House, draw: Draw) -> list[ToolAnswer]:
    beds = [{"crop": bed.crop, "plants": bed.plants, "sensor_id": bed.sensor} for bed in draw.shuffled(house.beds)]
    return [
        ToolAnswer("find_house", {"name": house.name}, _json({"name": house.name, "house_id": house.id})),
        ToolAnswer("list_beds", {"house_id": house.id}, _json({"house_id": house.id, "beds": beds})),
        *(
            ToolAnswer(
                "read_sensor",
                {"sensor_id": bed.sensor},
                _json(
                    {"sensor_id": bed.sensor, "temperature_c": draw.between(11, 19), "moisture_percent": bed.moisture}
                ),
            )
            for bed in house.beds
        ),
    ]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _tool(name: str, description: str, argument: str, meaning: str) -> Tool:
    fields = {argument: {"type": "string", "description": meaning}}
    schema = {"type": "object", "properties": fields, "required": [argument], "additionalProperties": False}
    return Tool(name, description, schema)


_TOOLS = (
    _tool("find_house", "Find a glasshouse by its full name and give its id.", "name", "Full name of the house"),
    _tool("list_beds", "List the beds of a house: crop, plants, sensor id.", "house_id", "Id of the house, like H-000"),
    _tool("read_sensor", "Read a sensor once: temperature, moisture.", "sensor_id", "Id of the sensor, like S-000"),
)


def rederive(draft: Draft) -> dict[str, Any]:
    """Walk through the scripted answers, knowing no more than the prompt."""
    names = re.findall(r"((?:[A-Z]\w+ )+(?:House|Annex|Lodge))", draft.prompt.split(" each have ")[0])
    crop = re.findall(r"(\w+) beds?\b", draft.prompt)[0]
    calls: list[dict[str, Any]] = []

    def ask(tool: str, **arguments: str) -> dict[str, Any]:
        calls.append({"name": tool, "arguments": arguments})
        found = [a.result for a in draft.answers if a.name == tool and a.arguments == arguments]
        result: dict[str, Any] = msgspec.json.decode(found[0])
        return result

    found = []
    for name in names:
        beds = ask("list_beds", house_id=ask("find_house", name=name)["house_id"])["beds"]
        bed = max((bed for bed in beds if bed["crop"] == crop), key=lambda bed: bed["plants"])
        read = "moisture" in draft.prompt
        found.append(ask("read_sensor", sensor_id=bed["sensor_id"])["moisture_percent"] if read else bed["plants"])
    return {"calls": calls, "ordered": False, "answer": max(found) - min(found) if len(found) > 1 else found[0]}


def right(draft: Draft) -> Dialogues:
    """The calls one by one, with words, in wide JSON, independent ones at once, one of them twice."""
    calls, answer = draft.expected["calls"], draft.expected["answer"]
    steps = [_called(call) for call in calls]
    spoken = [_called(call, text="Let me look that up.") for call in calls]
    wide = [called((call["name"], msgspec.json.format(_json(call["arguments"]), indent=1))) for call in calls]
    again = called(("list_beds", _json({"house_id": draft.instance[0].id})))
    depth = len(calls) // len(draft.instance)
    at_once = [
        called(*((call["name"], _json(call["arguments"])) for call in calls[step::depth])) for step in range(depth)
    ]
    return (
        (*steps, said(f"ANSWER: {answer}")),
        (*spoken, said(f"The sensors have been read.\n\n**ANSWER: {answer}**")),
        (*wide, said(f"Found it.\nAnswer: {answer}.\n")),
        (*at_once, said(f"Final answer: {answer}")),
        (*steps, again, said(f"- house found\n- beds listed\n\nANSWER: `{answer}`")),
    )


def wrong(draft: Draft) -> Dialogues:
    """The answer off by one, another bed's number, the last look skipped, the wrong bed or house, no answer line."""
    calls, answer = draft.expected["calls"], draft.expected["answer"]
    steps = [_called(call) for call in calls]
    other = draft.instance[0].beds[1]
    astray = called(("read_sensor", _json({"sensor_id": other.sensor})))
    return (
        (*steps, said(f"ANSWER: {answer + 1}")),
        (*steps, said(f"ANSWER: {answer - 1}")),
        (*steps[:-1], said(f"ANSWER: {answer}")),
        (*steps[:-1], astray, said(f"ANSWER: {answer}")),
        (*steps, said("I have looked everything up.")),
        tuple(steps),
        (said(f"ANSWER: {answer}"),),
    )


def _called(call: dict[str, Any], text: str = "") -> Reply:
    return called((call["name"], _json(call["arguments"])), text=text)


FAMILY = Family(
    name="tooluse/glasshouse-loop",
    levels={"easy": Params("plants"), "medium": Params("moisture"), "hard": Params("difference")},
    make=make,
    grading=Grading("tools", {"allow_extra": [tool.name for tool in _TOOLS]}),  # looking around does no harm
    rederive=rederive,
    right=right,
    wrong=wrong,
    max_tokens={"easy": 200, "medium": 200, "hard": 200},
    prompt_tokens={"easy": 80, "medium": 90, "hard": 160},
)
