from __future__ import annotations

import statistics

import msgspec
import pytest
from judged import asked, dressed, in_process, outcome, verdicts

from crucibleforge.bench._median import GRADER, median
from crucibleforge.bench.abilities import right
from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import said
from crucibleforge.programs import Ran, Returned

SOURCE = right(asked("median")).removeprefix("```python\n").removesuffix("```")


def of(body: str) -> str:
    return f"```python\ndef median_of_list(numbers):\n{body}\n```"


@pytest.mark.parametrize(
    "text",
    [
        *dressed(f"```python\n{SOURCE}```"),
        SOURCE,
        f"~~~py\n{SOURCE}~~~\nRun it with:\n```bash\npython it.py\n```",
        f"First a sketch:\n```python\ndef median_of_list(n): return 0\n```\nBetter:\n```\n{SOURCE}```",
        of("    import statistics\n    return statistics.median(numbers) if numbers else None"),
        of("    s = sorted(numbers); n = len(s)\n    return (s[(n - 1) // 2] + s[n // 2]) / 2 if s else None"),
    ],
)
def test_a_right_program_passes_in_every_dress(text):
    assert outcome("median", text) == ("pass", "14 of 14 hidden inputs right")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (of("    s = sorted(numbers)\n    return s[len(s) // 2] if s else None"), "expected"),
        (of("    s = sorted(numbers); n = len(s)\n    return (s[(n - 1) // 2] + s[n // 2]) / 2"), "IndexError"),
        (of("    n = len(numbers); s = numbers\n    return (s[(n-1)//2] + s[n//2]) / 2 if s else None"), "expected"),
        (of("    return sum(numbers) / len(numbers) if numbers else None"), "expected"),
        (
            of("    s = sorted(set(numbers)); n = len(s)\n    return (s[(n-1)//2] + s[n//2]) / 2 if s else None"),
            "expect",
        ),
        (of("    s = sorted(numbers); n = len(s)\n    return (s[(n-1)//2] + s[n//2]) // 2 if s else None"), "expected"),
        (
            of("    s = sorted(numbers); n = len(s)\n    return (s[(n-1)//2] + s[n//2]) / 2 if s else 0"),
            "expected None",
        ),
        (
            of(
                "    numbers.sort(); n = len(numbers)\n    return (numbers[(n-1)//2] + numbers[n//2]) / 2 if n else None"
            ),
            "changed its list",
        ),
        (
            of("    s = sorted(numbers, key=abs); n = len(s)\n    return (s[(n-1)//2]+s[n//2])/2 if s else None"),
            "expected",
        ),
        ("```python\ndef median(numbers):\n    return 1\n```", "no function 'median_of_list'"),
        (of("    return sorted(numbers"), "was never closed"),
        ("Sort the list and take the middle.", "no code in reply"),
    ],
)
def test_a_wrong_program_fails_and_is_told_where(text, says):
    result, why = outcome("median", text)
    assert result == "fail"
    assert says in why


@pytest.mark.parametrize("seed", [f"{number:x}" for number in range(20)])
def test_the_inputs_of_a_run_are_of_every_kind(seed):
    lists = [call["args"][0] for call in asked("median", seed).case.expected]
    assert [] in lists
    assert {1, 2, 3, 4, 5, 7, 8} <= {len(one) for one in lists}
    assert any(number % 1 for one in lists for number in one)
    assert any(one and max(one) < 0 for one in lists)
    assert any(len(set(one)) < len(one) for one in lists)
    for call in asked("median", seed).case.expected:
        assert call["returns"] == (statistics.median(call["args"][0]) if call["args"][0] else None)


def test_the_median_is_that_of_the_standard_library():
    draw = Draw("median")
    for size in range(1, 40):
        numbers = [draw.between(-50, 50) / 4 for _ in range(size)]
        assert median(numbers) == statistics.median(numbers)


def test_the_program_holds_inputs_and_no_answer():
    held = []
    verdicts(
        asked("median"), right(asked("median")), run=lambda program: (held.append(program), in_process(program))[1]
    )
    (program,) = held
    assert [call.args for call in program.calls] == [tuple(one["args"]) for one in asked("median").case.expected]
    assert not program.reference


@pytest.mark.parametrize("forged", [None, [], [1], [1, 2, 3], [1, "yes"], {"a": 1}, "median"])
def test_a_program_that_gives_something_else_than_ours_behind_it_fails(forged):
    case = asked("median").case
    assert GRADER.conclude(case, Ran((Returned(forged),) * 14, "fake")).outcome == "fail"


def test_a_result_that_is_missing_fails():
    case = asked("median").case
    values = tuple(Returned([one["returns"], True]) for one in case.expected)
    assert GRADER.conclude(case, Ran(values, "fake")).outcome == "pass"
    assert GRADER.conclude(case, Ran(values[:-1], "fake")).outcome == "fail"
    assert GRADER.conclude(case, Ran((), "fake", broken="it ended")).why == "it ended"
    assert GRADER.conclude(case, msgspec.structs.replace(Ran(values, "fake"), results=())).outcome == "fail"


def test_integers_and_floats_are_alike():
    case = asked("median").case
    values = tuple(
        Returned([int(one["returns"]) if (one["returns"] or 0.5) % 1 == 0 else one["returns"], True])
        for one in case.expected
    )
    assert GRADER.conclude(case, Ran(values, "fake")).outcome == "pass"
    assert GRADER.program(case, (said("x" * 2_000_000),)).outcome == "fail"
