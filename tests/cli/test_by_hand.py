import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from crucibleforge.cli._by_hand import _show, attempt
from crucibleforge.programs import Ran, Returned
from crucibleforge.suite.expand import suite
from crucibleforge.suite.hidden import with_hidden

CASE = next(case for case in suite() if case.family == "coding/upset-cost")
READ = next(case for case in suite() if case.family == "math/mod-ladder")
OURS = CASE.grading.settings["reference"]
ENTRY = CASE.grading.settings["entry"]
SEED = "ab12"
COUNT = len(with_hidden(CASE, SEED).expected)


def nothing(program):
    """A sandbox in which every program gives nothing."""
    count = len(program.calls)
    return Ran(tuple(Returned(None) for _ in program.calls), "nowhere", cpu_s=(0.002,) * count, reference_cpu_s=(0.001,) * count)


def never(program):
    raise AssertionError(f"a program ran: {program}")


def by_heart():
    """A program that knows the canonical answers and no other."""
    known = {repr(call["args"]): call["returns"] for call in CASE.expected}
    return f"KNOWN = {known!r}\ndef {ENTRY}(*args):\n    return KNOWN.get(repr(list(args)))\n"


@pytest.fixture
def grade(crucible):
    """Mark a text by hand as a user does."""

    def mark(text, *words):
        Path("program.py").write_bytes(text if isinstance(text, bytes) else text.encode())
        return crucible("grade", "--case", CASE.id, "--code", "program.py", *words)

    return mark


@pytest.mark.parametrize(
    "text",
    [
        OURS,
        f"\ufeff{OURS}".replace("\n", "\r\n"),
        f"Here it is.\n\n```python\n{OURS}```\n\nThat should do.",
        f"<think>maybe\n```python\nx\n```\n</think>```\n{OURS}```",
    ],
    ids=["program", "windows", "reply", "thinking"],
)
@pytest.mark.slow
def test_a_right_program_or_reply_passes(grade, text):
    ended = grade(text)
    assert (ended.code, ended.out.splitlines()[0]) == (0, f"{CASE.id}: pass, score 1.00")


@pytest.mark.slow
def test_a_program_that_knows_only_the_canonical_answers_fails(grade):
    ended = grade(by_heart(), "--seed", SEED)
    assert (ended.code, ended.out.splitlines()[0]) == (
        1,
        f"{CASE.id}: fail, score {len(CASE.expected) / COUNT:.2f}",
    )


def test_what_came_of_each_input_is_shown_with_its_time(capsys):
    tried = attempt(CASE, OURS, nothing, SEED)
    _show(tried)
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == f"{CASE.id}: fail, score 0.00"
    assert lines[1] == tried.why
    assert lines[3].split() == ["CPU", "ours", "input"]
    assert lines[5:] == [f"no  2.0 ms  1.0 ms  {element.name}" for element in tried.elements]
    assert len(lines[5:]) == COUNT
    assert err == f"ran in nowhere\nhidden inputs are from a seed; `--seed {SEED}` gives them again\n"


def test_what_never_ran_has_no_seed():
    assert attempt(CASE, "def broken(", never, SEED).seed == ""
    assert attempt(CASE, OURS, nothing, SEED).seed == SEED


@pytest.mark.slow
def test_a_seed_gives_the_same_verdict_again(grade):
    first = json.loads(grade(by_heart(), "--json").out)
    again = json.loads(grade(by_heart(), "--json", "--seed", first["seed"].upper()).out)
    other = json.loads(grade(by_heart(), "--json").out)
    facts = ("outcome", "score", "why", "elements", "seed")
    assert [first[name] for name in facts] == [again[name] for name in facts]
    assert other["seed"] != first["seed"]
    assert other["elements"] != first["elements"]


def test_an_empty_reply_is_marked_as_one():
    assert (attempt(CASE, " \n", never, SEED).outcome, attempt(CASE, " \n", never, SEED).why) == ("unanswered", "empty reply")


def test_a_syntax_error_keeps_the_line_of_the_file():
    assert attempt(CASE, "x = 1\n\ndef f(:\n", never, SEED).why == "syntax error in line 3: invalid syntax"


@pytest.mark.slow
def test_nothing_is_stored(grade):
    assert grade("").code == 1
    assert [path.name for path in Path().iterdir()] == ["program.py"]


@pytest.mark.slow
def test_the_program_may_come_from_stdin(crucible, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"def broken(")))
    ended = crucible("grade", "--case", CASE.id, "--code", "-")
    assert (ended.code, "syntax error in line 1" in ended.out) == (1, True)


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (
            ["--case", CASE.id],
            "error: a program by hand needs both --case ID and --code FILE\nhint: `crucibleforge cases list`\n",
        ),
        (
            ["--code", "program.py"],
            "error: a program by hand needs both --case ID and --code FILE\nhint: `crucibleforge cases list`\n",
        ),
        (
            ["--seed", SEED],
            "error: a program by hand needs both --case ID and --code FILE\nhint: `crucibleforge cases list`\n",
        ),
        (["--case", "zzz", "--code", "program.py"], "error: unknown case 'zzz'\nhint: `crucibleforge cases list`\n"),
        (
            ["--case", READ.id, "--code", "program.py"],
            f"""\
error: {READ.id} is marked by `{READ.grading.grader}`, which runs no program
hint: `crucibleforge cases list --categories coding` shows those that are marked by running
""",
        ),
        (
            ["--case", CASE.id, "--code", "program.py", "--seed", "xyz"],
            "error: --seed 'xyz' is not 1 to 64 hex digits\nhint: report.md shows the seed of a row\n",
        ),
        (
            ["--case", CASE.id, "--code", "none.py"],
            "error: none.py: no such file or directory\nhint: check the path and its permissions\n",
        ),
        (["--case", CASE.id, "--code", "latin.py"], "error: latin.py is not UTF-8 text (byte 1)\n"),
        (["--case", CASE.id, "--code", "huge.py"], "error: huge.py is longer than 4,194,304 bytes\n"),
        (
            ["--case", CASE.id, "--code", "program.py", "a-run"],
            "error: a-run: a run folder and a program by hand do not go together\n",
        ),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_code_2(crucible, words, err):
    Path("program.py").write_text("x = 1\n")
    Path("latin.py").write_bytes(b"#\xe9\n")
    Path("huge.py").write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    ended = crucible("grade", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", err)


def test_what_a_program_says_cannot_steer_the_terminal(capsys):
    tried = attempt(CASE, OURS, nothing, SEED)
    _show(msgspec.structs.replace(tried, why="\x1b[31mred\u202e"))
    assert "\x1b" not in capsys.readouterr().out
