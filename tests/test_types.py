import msgspec
import pytest

from crucibleforge.chat import Dialogue, Reply, Timing, Usage
from crucibleforge.types import (
    LEVEL_OF,
    LEVELS,
    RUNGS,
    Attempt,
    Case,
    Event,
    Grading,
    Healed,
    Job,
    Needs,
    Opened,
    Price,
    Served,
    Target,
    Verdict,
)

JOB = Job("m", "math/x/L1.1", 1)
EVENTS = [
    Attempt(job=JOB, case_hash="h", at="t", replies=(Reply(text="a", finish="stop", usage=Usage(), timing=Timing(1.0)),)),
    Verdict(job=JOB, case_hash="h", outcome="pass", score=1.0),
    Opened(label="m", at="t", served=Served("s")),
    Healed(at="t", offset=1, size_bytes=2, kept_in="f"),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_survives_the_log(event):
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@pytest.mark.parametrize(
    ("rung", "level"), [("L1", "easy"), ("L2", "medium"), ("L3", "hard"), ("L4", "hard"), ("L5", "reserve")]
)
def test_an_id_tells_category_family_rung_and_level(rung, level):
    case = Case(
        id=f"math/digit-sum/{rung}.12",
        hash="h",
        dialogue=Dialogue((), 10),
        expected=1,
        grading=Grading("numeric", {}),
        needs=Needs(10),
    )
    assert (case.category, case.family, case.rung, case.level) == ("math", "math/digit-sum", rung, level)


def test_every_rung_has_a_level_that_users_can_name():
    assert tuple(LEVEL_OF) == RUNGS
    assert tuple(dict.fromkeys(LEVEL_OF.values())) == LEVELS


def test_price_and_patience_do_not_make_another_model():
    target = Target(label="m", provider="p", kind="openai", model_id="x")
    other = msgspec.structs.replace(target, price=Price(1, 2), concurrency=8, timeout_s=1.0, api_key_env="K")
    assert other.identity == target.identity
    assert msgspec.structs.replace(target, model_id="y").identity != target.identity
