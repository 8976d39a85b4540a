"""The child with a run of ours in place of WebAssembly."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from crucibleforge.sandbox._driver import ENVELOPE_BYTES
from crucibleforge.sandbox._wasm_child import answered

LIMITS = {"wall_s": 5.0, "cpu_s": 99.0, "memory_bytes": 1000, "answer_bytes": 10}
ANSWER = b'{"n": "0f", "value": 1}'


@dataclass
class Ended:
    trapped: str | None = None
    exit_code: int | None = 0


def ask(*said, ended=None, busy_s=0.0, cpu_s=5.0, options=None, **limits):
    """What an instance that says these things comes to."""

    def run(argv, **given):
        if options is not None:
            options.update(given, argv=argv)
        for message in said:
            assert given["host"](message) == b""
        begun = time.process_time()
        while time.process_time() - begun < busy_s:
            pass
        return ended or Ended()

    used_s, line = answered({"limits": LIMITS | limits}, {"n": "0f", "cpu_s": cpu_s}, run)
    assert used_s >= busy_s
    return line


def raised(line):
    said = json.loads(line)
    assert said.pop("n") == "0f"
    kind, message, at, step = said.pop("raised")
    assert (at, step, said) == ("", 0, {})
    return kind, message


def test_an_answer_is_passed_on_unread():
    assert ask(b"+", ANSWER) == ANSWER
    assert ask(b"+", b"not JSON") == b"not JSON"


@pytest.mark.parametrize("said", [(b"+", ANSWER, ANSWER), (b"+",) * 9, (ANSWER, b"+"), (b"+", ANSWER + b"\n" + ANSWER)])
def test_anything_but_one_beginning_and_one_answer_breaks_the_protocol(said):
    assert json.loads(ask(*said)) == {"n": "0f", "broken": "the program broke the protocol: more than one answer"}


@pytest.mark.parametrize(
    ("said", "ended", "outcome"),
    [
        ((b"+",), Ended(), ("exit", "ended with status 0 before it answered")),
        ((), Ended(exit_code=3), ("exit", "ended with status 3 before it answered")),
        ((b"+",), Ended("stack overflow", None), ("exit", "ended by stack overflow before it answered")),
        ((b"+",), Ended("deadline", None), ("time limit", "more than 5 s")),
        ((b"+",), Ended("cancelled", None), ("time limit", "more than 5 s")),
        ((b"+", b"-"), Ended(), ("memory limit", "more than 1000 bytes")),
        ((b"+", b"x" * (11 + ENVELOPE_BYTES)), Ended(), ("output limit", "more than 10 bytes")),
        ((b"x" * (11 + ENVELOPE_BYTES),), Ended(), ("output limit", "more than 10 bytes")),
    ],
)
def test_every_other_end_has_its_words(said, ended, outcome):
    assert raised(ask(*said, ended=ended)) == outcome


def test_an_answer_as_long_as_allowed_is_none_too_long():
    longest = b"x" * (10 + ENVELOPE_BYTES)
    assert ask(b"+", longest) == longest


def test_a_late_answer_does_not_count():
    assert raised(ask(b"+", ANSWER, busy_s=0.02, cpu_s=0.01)) == ("time limit", "more than 0.01 s of CPU")


def test_an_instance_gets_no_folder_no_environment_and_all_its_bounds():
    options = {}
    ask(b"+", ANSWER, options=options)
    assert set(options) == {"argv", "stdin", "host", "cancel", "deadline_s", "memory_bytes", "output_bytes"}
    assert (options["deadline_s"], options["memory_bytes"]) == (50.0, 1000)
    assert json.loads(options["stdin"])[1] == {"n": "0f", "cpu_s": 5.0}


@pytest.mark.parametrize(("cpu_s", "wall_s", "busy"), [(0.01, 5.0, True), (5.0, 0.01, False)])
def test_it_is_cancelled_when_its_cpu_time_is_used_up_or_when_it_only_waits(cpu_s, wall_s, busy):
    def run(_argv, **given):
        given["host"](b"+")
        end = time.monotonic() + 10
        while busy and not given["cancel"].is_set() and time.monotonic() < end:
            pass
        assert given["cancel"].wait(10)
        return Ended("cancelled", None)

    _, line = answered({"limits": LIMITS | {"wall_s": wall_s}}, {"n": "0f", "cpu_s": cpu_s}, run)
    assert raised(line)[0] == "time limit"


CHILD = """
import sys
from crucibleforge.sandbox._wasm_child import main

class Ended:
    trapped, exit_code = None, 0

def run(argv, *, host=None, **options):
    if host:
        host(b"+")
        host(b'{"n": "0f", "value": 1}')
    return Ended

main(run)
"""


@pytest.mark.slow
def test_it_holds_the_conversation_of_the_driver_and_ends_with_its_stdin():
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, "-c", CHILD), stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdout.readline() == b'{"ready": 1}\n'
        child.stdin.write(json.dumps({"limits": LIMITS}).encode() + b"\n")
        for _ in range(2):
            child.stdin.write(b'{"n": "0f", "cpu_s": 9}\n')
            child.stdin.flush()
            measured, _, line = child.stdout.readline().partition(b" ")
            assert (len(measured), measured.isdigit(), line) == (15, True, ANSWER + b"\n")
        child.stdin.close()
        assert (child.wait(10), child.stderr.read()) == (0, b"")
