"""Small valid values for tests; each test changes the field that it is about."""

import msgspec

from crucibleforge.chat import Dialogue, Message, Reply, Timing, ToolCall, Usage
from crucibleforge.types import (
    Attempt,
    Case,
    Failure,
    Grading,
    Job,
    Machine,
    Needs,
    RunPlan,
    Selection,
    Target,
    Verdict,
)


def case(name: str = "math/sum/L1.1", **fields: object) -> Case:
    made = Case(
        id=name,
        hash=f"hash of {name}",
        dialogue=Dialogue((Message("user", f"question {name}"),), 100),
        expected=42,
        grading=Grading("numeric", {}),
        needs=Needs(300),
    )
    return msgspec.structs.replace(made, **fields)


def target(label: str = "m", **fields: object) -> Target:
    made = Target(label=label, provider="p", kind="openai", model_id="x", base_url="http://127.0.0.1:1/v1")
    return msgspec.structs.replace(made, **fields)


def plan(cases: list[Case], *targets: Target, **fields: object) -> RunPlan:
    made = RunPlan(
        v=1,
        id="20260101T000000000Z-m-abcd1234",
        key="abcd1234",
        created="2026-01-01T00:00:00.000Z",
        revision="1.0.0+00000000",
        targets=targets or (target(),),
        case_hashes={case.id: case.hash for case in cases},
        repeats=1,
        selection=Selection(),
        isolation="test",
        version="0",
        machine=Machine("s", "p", "c", 1, 1),
    )
    return msgspec.structs.replace(made, **fields)


def reply(text: str = "ANSWER: 42", **fields: object) -> Reply:
    made = Reply(text=text, finish="stop", usage=Usage(10, 20), timing=Timing(1.0))
    return msgspec.structs.replace(made, **fields)


def call(name: str = "look", arguments: str = "{}") -> ToolCall:
    return ToolCall("c0", name, arguments)


def attempt(of: Case, *replies: Reply, label: str = "m", repeat: int = 1, **fields: object) -> Attempt:
    made = Attempt(job=Job(label, of.id, repeat), case_hash=of.hash, at="t", replies=replies or (reply(),))
    return msgspec.structs.replace(made, **fields)


def failed(of: Case, **fields: object) -> Attempt:
    made = attempt(of, failure=Failure("transport", "it broke", 3))
    return msgspec.structs.replace(made, **({"replies": ()} | fields))


def verdict(of: Case, outcome: str = "pass", label: str = "m", repeat: int = 1, **fields: object) -> Verdict:
    made = Verdict(
        job=Job(label, of.id, repeat), case_hash=of.hash, outcome=outcome, score=float(outcome == "pass"), grader="numeric@1"
    )
    return msgspec.structs.replace(made, **fields)
