from __future__ import annotations

import json
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
        (
            "```python\nclass Solution:\n    def solve(self, x): return x\n```",
            "no function 'solve' in the code; found 'Solution'",
        ),
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


WHOLE = f"```python\n{SOURCE}```\n"


@pytest.mark.parametrize(
    "later",
    [
        "def solve(x): ...\n",
        "def solve(x):\n    pass\n",
        "def solve(x):\n    'Adds one.'\n",
        "def solve(x):\n    raise NotImplementedError\n",
        "def solve(x):\n    y = x\n    ...\n    return y\n",
    ],
)
def test_an_excerpt_does_not_displace_a_whole_program(later):
    assert python_code(f"{WHOLE}In short:\n```python\n{later}```", "solve", cut=False) == SOURCE
    assert python_code(f"```python\n{later}```", "solve", cut=False) == later


def test_an_excerpt_of_a_class_does_not_displace_it():
    whole = "class Book:\n    def put(self):\n        return 1\n"
    text = f"```python\n{whole}```\n```python\nclass Book:\n    def put(self): pass\n```"
    assert python_code(text, "Book", cut=False) == whole


def test_a_helper_may_follow():
    text = "```python\ndef solve(x): return twice(x)\n```\nwith\n```python\ndef twice(x): return 2 * x\n```"
    assert python_code(text, "solve", cut=False) == "def solve(x): return twice(x)\ndef twice(x): return 2 * x\n"


def test_a_helper_s_main_program_and_docstring_are_no_acts():
    helper = "'Helpers.'\nA, B = 1, 2\nif __name__ == '__main__':\n    print(A)\n"
    text = f"```python\n{helper}```\n```python\ndef solve(x): return x + B\n```"
    assert python_code(text, "solve", cut=False) == helper + "def solve(x): return x + B\n"


@pytest.mark.parametrize("tag", ["python", "pycon", ""])
def test_a_session_is_read_without_prompts_and_outputs(tag):
    session = f"```{tag}\n>>> def solve(x):\n...     return x + 1\n...\n>>> solve(2)\n3\n```"
    assert python_code(session, "solve", cut=False) == "def solve(x):\n    return x + 1\n\nsolve(2)\n"


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "```\n{}\n```"])
def test_code_may_be_the_member_of_an_object(around):
    text = around.replace("{}", json.dumps({"note": "", "code": SOURCE}))
    assert python_code(text, "solve", cut=False) == SOURCE
    assert python_code(text.replace('"code"', '"file"'), "solve", cut=False) is None


def test_an_entry_in_a_block_of_another_language_is_none():
    text = "```javascript\nclass solve {}\n```\n```\ndef solve(x) -> do\n```"
    assert python_code(text, "solve", cut=False) is None


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
