from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crucibleforge.sandbox import _attacks
from crucibleforge.sandbox._attacks import allowed, canary_process, honest, outcome


def fails(code):
    def act():
        raise OSError(code, "no")

    return act


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (fails(errno.EPERM), "EPERM"),
        (fails(errno.EROFS), "EROFS"),
        (fails(None), "OSError"),
        (lambda: "text", "text"),
        (lambda: "", ""),
        (lambda: 7, "done"),
        (lambda: None, "done"),
    ],
)
def test_an_outcome_is_an_error_by_name_or_what_was_got(action, said):
    assert outcome(action) == said


def test_only_calls_that_met_another_answer_are_named():
    answers = {1: errno.EPERM, 2: errno.ENOSYS, 3: errno.EPERM, 4: 0}

    def ask(_name, number, *_args):
        if answers[number]:
            raise OSError(answers[number], "no")
        return 0

    assert allowed(ask, {"a": 1, "b": 2, "c": 3, "d": 4}) == "b d"
    assert allowed(ask, {"a": 1, "c": 3}) == "none"


def test_a_process_that_lives_is_seen_and_our_own_number_proves_nothing():
    parent = os.getppid()
    if parent > 1:
        assert outcome(lambda: canary_process(parent)) == "done"
    assert outcome(lambda: canary_process(os.getpid())) == outcome(lambda: canary_process(1)) == "ESRCH"
    assert outcome(lambda: canary_process(_attacks.NOBODYS_PID)) == "ESRCH"


def test_the_environment_of_the_start_is_found_though_python_has_cleared_it():
    source = Path(_attacks.__file__).read_text(encoding="utf-8")
    script = f"import json, os\n{source.partition('__future__ import annotations')[2]}\nos.environ.clear()\nprint(json.dumps([canary('tell-tale'), canary('tell-nothing')]))"
    # By stdin: the block holds the arguments as well.
    command = (sys.executable, "-I", "-S", "-")
    done = subprocess.run(command, input=script.encode(), env={"CANARY": "tell-tale"}, capture_output=True, check=True)
    assert json.loads(done.stdout) == ["found", "absent"]


def test_the_honest_part_needs_nothing_but_python():
    assert honest([2, 3, 4]) == {"awaited": 18, "threaded": 9}
