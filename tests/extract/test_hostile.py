"""Replies that want to hang, crash or starve whoever reads them, given to every grader that reads."""

from __future__ import annotations

import time

import pytest

from crucibleforge.chat import Dialogue
from crucibleforge.families._dress import said
from crucibleforge.graders import checks, exact, numeric, program, tools
from crucibleforge.programs import Program
from crucibleforge.types import Case, Grading, Needs

MOST_S = 1.0
MB = 1_000_000

REPLIES = {
    "10 MB of words": "word " * (2 * MB),
    "10 MB in one line": "x" * (10 * MB),
    "10 MB before an answer": "word " * (2 * MB) + "\nANSWER: 8",
    "words": "word " * (MB // 5),
    "lines": "a line of text\n" * (MB // 15),
    "one line": "x" * MB,
    "blanks": "a" + " " * (MB - 2) + "b",
    "newlines": "a" + "\n" * (MB - 2) + "b",
    "angle brackets": "<" * MB,
    "backslashes": "\\" * MB,
    "stars": "*" * MB,
    "think tags": "<think>" * 50_000,
    "think blocks": "<think></think>" * 50_000 + "ANSWER: 8",
    "closing think tags": "a</think>" * 50_000,
    "channel tokens": "<|channel|>analysis<|message|>a<|end|><|start|>assistant" * 17_000,
    "end marks": "ANSWER: 8" + "<|im_end|>" * 50_000,
    "end marks and blanks": "ANSWER: 8" + "<|im_end|> \n" * 50_000 + "x",
    "brackets": "[" * 200_000,
    "bracket pairs": "[" * 200_000 + "]" * 200_000,
    "braces": "{" * 200_000,
    "parentheses": "ANSWER: " + "(" * 900 + ")" * 900,
    "backticks": "`" * 200_000,
    "fences": "```\n" * 200_000,
    "python fences": "```python\ndef solve(x): ...\n```\n" * 30_000,
    "fences of broken code": "```python\ndef solve(\n```\n" * 30_000,
    "nested code": "```python\ndef solve(x): return " + "(" * 100_000 + ")" * 100_000 + "\n```",
    "chained code": "```python\ndef solve(x): return x" + ".x" * 90_000 + "\n```",
    "summed code": "```python\ndef solve(x): return x" + "+1" * 90_000 + "\n```",
    "functions": "```python\n" + "def solve(x): return x\n" * 8_000 + "```",
    "many names": "```python\n" + "".join(f"a{n} = b{n}\n" for n in range(15_000)) + "def solve(x): return x\n```",
    "sessions": "```\n" + ">>> x\n" * 30_000 + "```",
    "20,000 digits": "ANSWER: " + "7" * 20_000,
    "20,000 digits alone": "7" * 20_000,
    "20,000 digits of JSON": '{"a": ' + "7" * 20_000 + "}",
    "a power": "ANSWER: 9^9999",
    "an exponent": "ANSWER: 1e999999999",
    "a tower": "ANSWER: 9^9^9^9",
    "nested JSON": "[" * 100_000 + "1" + "]" * 100_000,
    "nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "objects": '{"a": 1}' * 100_000,
    "lone surrogates": "\ud800" * 100_000 + "\nANSWER: \udfff",
    "NULs": "\x00" * 100_000 + "\nANSWER: \x00",
    "NUL in code": "```python\ndef solve(x): return '\x00'\n```",
    "answer lines": "ANSWER: 8\n" * 100_000,
    "empty answer lines": "ANSWER:\n" * 100_000,
    "answers in one line": "ANSWER: " * 100_000,
    "sentences": "The answer is 8. " * 50_000,
    "answers after sentences": "So. Answer: 8. " * 50_000,
    "nearly answers": "the final " * 100_000,
    "boxes in boxes": "\\boxed{" * 100_000,
    "closed boxes": "\\boxed{" * 50_000 + "}" * 50_000,
    "boxes": "\\boxed{8} " * 50_000,
    "answer tags": "<answer>" * 100_000,
    "answer tags and closers": "<answer></answer>" * 50_000,
    "commas": "ANSWER: " + "1," * 990,
    "spaces in an answer": "ANSWER: 1" + " " * 1990,
    "names": "ANSWER: " + "Ada " * 490,
    "labels": "ANSWER: " + "Ada: red, " * 190,
    "table": "ANSWER:\n" + "| Ada | red |\n" * 70_000,
    "yes and no": "ANSWER: " + "yes, " * 390,
    "number words": "ANSWER: " + "hundred " * 240,
    "groups": "ANSWER: 1" + ",111" * 98,
    "equals signs": "ANSWER: " + "1=" * 199,
    "fractions": "ANSWER: " + "\\frac{" * 60,
    "calls": '<tool_call>{"name":"f","arguments":{}}</tool_call>' * 19_000,
    "open calls": "<tool_call>" * 90_000,
    "calls cut short": '{"name":"f","arguments":' * 40_000,
    "calls in brackets": "[TOOL_CALLS][" * 50_000,
    "a huge call": '<tool_call>{"name":"f","arguments":{"a":"' + "x" * 900_000 + '"}}',
    "functions in text": "<function=f><parameter=a>" * 39_000,
    "numbered lines": "".join(f"{n}. a\n" for n in range(110_000)),
    "marks of direction": "\u202e\u200b" * 400_000 + "ANSWER: 8",
    "combining marks": "ANSWER: 8" + "\u0301" * 100_000,
    "carriage returns": "\r" * MB,
}

CHECKS = [
    {"type": "equals_lines", "lines": ["a"]},
    {"type": "json_equals", "value": {"a": 2}},
    {"type": "line_count", "n": 2},
    {"type": "word_count", "min": 1, "max": 3},
    {"type": "uppercase"},
    {"type": "lowercase"},
    {"type": "contains_word", "word": "zebra"},
    {"type": "forbids_word", "word": "word"},
    {"type": "numbered_lines", "n": 2},
]
TOOLS = {"calls": [{"name": "g", "arguments": {}}], "answer": 7}
GRADERS = {
    "numeric": (numeric, 7, {"units": ["crate", "$"], "percent": True, "unknown": True}),
    "words": (exact, "qzqz", {}),
    "name": (exact, "Eve", {"choices": ["Eve", "Ada", "Bo"], "unknown": True}),
    "choice": (exact, "C", {"kind": "choice", "options": {"A": "Rust", "C": "Moss"}}),
    "yes_no": (exact, "unknown", {"kind": "yes_no"}),
    "list": (exact, [7, 3], {"kind": "list", "units": ["crate"]}),
    "names": (exact, ["Eve", "Bo"], {"kind": "list", "choices": ["Eve", "Ada", "Bo"]}),
    "grid": (exact, {"Ada": "blue", "Bo": "red"}, {"kind": "grid", "choices": ["red", "blue"]}),
    "json": (exact, {"a": 2}, {"kind": "json"}),
    "checks": (checks, None, {"checks": CHECKS}),
    "tools": (tools, TOOLS, {}),
    "program": (program, [{"args": [1], "returns": 2}], {"entry": "solve"}),
}


def looked_at(kind, reply):
    grader, expected, settings = GRADERS[kind]
    case = Case(
        id="math/x/easy.1",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=expected,
        grading=Grading(grader.GRADER.name, settings),
        needs=Needs(100),
    )
    return (grader.program if kind == "program" else grader.find)(case, (reply,))


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLIES)
def test_a_hostile_reply_gets_a_verdict_in_time_and_never_a_pass(name):
    for kind in GRADERS:
        start = time.process_time()
        found = looked_at(kind, said(REPLIES[name]))
        assert time.process_time() - start < MOST_S, kind
        assert isinstance(found, Program) or found.outcome != "pass", kind


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLIES)
def test_a_hostile_reply_that_was_cut_gets_one_too(name):
    start = time.process_time()
    assert looked_at("numeric", said(REPLIES[name], "length")).outcome != "pass"
    assert time.process_time() - start < MOST_S
