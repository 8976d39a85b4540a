from __future__ import annotations

from dataclasses import replace
from itertools import count

import msgspec
import pytest
from adding import ADDING, Sum

from crucibleforge.chat import Message, Tool, ToolAnswer
from crucibleforge.families import _build
from crucibleforge.families._build import build, cases, complete, fingerprint, hidden, item, items, made, marking_hash
from crucibleforge.families._kit import Draft, Item
from crucibleforge.types import RUNGS, Grading, Needs

PLAIN = Item(None, 1, Draft(prompt="x" * 10))
SMALL = replace(ADDING, max_tokens=dict.fromkeys(RUNGS, 20), grading=Grading("numeric", {"tolerance": 0}))


def drafted(answer=1, **fields):
    """`PLAIN`, but for an answer or fields of its draft."""
    return Item(None, answer, replace(PLAIN.draft, **fields))


def test_a_case_is_named_after_family_rung_and_slot():
    case = build(SMALL, "L2", 3, PLAIN)
    assert (case.id, case.family, case.rung, case.level) == ("math/adding/L2.3", "math/adding", "L2", "medium")
    assert case.dialogue.messages == (Message("user", "x" * 10),)
    assert case.dialogue.max_tokens == 20


def test_only_the_first_case_of_the_first_rung_is_for_the_smoke_test():
    built = [build(SMALL, rung, slot, PLAIN) for rung in RUNGS for slot in (1, 2, 11)]
    assert [case.id for case in built if case.smoke] == ["math/adding/L1.1"]


def test_the_cases_of_a_family_are_its_slots_the_easy_ones_first():
    two = replace(SMALL, slots=dict.fromkeys(RUNGS, 1) | {"L3": 2})
    assert [case.id.rpartition("/")[2] for case in cases(two)] == ["L1.1", "L2.1", "L3.1", "L3.2", "L4.1", "L5.1"]


def test_an_item_depends_on_all_of_its_place_and_on_nothing_else():
    places = [(SMALL, "L1", 1), (SMALL, "L1", 2), (SMALL, "L2", 1), (replace(SMALL, version=2), "L1", 1)]
    places += [(replace(SMALL, name="math/other"), "L1", 1), (SMALL, "L1", 1, "fresh"), (SMALL, "L1", 1, "fresher")]
    drawn = [item(*place) for place in places]
    assert drawn == [item(*place) for place in places]
    assert len({one.draft.prompt for one in drawn}) == len(places)


def test_items_follow_one_another_from_a_slot():
    assert list(items(SMALL, "L1", 2, 5)) == [item(SMALL, "L1", 5), item(SMALL, "L1", 6)]


def test_an_item_holds_the_instance_its_answer_and_the_question():
    assert made(SMALL, Sum((2, 3))) == Item(Sum((2, 3)), 5, Draft(prompt="Add 2 and 3."))


def test_an_item_of_a_fresh_form_resembles_the_canonical_ones():
    sizes = replace(SMALL, generate=lambda _, draw: Sum((draw.below(1000), 0)), effort=lambda sum_: sum_.summands[0])
    band = sorted(one.instance.summands[0] for one in items(sizes, "L1", 40, 1001))
    fresh = [item(sizes, "L1", slot, "fresh").instance.summands[0] for slot in range(1, 21)]
    assert band[2] <= min(fresh)
    assert max(fresh) <= band[-3]
    assert len(set(fresh)) > 10


def test_a_covariate_of_the_family_s_own_is_kept_as_well():
    odd = replace(SMALL, covariates=lambda sum_: {"first": float(sum_.summands[0])})
    band = sorted(one.instance.summands[0] for one in items(odd, "L1", 40, 1001))
    assert all(band[2] <= item(odd, "L1", slot, "k").instance.summands[0] <= band[-3] for slot in range(1, 10))


def test_a_form_like_which_nothing_can_be_drawn_is_an_error():
    numbers = count(10**6)
    wild = replace(SMALL, effort=lambda _: next(numbers))
    with pytest.raises(RuntimeError, match=r"math/adding/L1.1: no item like the canonical ones in 50 draws"):
        item(wild, "L1", 1, "fresh")


def test_hidden_inputs_depend_on_seed_and_case_and_a_family_may_have_none():
    family = replace(SMALL, hidden=lambda _, draw: [{"args": [draw.below(1 << 40)], "returns": 1}])
    places = [("a/b/L1.1", "ab"), ("a/b/L1.2", "ab"), ("a/b/L1.1", "ac")]
    inputs = [hidden(family, None, *place) for place in places]
    assert inputs == [hidden(family, None, *place) for place in places]
    assert len({one[0]["args"][0] for one in inputs}) == 3
    assert hidden(SMALL, None, *places[0]) == []


def test_a_system_prompt_comes_first():
    case = build(SMALL, "L1", 1, drafted(system="Be brief"))
    assert [message.role for message in case.dialogue.messages] == ["system", "user"]


def test_settings_of_the_draft_are_laid_over_those_of_the_family():
    assert build(SMALL, "L1", 1, drafted(settings={"tolerance": 2})).grading == Grading("numeric", {"tolerance": 2})
    assert SMALL.grading.settings == {"tolerance": 0}


def test_answer_and_settings_are_what_they_are_once_stored():
    case = build(SMALL, "L1", 1, drafted((1, (2.0, "x")), settings={"units": ("m",)}))
    assert case.expected == [1, [2.0, "x"]]
    assert case.grading.settings == {"tolerance": 0, "units": ["m"]}
    assert msgspec.json.decode(msgspec.json.encode(case), type=type(case)) == case


def test_a_case_follows_from_what_is_asked_and_how_it_is_marked():
    case = build(SMALL, "L1", 1, PLAIN)
    assert complete(case.id, case.dialogue, case.expected, case.grading) == case


def test_the_hash_covers_what_is_sent_and_nothing_else():
    case = build(SMALL, "L1", 1, PLAIN)
    assert case.hash == "4790ca203d3bf4ed"
    assert build(SMALL, "L1", 2, drafted(2)).hash == case.hash
    assert build(SMALL, "L1", 1, drafted(turns=("And now?",))).hash != case.hash


def test_the_marking_hash_covers_what_decides_and_is_not_sent():
    known = marking_hash(build(SMALL, "L1", 1, PLAIN))
    assert len(known) == 16
    assert marking_hash(build(SMALL, "L1", 1, drafted(prompt="y"))) == known
    assert marking_hash(build(SMALL, "L1", 1, drafted(1.0))) != known
    assert marking_hash(build(SMALL, "L1", 1, drafted(settings={"tolerance": 1}))) != known


def test_the_hashes_do_not_depend_on_the_order_of_keys():
    one = Tool("t", "", {"type": "object", "properties": {}})
    other = Tool("t", "", {"properties": {}, "type": "object"})
    assert build(SMALL, "L1", 1, drafted(tools=(one,))).hash == build(SMALL, "L1", 1, drafted(tools=(other,))).hash


def test_a_fingerprint_is_of_what_is_asked():
    unordered = replace(SMALL, fingerprint=lambda sum_: sorted(sum_.summands))
    assert fingerprint(unordered, Sum((1, 2))) == fingerprint(unordered, Sum((2, 1)))
    assert fingerprint(SMALL, Sum((1, 2))) != fingerprint(SMALL, Sum((2, 1)))


def test_the_context_holds_all_that_is_sent_and_every_reply():
    tool = Tool("t", "", {})
    full = drafted(
        system="s" * 5, turns=("t" * 7,), tools=(tool,), answers=(ToolAnswer("t", {}, "r" * 11),), max_rounds=3
    )
    chars = 10 + 5 + 7 + 11 + len(msgspec.json.encode(tool))
    expected = Needs(context_tokens=-(-chars // _build.CHARS_PER_TOKEN) + 3 * (20 + 64), tools=True)
    assert build(SMALL, "L1", 1, full).needs == expected


@pytest.mark.parametrize(("grader", "sandbox"), [("program", True), ("numeric", False)])
def test_only_a_case_that_is_marked_by_running_needs_a_sandbox(grader, sandbox):
    assert build(replace(SMALL, grading=Grading(grader, {})), "L1", 1, PLAIN).needs.sandbox is sandbox
