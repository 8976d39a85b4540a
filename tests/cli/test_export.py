import asyncio
import json
from pathlib import Path

import made
import oracle
import pytest

from crucibleforge.chat import Dialogue, Message, Tool, ToolAnswer
from crucibleforge.cli._export import exported
from crucibleforge.families._build import cases as built
from crucibleforge.plugins import find
from crucibleforge.programs import Ran, Returned
from crucibleforge.providers._shelf import read
from crucibleforge.providers.replies import file_target
from crucibleforge.run.schedule import Bench, carry_out
from crucibleforge.store import folder
from crucibleforge.store.log import opened

TOOL = Tool("look", "Look.", {"type": "object"})
PLAIN = made.case("math/f/L1.1", hash="h1")
CHAIN = made.case(
    "tooluse/f/L1.1",
    hash="h2",
    dialogue=Dialogue(
        (Message("system", "s"), Message("user", "q")),
        64,
        turns=("and now?",),
        tools=(TOOL,),
        answers=(ToolAnswer("look", {}, "a door"),),
        max_rounds=3,
    ),
)


class Watch:
    def __getattr__(self, _name):
        return lambda *_: None


def lines(made_export):
    return [json.loads(line) for line in made_export.lines]


def shelf(*held, path="r.jsonl"):
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in held))
    return read(Path(path))


def test_a_bare_line_holds_what_is_sent():
    made_export = exported([PLAIN, CHAIN], "", None)
    assert lines(made_export) == [
        {
            "id": "math/f/L1.1#h1",
            "messages": [{"role": "user", "content": "question math/f/L1.1"}],
            "tools": [],
            "max_tokens": 100,
            "temperature": 0.0,
        },
        {
            "id": "tooluse/f/L1.1#h2",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}},
                }
            ],
            "max_tokens": 64,
            "temperature": 0.0,
        },
    ]
    assert (made_export.to_go_on, made_export.left_out) == (1, 0)


def test_a_line_of_a_batch_is_a_request_that_is_not_streamed():
    (line,) = lines(exported([PLAIN], "big-1", None))
    assert line == {
        "custom_id": "math/f/L1.1#h1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "big-1",
            "messages": [{"role": "user", "content": "question math/f/L1.1"}],
            "max_tokens": 100,
            "temperature": 0.0,
            "seed": 42,
        },
    }


def test_several_rounds_have_no_place_in_a_batch_that_nothing_follows():
    made_export = exported([PLAIN, CHAIN], "big-1", None)
    assert ([line["custom_id"] for line in lines(made_export)], made_export.left_out) == (["math/f/L1.1#h1"], 1)


def test_with_replies_the_next_round_of_each_dialogue_is_exported_until_none_is_left():
    held, seen = [], []
    said = iter([{"tool_calls": [{"name": "look"}]}, {"text": "a door"}, {"text": "still a door"}])
    while wanted := lines(exported([CHAIN], "big-1", shelf(*held))):
        (line,) = wanted
        seen.append((line["custom_id"], [message["role"] for message in line["body"]["messages"]]))
        held.append({"id": line["custom_id"]} | next(said))
    start = ["system", "user"]
    assert seen == [
        ("tooluse/f/L1.1#h2", start),
        ("tooluse/f/L1.1#h2#2", [*start, "assistant", "tool"]),
        ("tooluse/f/L1.1#h2#3", [*start, "assistant", "tool", "assistant", "user"]),
    ]


def test_a_failed_request_is_exported_again():
    bad = {"custom_id": "math/f/L1.1#h1", "response": {"status_code": 500, "body": None}}
    good = {"id": "tooluse/f/L1.1#h2", "text": "x"}
    late = {"custom_id": "tooluse/f/L1.1#h2#2", "response": {"status_code": 429, "body": None}}
    found = lines(exported([PLAIN, CHAIN], "big-1", shelf(bad, good, late)))
    assert [line["custom_id"] for line in found] == ["math/f/L1.1#h1", "tooluse/f/L1.1#h2#2"]


def test_a_reply_to_another_question_is_no_reply():
    found = lines(exported([PLAIN], "", shelf({"id": "math/f/L1.1#older", "text": "x"})))
    assert [line["id"] for line in found] == ["math/f/L1.1#h1"]


def carried(cases, path, results="results"):
    target = file_target(Path(path))
    run = folder.create(Path(results), made.plan(list(cases), target), cases)
    with opened(run.folder) as log:
        asyncio.run(
            carry_out(
                Bench(run=run, log=log, execute=lambda _: Ran((Returned(0),), "test"), halt=lambda: None, watch=Watch())
            )
        )
    return run.rows()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["", "big-1"], ids=["jsonl", "openai-batch"])
@pytest.mark.parametrize("name", ["math/mod-ladder", "tooluse/exact-order", "tooluse/paper-trail"])
def test_a_perfect_model_that_answers_the_export_elsewhere_passes_all(name, model):
    cases = tuple(built(find("families", name)))
    perfect = {f"{case.id}#{case.hash}": oracle.right_replies(case) for case in cases}
    held, rounds = [], 0
    while wanted := lines(exported(cases, model, shelf(*held))):
        for line in wanted:
            who, _, number = line["custom_id" if model else "id"].replace("#", "\0", 1).partition("#")
            held.append(answer(line, perfect[who.replace("\0", "#")][int(number or 1) - 1], model))
        rounds += 1
    assert rounds == max(len(replies) for replies in perfect.values())
    shelf(*held, path="perfect.jsonl")
    assert [row.verdict.outcome for row in carried(cases, "perfect.jsonl")] == ["pass"] * len(cases)


def answer(line, reply, model):
    calls = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    if not model:
        return {"id": line["id"], "text": reply.text, "tool_calls": calls}
    message = {"content": reply.text, "tool_calls": [{"id": f"c{n}", "function": call} for n, call in enumerate(calls)]}
    choice = {"message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {
        "custom_id": line["custom_id"],
        "response": {"status_code": 200, "body": {"choices": [choice]}},
        "error": None,
    }


@pytest.mark.slow
def test_the_command_writes_the_file_and_tells_how_many(crucible):
    ended = crucible("cases", "export", "--cases", "math/mod-ladder", "--out", "sub/out.jsonl")
    written = [json.loads(line) for line in Path("sub/out.jsonl").read_text().splitlines()]
    wanted = [f"{case.id}#{case.hash}" for case in built(find("families", "math/mod-ladder"))]
    assert (ended.code, ended.out, [line["id"] for line in written]) == (0, "", wanted)
    assert ended.err == f"{len(wanted)} requests for {len(wanted)} cases\n"


@pytest.mark.slow
def test_the_command_exports_what_follows_replies_to_stdout(crucible):
    first = next(built(find("families", "math/mod-ladder")))
    Path("r.jsonl").write_text(json.dumps({"id": f"{first.id}#{first.hash}", "text": "x"}))
    words = ("--cases", "math/mod-ladder", "--format", "openai-batch", "--model", "big-1", "--replies", "r.jsonl")
    ended = crucible("cases", "export", *words)
    names = [json.loads(line)["custom_id"] for line in ended.out.splitlines()]
    assert (ended.code, f"{first.id}#{first.hash}" in names) == (0, False)
    assert ended.err == f"{len(names)} requests for {len(names) + 1} cases, 1 are complete\n"


def test_a_batch_without_a_model_is_refused(crucible):
    ended = crucible("cases", "export", "--format", "openai-batch")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: each request of a batch names its model\nhint: `--model NAME`\n"
