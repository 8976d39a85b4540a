"""The ways in which models write an answer, each with what must become of it, through the graders themselves."""

from __future__ import annotations

import pytest

from crucibleforge.chat import Dialogue
from crucibleforge.extract.calls import written_calls
from crucibleforge.extract.code import python_code
from crucibleforge.families._dress import said
from crucibleforge.graders import exact, numeric
from crucibleforge.graders._said import text_of
from crucibleforge.types import Case, Grading, Needs

PASS, FAIL, UNPARSED, NO_ANSWER = "pass", "fail", "unparsed", "no answer"
UNITS = {"units": ["crate", "$"]}
OPTIONS = {
    "kind": "choice",
    "options": {"A": "The pump starts", "B": "The lamp dims", "C": "The valve closes", "D": "Nothing"},
}
NAMES = {"choices": ["Tove", "Pim", "Ana"]}
LIST, ANY_ORDER = {"kind": "list"}, {"kind": "list", "ordered": False}
JSON = {"kind": "json"}

NUMBERS = [
    (1, 1729, "Working...\nANSWER: 1729", PASS),
    (2, 1729, "answer: 1729.", PASS),
    (3, 1729, "**Answer:** 1729", PASS),
    (4, 1729, "**Answer: 1729**", PASS),
    (5, 1729, "### Final Answer: `1729`", PASS),
    (6, 1729, "Final answer:\n\n1729", PASS),
    (7, 1729, "Answer:\n```\n1729\n```", PASS),
    (8, 1729, "Answer: 1,729", PASS),
    (9, 1729, "Answer: 1 729", PASS),
    (10, 1729, "Answer: 1\u202f729", PASS),
    (11, 1729, "Answer: 1_729", PASS),
    (12, 1729, "Answer: 1'729", PASS),
    (13, 1729, "Answer: $1{,}729$", PASS),
    (14, 1729, "So the result is \\[ \\boxed{1\\,729} \\]", PASS),
    (15, 1729, "Thus \\boxed{\\text{1729}}.", PASS),
    (16, 1729, "$\\boxed{x = 1729}$", PASS),
    (17, 1729, "first \\boxed{12}, but rechecking: \\boxed{1729}", PASS),
    (18, 1729, "\\boxed{1729} is the total. Note 1730 would need an extra step.", PASS),
    (19, 1729, "Answer: 12\nWait, I dropped a case.\nAnswer: 1729", PASS),
    (20, -1729, "Answer: \u22121729", PASS),
    (21, -1729, "Answer: \u20131729", PASS),
    (22, -1729, "Answer: - 1729", PASS),
    (23, -42, "Answer: minus forty-two", PASS),
    (24, 42, "Answer: forty-two", PASS),
    (25, 1729, "Answer: 1729.0", PASS),
    (26, 1729, "Answer: 1.729e3", PASS),
    (27, 1729, "Answer: 1.729 \\times 10^{3}", PASS),
    (28, 1024, "Answer: 2^10", PASS),
    (29, 1024, "Answer: 2^10 = 1024", PASS),
    (30, 1024, "Answer: 1024 (= 2^10)", PASS),
    (31, 1729, "Answer: 1729 crates", PASS),
    (32, 1729, "Answer: $1,729", PASS),
    (33, 1729, "Answer: \uff11\uff17\uff12\uff19", PASS),
    (34, 1729, "Answer\uff1a1729", PASS),
    (35, 1729, "Answer: \u200b1729\u200b", PASS),
    (36, 1729, "<think>maybe 5? Answer: 5</think>\nAnswer: 1729", PASS),
    (37, 1729, "maybe 5 Answer: 5\n</think>\n\nAnswer: 1729", PASS),
    (38, 1729, "<think>I believe Answer: 1729", NO_ANSWER),
    (39, 1729, "<think>x</think>", NO_ANSWER),
    (
        40,
        1729,
        "<|channel|>analysis<|message|>try 4<|end|><|start|>assistant<|channel|>final<|message|>Answer: 1729",
        PASS,
    ),
    (41, 1729, "<answer>1729</answer>", PASS),
    (42, 1729, '```json\n{"answer": 1729}\n```', PASS),
    (43, 1729, '{"steps": ["a"], "final_answer": "1729"}', PASS),
    (44, 1729, "The final answer is 1729. Let me know if you want the proof!", PASS),
    (45, 1729, "1729", PASS),
    (46, 1729, "It is at least 17290 or so, hard to say.", UNPARSED),
    (47, 1729, "Answer: 1729 or 1730", UNPARSED),
    (48, 1729, "Answer: between 1700 and 1729", UNPARSED),
    (49, 1729, "Answer: 17290", FAIL),
    (50, 1729, "Answer: 729", FAIL),
    (51, 1729, "Answer: 1728 \\boxed{", UNPARSED),
    (52, 1729, "Answer: 1728", FAIL),
    (53, 1729, "Answer: ", UNPARSED),
    (54, "3/4", "Answer: 3/4", PASS),
    (55, "3/4", "Answer: \\frac{6}{8}", PASS),
    (56, "-3/4", "Answer: -\\dfrac{3}{4}", PASS),
    (57, "3/4", "Answer: 0.75", PASS),
    (58, "3/4", "Answer: ,75", UNPARSED),
    (59, "3/4", "Answer: 0,75", PASS),
    (60, "3/4", "Answer: \u00be", PASS),
    (61, "7/4", "Answer: 1 3/4", PASS),
    (62, 1729, "## Answer\n\n1729\n\nI also checked 1730.", PASS),
    (63, 1729, "**Answer**\n1729", PASS),
    (64, 1729, "ANSWER: 1729<|im_end|>", PASS),
    (65, 1729, "Answer: 1729 (mod 10007)", PASS),
    (66, 1234567, "Answer: 12,34,567", PASS),
    (67, 1234567, "Answer: 1.234.567", PASS),
    (68, 1729, "Answer: +1729", PASS),
    (69, 12, "Answer: 12th", PASS),
    (70, 1729, "Answer: $\\mathbf{1729}$", PASS),
    (71, 1729, "Answer: 1.729", FAIL),
    (72, 1729, "Answer: 1729\n\nAnswer check: 12*144+1 = 1729 ok", PASS),
    (73, 1729, "ANSWER: 1728.9999999", FAIL),
]
CLOSED = [
    (74, OPTIONS, "C", "Answer: (C)", PASS),
    (75, OPTIONS, "C", "Answer: C. The valve closes", PASS),
    (76, OPTIONS, "C", "Answer: **c**", PASS),
    (77, OPTIONS, "C", "Answer: option C", PASS),
    (78, OPTIONS, "C", "\\boxed{\\text{C}}", PASS),
    (79, OPTIONS, "C", "Answer: C or D", UNPARSED),
    (80, OPTIONS, "C", "A careful look shows B fails. Answer: C", PASS),
    (81, OPTIONS, "C", "Answer: Cannot be determined", UNPARSED),
    (82, NAMES, "Tove", "Answer: Tove", PASS),
    (83, NAMES, "Tove", "Answer: **TOVE**.", PASS),
    (84, NAMES, "Tove", "Answer: It was Tove (seat 3)", PASS),
    (85, NAMES, "Tove", "Answer: Tove or Pim", FAIL),
    (86, NAMES, "Tove", "Answer: not Tove", UNPARSED),
    (87, NAMES, "Tove", "Answer: Toverton", UNPARSED),
    (88, LIST, [3, 1, 2], "Answer: 3, 1, 2", PASS),
    (89, LIST, [3, 1, 2], "Answer: [3, 1, 2]", PASS),
    (90, LIST, [3, 1, 2], "Answer: 3 -> 1 -> 2", PASS),
    (91, LIST, [3, 1, 2], "Answer: 3 1 2", PASS),
    (92, LIST, [3, 1, 2], "Answer: 3, 1, and 2", PASS),
    (93, LIST, [3, 1, 2], "Answer: 1, 2, 3", FAIL),
    (94, ANY_ORDER, [3, 1, 2], "Answer: 1, 2, 3", PASS),
    (95, LIST, [3, 1, 2], "Answer: 3, 1", FAIL),
    (96, JSON, {"a": 1}, '{"a": 1}', PASS),
    (97, JSON, {"a": 1}, '```json\n{"a": 1}\n```', PASS),
    (98, JSON, {"a": 1}, 'Sure! Here it is:\n```\n{"a": 1}\n```\nAnything else?', PASS),
    (99, JSON, {"a": 1}, 'json\n{"a": 1}', PASS),
    (100, JSON, {"a": 1}, '{"a": 1,}', UNPARSED),
    (101, JSON, {"a": 1}, "{'a': 1}", UNPARSED),
    (102, JSON, {"a": 2}, '{"a": 1, "a": 2}', UNPARSED),
    (103, JSON, {"a": 1}, '{"a": NaN}', UNPARSED),
    (104, JSON, {"a": 1}, '```json\n{"a": 0}\n```\nFixed:\n```json\n{"a": 1}\n```', PASS),
]
CODE = [
    (105, "```python\ndef solve(x):\n    return x+1\n```", True),
    (106, "```py\ndef solve(x): return x+1\n```", True),
    (107, "```\ndef solve(x): return x+1\n```", True),
    (108, "~~~python\ndef solve(x): return x+1\n~~~", True),
    (
        109,
        "````python\ndef solve(x):\n    '''ex\n    ```\n    solve(1)\n    ```\n    '''\n    return x+1\n````",
        True,
    ),
    (110, "def solve(x): return x+1", True),
    (111, "Draft:\n```python\ndef solve(x): return 0\n```\nBetter:\n```python\ndef solve(x): return x+1\n```", True),
    (112, "```python\ndef solve(x): return x+1\n```\nUsage:\n```python\nprint(solve(2))\n```", True),
    (113, "```python\nimport math\ndef h(x): return x+1\n```\nThen\n```python\ndef solve(x): return h(x)\n```", True),
    (114, "```bash\npip install x\n```\n```python\ndef solve(x): return x+1\n```\n```text\n3\n```", True),
    (115, "```python\ndef solve(x): return x+1", True),
    (116, "1. Do this:\n   ```python\n   def solve(x):\n       return x+1\n   ```", True),
    (117, "```python\n>>> def solve(x): return x+1\n```", True),
    (118, '```json\n{"code": "def solve(x): return x+1"}\n```', True),
    (119, "<think>```python\ndef solve(x): return 9\n```</think>```python\ndef solve(x): return x+1\n```", True),
    (120, "```python\nclass Solution:\n    def solve(self,x): return x+1\n```", False),
    (121, "```python\ndef solve(x) return x\n```", False),
    (122, "I would use binary search.", False),
]
CALLS = [
    (123, '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>', [("f", {"a": 1})]),
    (
        124,
        '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>\n<tool_call>{"name":"g","arguments":{}}</tool_call>',
        [("f", {"a": 1}), ("g", {})],
    ),
    (125, '```json\n{"name":"f","arguments":{"a":1}}\n```', [("f", {"a": 1})]),
    (126, '[TOOL_CALLS][{"name":"f","arguments":{}}]', [("f", {})]),
    (127, "<function=f><parameter=a>1</parameter></function>", [("f", {"a": 1})]),
    (128, '<tool_call>{"name":"f","arguments":{"a":1}', [("", None)]),
    (129, '{"name":"f","arguments":"{\\"a\\": 1}"}', [("f", {"a": 1})]),
    (130, "I cannot do that with the tools I have.", []),
    (131, 'The schema is {"name": "string"}.', []),
    (132, '<think><tool_call>{"name":"f","arguments":{}}</tool_call></think>Done.', []),
]


def verdict(grader, expected, settings, text):
    case = Case(
        id="math/x/easy.1",
        hash="0",
        dialogue=Dialogue((), 10),
        expected=expected,
        grading=Grading(grader.GRADER.name, settings),
        needs=Needs(100),
    )
    finding = grader.find(case, (said(text),))
    if finding.outcome == "unanswered":
        return NO_ANSWER
    return UNPARSED if finding.why.startswith("unparsed: ") else finding.outcome


def numbered(rows):
    return [pytest.param(*row[1:], id=str(row[0])) for row in rows]


@pytest.mark.parametrize(("expected", "text", "outcome"), numbered(NUMBERS))
def test_a_number_in_any_shape_is_marked_as_listed(expected, text, outcome):
    assert verdict(numeric, expected, UNITS, text) == outcome


@pytest.mark.parametrize(("settings", "expected", "text", "outcome"), numbered(CLOSED))
def test_an_answer_of_any_kind_and_shape_is_marked_as_listed(settings, expected, text, outcome):
    assert verdict(exact, expected, settings, text) == outcome


@pytest.mark.parametrize(("text", "is_code"), numbered(CODE))
def test_code_in_any_shape_is_found_as_listed(text, is_code):
    source = python_code(text_of(said(text)), "solve", cut=False)
    assert (source is not None) == is_code
    # The source is the table's own; a draft or a thought of it gives another number.
    defined = {}
    exec(source or "def solve(x): return 3", defined)
    assert defined["solve"](2) == 3


@pytest.mark.parametrize(("text", "calls"), numbered(CALLS))
def test_a_call_in_the_text_is_told_as_listed(text, calls):
    assert [(call.name, call.arguments) for call in written_calls(text_of(said(text)))] == calls


def test_no_listed_shape_is_left_out():
    listed = [row[0] for row in (*NUMBERS, *CLOSED, *CODE, *CALLS)]
    assert listed == list(range(1, 133))
