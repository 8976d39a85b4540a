import msgspec
import pytest

from crucibleforge.chat import Dialogue, Reply, Timing, Usage
from crucibleforge.types import (
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

JOB = Job("m", "math/x/easy.1", 1)
EVENTS = [
    Attempt(job=JOB, case_hash="h", at="t", replies=(Reply(text="a", finish="stop", usage=Usage(), timing=Timing(1.0)),)),
    Verdict(job=JOB, case_hash="h", outcome="pass", score=1.0),
    Opened(label="m", at="t", served=Served("s")),
    Healed(at="t", offset=1, size_bytes=2, kept_in="f"),
]


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_survives_the_log(event):
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


def test_an_id_tells_category_family_and_level():
    case = Case(
        id="math/digit-sum/hard.12",
        hash="h",
        dialogue=Dialogue((), 10),
        expected=1,
        grading=Grading("numeric", {}),
        needs=Needs(10),
    )
    assert (case.category, case.family, case.level) == ("math", "math/digit-sum", "hard")


def test_price_and_patience_do_not_make_another_model():
    target = Target(label="m", provider="p", kind="openai", model_id="x")
    other = msgspec.structs.replace(target, price=Price(1, 2), concurrency=8, timeout_s=1.0, api_key_env="K")
    assert other.identity == target.identity
    assert msgspec.structs.replace(target, model_id="y").identity != target.identity
