from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from crucibleforge import plugins
from crucibleforge.chat import Message, Tool, ToolAnswer
from crucibleforge.families._build import build, draft, fresh, marking_hash
from crucibleforge.families._kit import Draft, Family
from crucibleforge.types import Grading, Needs

LEVELS = {"easy": 10, "medium": 20, "hard": 30}
ADDING = Family(
    name="math/adding",
    levels=LEVELS,
    make=lambda most, draw: Draft(prompt=f"Say {draw.below(1 << 40)}, at most {most}", expected=1, instance=None),
    grading=Grading("numeric", {"tolerance": 0}),
    rederive=lambda _: 1,
    right=lambda _: (),
    wrong=lambda _: (),
    max_tokens=LEVELS,
    prompt_tokens=LEVELS,
)
PLAIN = Draft(prompt="x" * 10, expected=1, instance=None)


def test_a_case_is_named_after_family_level_and_index():
    case = build(ADDING, "medium", 3, PLAIN)
    assert (case.id, case.category, case.family, case.level) == (
        "math/adding/medium.3",
        "math",
        "math/adding",
        "medium",
    )
    assert case.dialogue.messages == (Message("user", "x" * 10),)
    assert case.dialogue.max_tokens == 20


def test_only_the_first_easy_case_is_for_the_smoke_test():
    cases = [build(ADDING, level, index, PLAIN) for level in LEVELS for index in (1, 2)]
    assert [case.id for case in cases if case.smoke] == ["math/adding/easy.1"]


def test_a_draft_depends_on_all_of_its_key_and_on_nothing_else():
    keys = [("easy", 1, "canonical"), ("easy", 2, "canonical"), ("hard", 1, "canonical"), ("easy", 1, "fresh")]
    drafts = [draft(ADDING, *key) for key in keys]
    assert drafts == [draft(ADDING, *key) for key in keys]
    assert len({one.prompt.split(",")[0] for one in drafts}) == 4
    assert draft(replace(ADDING, name="math/other"), "easy", 1) != drafts[0]


def test_fresh_inputs_depend_on_seed_and_case_and_a_family_may_have_none():
    family = replace(ADDING, hidden=lambda _, draw: [{"args": [draw.below(1 << 40)], "returns": 1}])
    keys = [("a/b/easy.1", "ab"), ("a/b/easy.2", "ab"), ("a/b/easy.1", "ac")]
    inputs = [fresh(family, PLAIN, *key) for key in keys]
    assert inputs == [fresh(family, PLAIN, *key) for key in keys]
    assert len({one[0]["args"][0] for one in inputs}) == 3
    assert fresh(ADDING, PLAIN, *keys[0]) == []


def test_a_system_prompt_comes_first():
    case = build(ADDING, "easy", 1, replace(PLAIN, system="Be brief"))
    assert [message.role for message in case.dialogue.messages] == ["system", "user"]


def test_settings_of_the_draft_are_laid_over_those_of_the_family():
    case = build(ADDING, "easy", 1, replace(PLAIN, settings={"tolerance": 2}))
    assert case.grading == Grading("numeric", {"tolerance": 2})
    assert ADDING.grading.settings == {"tolerance": 0}


def test_the_hash_covers_what_is_sent_and_nothing_else():
    case = build(ADDING, "easy", 1, PLAIN)
    assert case.hash == "438b2c7b3bf15ef6"
    assert build(ADDING, "easy", 2, replace(PLAIN, expected=2)).hash == case.hash
    assert build(ADDING, "easy", 1, replace(PLAIN, turns=("And now?",))).hash != case.hash


def test_the_marking_hash_covers_what_decides_and_is_not_sent():
    case = build(ADDING, "easy", 1, PLAIN)
    known = marking_hash(case)
    assert len(known) == 16
    assert marking_hash(build(ADDING, "easy", 1, replace(PLAIN, prompt="y"))) == known
    assert marking_hash(build(ADDING, "easy", 1, replace(PLAIN, expected=1.0))) != known
    assert marking_hash(build(ADDING, "easy", 1, replace(PLAIN, settings={"tolerance": 1}))) != known


def test_the_hashes_do_not_depend_on_the_order_of_keys():
    one = Tool("t", "", {"type": "object", "properties": {}})
    other = Tool("t", "", {"properties": {}, "type": "object"})
    assert build(ADDING, "easy", 1, replace(PLAIN, tools=(one,))).hash == (
        build(ADDING, "easy", 1, replace(PLAIN, tools=(other,))).hash
    )


def test_the_context_holds_all_that_is_sent_and_every_reply():
    tool = Tool("t", "", {})
    full = replace(
        PLAIN, system="s" * 5, turns=("t" * 7,), tools=(tool,), answers=(ToolAnswer("t", {}, "r" * 11),), max_rounds=3
    )
    chars = 10 + 5 + 7 + 11 + len(msgspec.json.encode(tool))
    expected = Needs(context_tokens=-(-chars // 3) + 3 * (10 + 64), tools=True)
    assert build(ADDING, "easy", 1, full).needs == expected


@pytest.mark.parametrize(("name", "sandbox"), [("coding/fold-runs", True), ("math/stamped-tickets", False)])
def test_only_a_case_that_is_marked_by_running_needs_a_sandbox(name, sandbox):
    family = plugins.find("families", name)
    assert build(family, "easy", 1, draft(family, "easy", 1)).needs.sandbox is sandbox
