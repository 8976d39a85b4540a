import json

import made
import msgspec
import pytest

from crucibleforge.run.plan import DEFAULT_TOK_PER_S, Settings, estimate, make
from crucibleforge.types import Machine, Price, RunPlan, Selection

CASES = [made.case("math/sum/L1.1"), made.case("math/sum/L3.1")]


def planned(*targets, cases=CASES, **fields):
    settings = Settings(
        suite=tuple(CASES),
        selection=Selection(),
        form=fields.pop("form", "canonical"),
        repeats=fields.pop("repeats", 1),
        isolation="none",
        machine=Machine("s", "p", "c", 1, 1),
        created=fields.pop("created", "2026-01-02T03:04:05.000Z"),
    )
    return make(targets or (made.target(),), cases, settings)


def test_the_same_question_to_the_same_model_has_the_same_key_at_any_time():
    other = planned(made.target(price=Price(1, 1), concurrency=4), created="2027-01-01T00:00:00.000Z")
    assert (other.key, other.id) == (planned().key, "20270101T000000000Z-m-" + planned().key)


@pytest.mark.parametrize(
    "other",
    [
        {"repeats": 2},
        {"cases": CASES[:1]},
        {"cases": [made.case("math/sum/L1.1", hash="changed"), CASES[1]]},
    ],
)
def test_whatever_changes_what_is_asked_changes_the_key(other):
    assert planned(**other).key != planned().key


def test_another_model_has_another_key():
    assert planned(made.target(model_id="y")).key != planned().key


def test_each_plan_has_a_seed_of_its_own_that_is_no_part_of_the_key():
    one, other = planned(), planned()
    assert len(one.seed) == 16
    assert one.seed != other.seed
    assert (one.key, one.id) == (other.key, other.id)


def test_a_plan_from_before_there_were_seeds_has_none():
    stored = json.loads(msgspec.json.encode(planned()))
    del stored["seed"]
    assert msgspec.convert(stored, RunPlan).seed == ""


def test_a_plan_says_which_form_was_asked():
    assert (planned().form, planned(form="abc").form) == ("canonical", "abc")


def test_a_plan_from_before_there_were_forms_is_canonical():
    stored = json.loads(msgspec.json.encode(planned(form="abc")))
    del stored["form"]
    assert msgspec.convert(stored, RunPlan).form == "canonical"


def test_the_revision_is_of_the_whole_suite_not_of_the_part():
    assert planned(cases=CASES[:1]).revision == planned().revision


def test_an_estimate_is_an_upper_bound_by_budget_speed_and_price():
    found = estimate(made.target(price=Price(10.0, 20.0), concurrency=2), CASES, 3, 50.0)
    assert (found.rows, found.completion_tokens, found.is_measured) == (6, 600, True)
    assert found.prompt_tokens == 3 * 2 * 7  # 24 characters each at 3.5 a token, rounded up
    assert found.cost_usd == pytest.approx((42 * 10 + 600 * 20) / 1e6)
    assert found.minutes == pytest.approx((600 / 50 + 42 / 250) / 2 / 60)


def test_replies_that_are_there_already_take_no_time():
    assert estimate(made.target(kind="replies", concurrency=64), CASES, 1, None).minutes is None


def test_without_price_or_earlier_run_it_says_so():
    found = estimate(made.target(), CASES, 1, None)
    assert (found.cost_usd, found.is_measured, found.tok_per_s) == (None, False, DEFAULT_TOK_PER_S)
