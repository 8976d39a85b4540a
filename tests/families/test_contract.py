from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import count

import msgspec
import pytest

from crucibleforge import plugins
from crucibleforge.cli._sandboxed import executor
from crucibleforge.families._contract import problems
from crucibleforge.families._kit import Draft, Family, answer_dressings, code_dressings, said
from crucibleforge.programs import Ran, Returned
from crucibleforge.sandbox import open_sandbox
from crucibleforge.types import Grading

TOKENS = {"easy": 40, "medium": 40, "hard": 40}


def adding(most, draw):
    """A sound family: its answer is over 100, its summands are not."""
    one, other = draw.between(60, most), draw.between(60, most)
    return Draft(prompt=f"Add {one} and {other}.", expected=one + other, instance=(one, other))


ADDING = Family(
    name="math/adding",
    levels={"easy": 70, "medium": 80, "hard": 90},
    make=adding,
    grading=Grading("numeric", {}),
    rederive=lambda draft: sum(draft.instance),
    right=lambda draft: tuple((reply,) for reply in answer_dressings(draft.expected)),
    wrong=lambda draft: tuple((said(f"ANSWER: {draft.expected + off}"),) for off in (1, -1, 10)),
    max_tokens=TOKENS,
    prompt_tokens=TOKENS,
    count=1,
)


@pytest.fixture(scope="session")
def run():
    # The programs are our own, so that a machine without a sandbox may run them as they are.
    with closing(open_sandbox(allow_unsandboxed=True)) as sandbox:
        yield executor(sandbox)


def never(program):
    raise AssertionError(f"a program ran: {program}")


def found(draws=3, **fault):
    """The broken laws of the sound family with a fault planted, without the number of the instance."""
    lines = problems(replace(ADDING, **fault), never, draws=draws)
    return sorted({line.partition(": ")[2] for line in lines})


@pytest.mark.slow
@pytest.mark.parametrize("name", plugins.names("families"))
def test_every_family_keeps_the_contract(name, run):
    family = plugins.find("families", name)
    assert family.name == name
    assert problems(family, run) == []


def test_a_sound_family_has_no_problems():
    assert problems(ADDING, never) == []


def test_a_problem_names_the_case():
    assert problems(replace(ADDING, rederive=lambda _: 1), never, draws=1)[0].startswith("math/adding/easy.1: ")


def test_a_wrong_answer_of_make_is_found():
    def make(most, draw):
        right = adding(most, draw)
        return replace(right, expected=right.expected + 1)

    faults = found(draws=1, make=make)
    assert faults
    assert all(line.startswith("make says 1") and ", rederive says 1" in line for line in faults)


@pytest.mark.parametrize("other", [float, str, lambda value: [value]])
def test_an_answer_of_another_type_is_another_answer(other):
    assert len(found(draws=1, rederive=lambda draft: other(sum(draft.instance)))) == 3


def test_a_prompt_that_holds_the_answer_is_found():
    def make(most, draw):
        right = adding(most, draw)
        return replace(right, prompt=f"{right.prompt} It is not {right.expected}, is it?")

    faults = found(draws=1, make=make)
    assert faults
    assert all(line.startswith("the answer 1") and line.endswith("stands in the prompt") for line in faults)
    assert found(draws=1, make=make, shown="it is asked about") == []


@pytest.mark.parametrize(
    ("expected", "prompt", "is_there"),
    [
        (12, "Take 12 of them.", True),
        (12, "Take 112, 120, 12.5 or x12 of them.", False),
        (1.5, "1.5 m", True),
        ("Left", "turn left now", True),
        ("left", "a leftover", False),
        ([1, 2, 3], "1, 2, 3", True),
        ([1, 2, 3], "1, 3, 2", False),
        ({"a": 5, "b": ["x y"]}, "first 5 x y", True),
        ({"a": 5, "b": ["x y"]}, 'as {"a": 5, "b": ["x y"]}', True),
        ({"a": 5, "b": ["x y"]}, "x y 5", False),
        ([], "anything", False),
    ],
)
def test_an_answer_stands_in_a_prompt_word_by_word_and_in_order(expected, prompt, is_there):
    def make(most, draw):
        return Draft(prompt=prompt, expected=expected, instance=expected)

    faults = found(make=make, rederive=lambda draft: draft.instance, right=lambda _: (), wrong=lambda _: ())
    assert any("stands in the prompt" in line for line in faults) is is_there


def test_a_grader_that_accepts_a_neighbour_is_found():
    faults = found(draws=1, grading=Grading("numeric", {"tolerance": 5}))
    assert len(faults) == 6
    assert all(
        line.startswith(("wrong reply 1 passes: ANSWER: 1", "wrong reply 2 passes: ANSWER: 1")) for line in faults
    )


def test_a_right_reply_that_does_not_pass_is_found():
    faults = found(draws=1, right=lambda draft: (*ADDING.right(draft), (said("ANSWER: none"),)))
    assert faults
    assert all(line.startswith("right reply 6 does not pass: fail, ") for line in faults)


def test_too_few_replies_are_found():
    same = lambda draft: (tuple(answer_dressings(draft.expected))[:1],) * 9  # noqa: E731 - a family's field
    assert found(right=same) == ["right gives 1 different dialogues, at least 5 are due"]
    assert found(wrong=lambda _: ()) == ["wrong gives 0 different dialogues, at least 3 are due"]


def test_a_cut_reply_that_passes_is_found():
    def right(draft):
        first, *others = ADDING.right(draft)
        return ((said(f"ANSWER: {draft.expected}\n{'so ' * 40}\n"),), first, *others)

    assert all(line.startswith("a reply cut off half-way passes: ANSWER: 1") for line in found(right=right))
    assert found(right=right)


def test_a_family_whose_draws_differ_each_time_is_found():
    clock = count()

    def make(most, draw):
        return replace(adding(most, draw), system=f"Now it is {next(clock)}")

    assert "the same key gave two different drafts" in found(make=make)


def test_two_levels_that_ask_the_same_are_found():
    def make(most, draw):
        return Draft(prompt="Add 61 and 62.", expected=123, instance=(61, 62))

    assert problems(replace(ADDING, make=make), never) == [
        "math/adding/medium.1: asks the same as math/adding/easy.1",
        "math/adding/hard.1: asks the same as math/adding/easy.1",
    ]


def test_a_prompt_over_its_budget_is_found():
    assert found(prompt_tokens={**TOKENS, "hard": 4}) == ["the prompt may take 5 tokens, its budget is 4"]


@pytest.mark.parametrize("field", ["levels", "max_tokens", "prompt_tokens"])
@pytest.mark.parametrize("table", [{"easy": 9, "hard": 9}, {"easy": 9, "medium": 9, "hard": 9, "expert": 9}])
def test_there_are_three_levels_exactly(field, table):
    assert found(**{field: table}) == [
        f"{field} must be set for easy, medium, hard and no other, not {', '.join(table)}"
    ]


def test_a_family_without_cases_is_found():
    assert found(count=0) == ["count is 0, it must be at least 1"]


@pytest.mark.parametrize("field", ["make", "rederive", "right", "wrong"])
def test_a_family_that_raises_has_a_problem_and_crashes_nothing(field):
    def fault(*_):
        return {}["no such key"]

    assert found(**{field: fault}) == [f"{field} raised KeyError: 'no such key'"]


def test_settings_that_the_grader_cannot_use_are_a_problem():
    faults = found(grading=Grading("checks", {"checks": [{"type": "rhymes"}]}))
    assert len(faults) == 1
    assert faults[0].startswith("mark raised ValueError: unknown check 'rhymes'")


def test_a_program_runs_once_however_often_it_is_dressed():
    family = plugins.find("families", "coding/fold-runs")
    ran = []

    def run(program):
        ran.append(msgspec.json.encode(program))
        return Ran(tuple(Returned(None) for _ in program.calls), "nowhere")

    problems(family, run, draws=2)
    assert len(ran) == len(set(ran)) > 0


def times(factor):
    return f"def times(n):\n    return n * {factor}\n"


def calls(factor, numbers):
    return [{"args": [n], "returns": n * factor} for n in numbers]


def multiplying(most, draw):
    factor = draw.between(60, most)
    return Draft(
        prompt=f"Write `times(n)`, which multiplies by {factor}.",
        expected=calls(factor, [11, 12, 13]),
        instance=factor,
        settings={"entry": "times", "reference": times(factor)},
    )


MULTIPLYING = replace(
    ADDING,
    name="coding/times",
    make=multiplying,
    grading=Grading("program", {}),
    rederive=lambda draft: [{**call, "returns": call["args"][0] * draft.instance} for call in draft.expected],
    right=lambda draft: tuple((reply,) for reply in code_dressings(times(draft.instance))),
    wrong=lambda draft: tuple((said(f"```python\n{times(draft.instance + off)}```"),) for off in (1, -1, 10)),
    hidden=lambda draft, draw: calls(draft.instance, [draw.between(100, 1 << 40), 7]),
)


def in_place(program):
    """Runs the programs of this file, and no other."""
    names = {}
    exec(program.source, names)
    return Ran(tuple(Returned(names[program.entry](*call.args)) for call in program.calls), "in place")


def found_in_program(**fault):
    lines = problems(replace(MULTIPLYING, **fault), in_place, draws=2)
    return sorted({line.partition(": ")[2] for line in lines})


def with_draft(change):
    """`make` with a fault planted into its draft."""

    def make(most, draw):
        right = multiplying(most, draw)
        return replace(right, **change(right))

    return make


def test_a_sound_family_of_programs_has_no_problems():
    assert problems(MULTIPLYING, in_place) == []


def test_a_program_without_inputs_is_found():
    faults = found_in_program(make=with_draft(lambda _: {"expected": []}))
    assert "there is no input to run a program on" in faults


def test_a_missing_reference_is_found():
    faults = found_in_program(make=with_draft(lambda _: {"settings": {"entry": "times"}}))
    assert faults == ["the reference does not pass: fail, no function 'times' in the code"]


def test_a_reference_that_fails_a_canonical_input_is_found():
    def change(right):
        return {"settings": {"entry": "times", "reference": times(f"{right.instance} if n != 12 else 0")}}

    faults = found_in_program(make=with_draft(change))
    assert faults
    assert all(line.startswith("the reference does not pass: fail, times(12) gave ") for line in faults)


def test_a_reference_that_fails_a_hidden_input_is_found():
    def change(right):
        return {"settings": {"entry": "times", "reference": times(f"{right.instance} if n != 7 else 0")}}

    faults = found_in_program(make=with_draft(change))
    assert faults
    assert all(line.startswith("the reference does not pass: fail, times(7) gave ") for line in faults)


def test_a_family_of_programs_without_hidden_inputs_is_found():
    assert found_in_program(hidden=None) == [
        "0 hidden inputs beside 3, 30% of all are due",
        "two seeds give the same hidden inputs",
        "whoever knows the canonical answers by heart passes the hidden inputs",
    ]


def test_hidden_inputs_that_are_the_same_for_every_seed_are_found():
    faults = found_in_program(hidden=lambda draft, _: calls(draft.instance, [5, 7]))
    assert faults == ["two seeds give the same hidden inputs"]


def test_too_few_hidden_inputs_are_found():
    faults = found_in_program(hidden=lambda draft, draw: calls(draft.instance, [draw.between(100, 1 << 40)]))
    assert faults == ["1 hidden inputs beside 3, 30% of all are due"]


def test_hidden_inputs_that_are_canonical_ones_are_found():
    faults = found_in_program(hidden=lambda draft, draw: calls(draft.instance, draw.sample([11, 12, 13, 11, 12], 2)))
    assert "whoever knows the canonical answers by heart passes the hidden inputs" in faults


def test_hidden_inputs_that_one_known_answer_fits_are_found():
    def hidden(draft, draw):
        # The factor is cancelled out: whatever is asked, the answer is that of 11.
        return [{"args": [draw.between(100, 1 << 40)], "returns": 11 * draft.instance} for _ in range(4)]

    faults = found_in_program(hidden=hidden)
    assert "whoever knows the canonical answers by heart passes the hidden inputs" in faults


def test_hidden_inputs_that_cannot_be_drawn_are_a_problem_and_crash_nothing():
    assert found_in_program(hidden=lambda draft, _: {}["no such key"]) == ["hidden raised KeyError: 'no such key'"]
