import made
import msgspec
import pytest

from crucibleforge.chat import Tool
from crucibleforge.report.notes import Gathered, is_other, notes
from crucibleforge.types import Recovery, Row

CASE = made.case()
WITH_TOOLS = msgspec.structs.replace(
    CASE, dialogue=msgspec.structs.replace(CASE.dialogue, tools=(Tool("get", "", {"type": "object"}),))
)
LOST = made.reply("", reasoning="hm", finish="length")


def noted(*replies, case=CASE, outcome="pass", learnt=(), **fields):
    attempt = made.attempt(case, *replies, **fields)
    row = Row(attempt.job, case, attempt, made.verdict(case, outcome))
    return list(notes(Gathered(made.target(model_id="qwen3-8b"), made.plan([case]), (row,), 0, learnt), 1))


def test_an_ordinary_row_needs_no_note():
    assert noted() == []


def test_recovered_answers_are_counted_by_what_brought_them():
    modes = ("no_think", "continue", "no_think", "budget", None)
    recoveries = tuple(Recovery(place, "overflow", (LOST,), mode) for place, mode in enumerate(modes))
    assert noted(recoveries=recoveries) == [
        "4 answers recovered (1 by a larger budget, 2 with reasoning off, 1 by handing the reasoning back)",
        "1 lost to reasoning and not recovered",
    ]


def test_calls_written_as_text_are_noted_where_there_are_tools():
    written = made.reply('<tool_call>{"name": "get", "arguments": {}}</tool_call>')
    assert noted(written, written, case=WITH_TOOLS) == ["2 tool calls written as text, not counted as calls"]
    assert noted(written) == []


def test_a_call_that_the_server_quotes_is_not_the_model_s_text():
    assert noted(made.reply("failed to parse <tool_call>{", finish="malformed"), case=WITH_TOOLS, outcome="fail") == []


def test_a_refusal_is_noted():
    assert noted(outcome="refused") == ["1 refused"]


def test_another_model_than_the_one_asked_is_named_once():
    assert noted(*[made.reply(served_model="qwen3-0.6b")] * 2) == ["answered by qwen3-0.6b"]


def test_many_other_names_and_long_ones_are_cut_short():
    found = noted(*(made.reply(served_model=name * 500) for name in "abcdef"))
    assert (len(found), found[-1]) == (4, "answered by 3 more")
    assert max(map(len, found)) < 200


@pytest.mark.parametrize(
    ("served", "asked"),
    [
        ("Qwen3-8B", "qwen/qwen3-8b"),
        ("/models/Qwen2.5-7B-Instruct-Q4_K_M.gguf", "qwen2.5-7b-instruct"),
        ("C:\\models\\x-IQ2_XXS.gguf", "x"),
        ("qwen3-8b-fp8", "Qwen/Qwen3-8B"),
        ("model-bf16-00001-of-00002.gguf", "model"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest"),
        ("llama3.1:latest", "llama3.1"),
        ("m@q4_k_m", "m"),
        ("Meta-Llama-3-8B-Instruct", "llama-3-8b-instruct"),
        ("", "x"),
        ("x", ""),
    ],
)
def test_a_name_in_another_dress_is_the_same_model(served, asked):
    assert not is_other(served, asked)


@pytest.mark.parametrize(
    ("served", "asked"),
    [("gpt-4o-mini", "gpt-4o"), ("qwen3-8b", "qwen3-14b"), ("phi-4", "phi-3"), ("m-8", "m-32"), ("v3-r1", "v3")],
)
def test_a_sibling_is_another_model(served, asked):
    assert is_other(served, asked)


def test_a_hostile_name_is_read_in_no_time():
    assert is_other("-latest" * 200_000, "x")
