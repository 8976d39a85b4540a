from __future__ import annotations

import re
from itertools import permutations

import pytest
from judged import asked, dressed, outcome

from crucibleforge.bench._pets import Clue, holds, puzzle, sentence, solutions
from crucibleforge.bench.abilities import right
from crucibleforge.families._draw import Draw

SEEDS = [f"{number:x}" for number in range(200)]


def told(prompt: str) -> tuple[list[str], list[str], list[str]]:
    """People, pets and clues as somebody reads them who knows nothing but the prompt."""
    first, second, *rest = prompt.split("\n")
    people = first.split(" live in ")[0].split(", ")
    pets = second.split(": ")[1].removesuffix(".").split(", ")
    return people, pets, [line.split(". ", 1)[1] for line in rest if re.match(r"\d\. ", line)]


def is_so(clue: str, house: dict[str, int], pet: dict[str, str]) -> bool:
    owner = {animal: person for person, animal in pet.items()}

    def where(name: str) -> int:
        found = re.fullmatch(r"[Tt]he owner of the (\w+)", name)
        return house[owner[found[1]] if found else name]

    if found := re.fullmatch(r"(.+) lives in house (\d)\.", clue):
        return where(found[1]) == int(found[2])
    if found := re.fullmatch(r"(.+) does not live in house (\d)\.", clue):
        return where(found[1]) != int(found[2])
    if found := re.fullmatch(r"(.+) lives somewhere to the left of (.+)\.", clue):
        return where(found[1]) < where(found[2])
    if found := re.fullmatch(r"(.+) lives next door to (.+)\.", clue):
        return abs(where(found[1]) - where(found[2])) == 1
    if found := re.fullmatch(r"(\w+) does not own the (\w+)\.", clue):
        return pet[found[1]] != found[2]
    found = re.fullmatch(r"(\w+) owns the (\w+) or the (\w+)\.", clue)
    return pet[found[1]] in found.groups()[1:]


def readings(people: list[str], pets: list[str], clues: list[str]) -> list[dict[str, list[str]]]:
    fitting = []
    for order in permutations(range(1, 5)):
        house = dict(zip(people, order, strict=True))
        for animals in permutations(pets):
            pet = dict(zip(people, animals, strict=True))
            if all(is_so(clue, house, pet) for clue in clues):
                fitting.append({person: [pet[person], str(house[person])] for person in people})
    return fitting


@pytest.mark.slow
def test_the_words_of_every_puzzle_have_exactly_one_solution_and_need_every_clue():
    for seed in SEEDS[:12]:
        case = asked("pets", seed).case
        people, pets, clues = told(case.dialogue.messages[0].content)
        assert readings(people, pets, clues) == [case.expected]
        for clue in clues:
            assert len(readings(people, pets, [one for one in clues if one != clue])) > 1


@pytest.mark.slow
def test_two_hundred_puzzles_are_proven_and_all_different():
    prompts = set()
    for seed in SEEDS:
        made = puzzle(Draw("bench-llm", seed, "pets"))
        assert len(solutions(made.clues)) == 1
        for clue in made.clues:
            assert len(solutions([one for one in made.clues if one is not clue])) > 1
        assert sum(clue.kind == "at" for clue in made.clues) <= 1
        assert (len(set(made.people)), len(set(made.pets))) == (4, 4)
        prompts.add(asked("pets", seed).messages[0].content)
    assert len(prompts) == len(SEEDS)


def test_a_clue_is_true_of_the_worlds_that_its_words_describe():
    # People in houses 1, 2, 3, 4; their pets in the order second, first, fourth, third.
    world = (1, 2, 3, 4, 2, 1, 4, 3)
    clues = [
        (Clue("at", (4,), 2), Clue("at", (4,), 1)),
        (Clue("not at", (0,), 2), Clue("not at", (0,), 1)),
        (Clue("left", (5, 1)), Clue("left", (1, 5))),
        (Clue("beside", (1, 2)), Clue("beside", (1, 4))),
        (Clue("not owner", (0, 4)), Clue("not owner", (0, 5))),
        (Clue("one of", (0, 4, 5)), Clue("one of", (0, 4, 6))),
    ]
    for true, false in clues:
        assert (holds(true, world), holds(false, world)) == (True, False)


def test_clues_are_told_in_plain_words():
    made = puzzle(Draw("words"))
    (ada, bo, *_), (cat, dog, *_) = made.people, made.pets
    assert sentence(Clue("left", (4, 1)), made) == f"The owner of the {cat} lives somewhere to the left of {bo}."
    assert sentence(Clue("one of", (0, 4, 5)), made) == f"{ada} owns the {cat} or the {dog}."


CELLS = asked("pets").case.expected
RIGHT = right(asked("pets"))
PEOPLE = list(CELLS)


@pytest.mark.parametrize(
    "text",
    [
        *dressed(RIGHT),
        f"**{RIGHT}**",
        "## Answer\n\n" + "\n".join(f"- **{who}**: {pet}, house {house}" for who, (pet, house) in CELLS.items()),
        "Answer:\n| who | pet | house |\n|---|---|---|\n"
        + "\n".join(f"| {who} | {pet} | {house} |" for who, (pet, house) in CELLS.items()),
        "ANSWER: " + ", ".join(f"{who}: the {pet} (house {house})" for who, (pet, house) in reversed(CELLS.items())),
        RIGHT.upper(),
        f"Guess: ANSWER: {PEOPLE[0]}: cat, 9\nNo, that is wrong.\n{RIGHT}",
    ],
)
def test_a_right_grid_passes_in_every_dress(text):
    assert outcome("pets", text) == ("pass", "8 of 8 cells right")


def line(cells: dict[str, list[str]]) -> str:
    return "ANSWER: " + "; ".join(f"{who}: {', '.join(row)}" for who, row in cells.items())


@pytest.mark.parametrize(
    "text",
    [
        line(dict(zip(PEOPLE, [*list(CELLS.values())[1:], CELLS[PEOPLE[0]]], strict=True))),
        line({**CELLS, PEOPLE[0]: [CELLS[PEOPLE[1]][0], CELLS[PEOPLE[0]][1]]}),
        line({**CELLS, PEOPLE[0]: [CELLS[PEOPLE[0]][0], str(int(CELLS[PEOPLE[0]][1]) % 4 + 1)]}),
        line({who: CELLS[who] for who in PEOPLE[:3]}),
        line({who: row[:1] for who, row in CELLS.items()}),
        line({**CELLS, PEOPLE[3]: [f"{CELLS[PEOPLE[3]][0]} or {CELLS[PEOPLE[2]][0]}", CELLS[PEOPLE[3]][1]]}),
        "ANSWER: " + ", ".join(PEOPLE),
        RIGHT.removeprefix("ANSWER: ").replace(";", " and then") + "\nOr the other way round.",
    ],
)
def test_a_wrong_grid_fails(text):
    assert outcome("pets", text)[0] == "fail"


def test_a_grid_that_is_nearly_right_says_how_much_of_it_and_what_is_wrong():
    wrong = str(int(CELLS[PEOPLE[0]][1]) % 4 + 1)
    result, why = outcome("pets", line({**CELLS, PEOPLE[0]: [CELLS[PEOPLE[0]][0], wrong]}))
    assert (result, why) == (
        "fail",
        f"7 of 8 right; {PEOPLE[0]}: {CELLS[PEOPLE[0]][1]}: got {CELLS[PEOPLE[0]][0]}, {wrong}",
    )
