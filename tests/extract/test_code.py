from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.code import MAX_CODE, first_problem, python_code

SOURCE = "def solve(x):\n    return x + 1\n"
PIECES = st.lists(
    st.sampled_from(
        [
            "```",
            "```python\n",
            "\n",
            "def solve(x):",
            " return x",
            "solve",
            "(",
            "'",
            "\\",
            "\x00",
            "\ud800",
            "import a",
            "    ",
        ]
    )
)


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        f"```python\n{SOURCE}```",
        f"```py\n{SOURCE}```",
        f"```Python3\n{SOURCE}```",
        f"```\n{SOURCE}```",
        f"~~~python\n{SOURCE}~~~",
        f"````python\n{SOURCE}````",
        f"Draft:\n```python\ndef solve(x): return 0\n```\nBetter:\n```python\n{SOURCE}```",
        f"```python\n{SOURCE}```\nUsage:\n```python\nprint(solve(2))\n```",
        f"```bash\npip install x\n```\n```python\n{SOURCE}```\n```text\nsolve gives 3\n```",
        f"```python\n{SOURCE}```\nNot:\n```python\ndef solve(x) return\n```",
        f"```python\n{SOURCE}",
        "\ufeff" + SOURCE.replace("\n", "\r\n"),
        f"```python\n{SOURCE}```".replace("\n", "\r\n"),
        "1. Do:\n   ```python\n   def solve(x):\n       return x + 1\n   ```",
    ],
)
def test_the_program_is_found_as_it_was_written(text):
    assert python_code(text, "solve", cut=False) == SOURCE


@pytest.mark.parametrize(
    "source",
    ["solve = lambda x: x\n", "solve: object = abs\n", "from math import sqrt as solve\n", "class solve:\n    pass\n"],
)
def test_every_way_to_define_a_name_counts(source):
    assert python_code(f"```\n{source}```", "solve", cut=False) == source


def test_earlier_blocks_that_only_define_what_is_used_are_put_before():
    text = (
        "```python\nimport math\n```\n```python\ndef twice(x): return math.floor(x) * 2\n```\n"
        "```python\nunused = 1\n```\n```python\nprint(twice(1))\n```\n```python\ndef solve(x): return twice(x)\n```"
    )
    assert python_code(text, "solve", cut=False) == (
        "import math\ndef twice(x): return math.floor(x) * 2\ndef solve(x): return twice(x)\n"
    )


def test_an_earlier_block_that_acts_is_not_put_before():
    text = "```python\ndef twice(x): return 2 * x\nprint(twice(input()))\n```\n```python\ndef solve(x): return twice(x)\n```"
    assert python_code(text, "solve", cut=False) == "def solve(x): return twice(x)\n"


@pytest.mark.parametrize("text", [f"```python\n{SOURCE}", SOURCE])
def test_code_that_may_lack_its_end_does_not_count(text):
    assert python_code(text, "solve", cut=True) is None


def test_a_closed_block_before_a_cut_counts():
    assert python_code(f"```python\n{SOURCE}```\nThis wor", "solve", cut=True) == SOURCE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I would use binary search.", "no code in reply"),
        ("Yes", "no code in reply"),
        ("```bash\nls\n```", "no code in reply"),
        ("```python\nx = 1\ndef solve(x) return\n```", "syntax error in line 2: expected ':'"),
        ("def solve(x)\n    return x", "syntax error in line 1: expected ':'"),
        ("```python\nclass Solution:\n    def solve(self, x): return x\n```", "no function 'solve' in the code"),
        ("```python\nif True:\n    def solve(x): return x\n```", "no function 'solve' in the code"),
        ("```python\nx = 1\n```\n```\nx\n```", "no function 'solve' in the code"),
        ("```python\ndef solve(x): return '\ud800'\n```", "the code cannot be parsed (UnicodeEncodeError)"),
        (
            "```python\ndef solve(x): return x #" + "-" * MAX_CODE + "x\n```",
            "the code is longer than 200,000 characters",
        ),
    ],
)
def test_the_reason_for_no_program_is_named(text, problem):
    assert python_code(text, "solve", cut=False) is None
    assert first_problem(text, "solve", cut=False) == problem


@pytest.mark.parametrize("body", ["'\x00'", "-" * 50_000 + "x", "x" + ".x" * 50_000, "(" * 500 + ")" * 500])
def test_what_no_parser_bears_is_no_program(body):
    text = f"```python\ndef solve(x): return {body}\n```"
    assert python_code(text, "solve", cut=False) is None
    assert first_problem(text, "solve", cut=False).startswith(("syntax error in line", "the code cannot be parsed"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```python\ndef solve(x):", "the code is cut off"),
        ("def solve(x):", "no code in reply"),
        ("```sh\nls\n```\nLet me", "no code in reply"),
    ],
)
def test_a_cut_is_named_as_the_reason(text, problem):
    assert first_problem(text, "solve", cut=True) == problem


def test_odd_code_warns_nobody():
    source = "def solve(x):\n    return x is 1 or '\\d'\n"
    assert python_code(source, "solve", cut=False) == source


@pytest.mark.slow
@given(PIECES.map("".join) | st.text(), st.booleans())
def test_any_text_is_a_program_or_has_a_problem(text, cut):
    assert python_code(text, "solve", cut=cut) is not None or first_problem(text, "solve", cut=cut)


@pytest.mark.slow
@pytest.mark.parametrize("entry_first", ["", "solve\n", "def solve(): 0\n"])
@pytest.mark.parametrize(
    "text",
    [
        "```" * 330_000,
        "```\nsolve\n" * 90_000,
        "```python\nsolve(\n```\n" * 50_000,
        "[" * 190_000,
        "-" * 190_000,
        "1+" * 95_000,
        "a." * 95_000,
        "solve(" * 30_000,
        "lambda:" * 27_000,
        " solve\n" * 27_000,
        "\n" * 1_000_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_hostile_text_takes_no_time(text, entry_first):
    start = time.process_time()
    python_code(entry_first + text, "solve", cut=False)
    first_problem(entry_first + text, "solve", cut=False)
    assert time.process_time() - start < 2
