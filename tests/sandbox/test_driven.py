from __future__ import annotations

import os
import signal
import sys
import threading
import time

import psutil
import pytest

from crucibleforge.errors import CrucibleError, Stopped
from crucibleforge.programs import Call, Limits, Program, Returned
from crucibleforge.sandbox._driven import Driven, Launch

PROGRAM = Program("def f(x):\n    return x\n", "f", (Call((1,)),))
READY = "import json, sys, time\nprint(json.dumps({'ready': 1}), flush=True)\nread = sys.stdin.readline\ntask = json.loads(read())\n"


def faked(script):
    """A sandbox whose driver is this script."""
    return Driven(Launch((sys.executable, "-I", "-S", "-c", script)), "fake")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (READY + 'read()\nprint(\'{"n": "forged", "value": 1}\', flush=True)\nread()', "its answer belongs to no call"),
        (
            READY
            + "n = json.loads(read())['n']\nprint(json.dumps({'n': n, 'value': 1}) + '\\n{}', flush=True)\nread()",
            "it said more than was asked for",
        ),
        (READY + "read()", "it ended early"),
        (READY + "read()\nprint('x' * 100_000, flush=True)\nread()", "its answer is too long"),
        (READY + "read()\nprint('PASS', flush=True)\nread()", "its answer is not JSON"),
    ],
)
def test_whatever_breaks_the_protocol_breaks_the_program(script, why):
    ran = faked(script).run(PROGRAM, Limits(answer_bytes=1000))
    assert (ran.results, ran.broken) == ((), f"the program broke the protocol: {why}")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('hello')", "the sandbox failed: its driver speaks another protocol"),
        ("pass", "the sandbox failed: its driver did not start"),
        ("import sys\nsys.exit('bwrap: no permission')", "the sandbox failed: bwrap: no permission"),
        (READY + "read()\nsys.exit('fork: no process left')", "the sandbox failed: fork: no process left"),
    ],
)
def test_trouble_of_the_sandbox_is_not_the_programs_fault(script, message):
    with pytest.raises(CrucibleError) as error:
        faked(script).run(PROGRAM, Limits())
    assert error.value.message == message


def test_a_missing_command_is_named():
    with pytest.raises(CrucibleError) as error:
        Driven(Launch(("/nonexistent/bwrap",)), "fake").run(PROGRAM, Limits())
    assert error.value.message == "the sandbox failed: /nonexistent/bwrap: No such file or directory"


def test_the_driver_gets_code_inputs_and_limits_and_nothing_else():
    script = (
        READY
        + "call = json.loads(read())\nprint(json.dumps({'n': call['n'], 'value': [task, call['args'], sorted(call)]}), flush=True)\nread()"
    )
    ran = faked(script).run(PROGRAM, Limits(wall_s=3.0, cpu_s=2, memory_bytes=1 << 30, answer_bytes=9999))
    limits = {"wall_s": 3.0, "cpu_s": 2, "memory_bytes": 1 << 30, "answer_bytes": 9999, "processes": 0}
    task = {"source": PROGRAM.source, "entry": "f", "limits": limits}
    assert ran.results == (Returned([task, [1], ["args", "n"]]),)


def test_every_call_has_a_nonce_of_its_own():
    script = (
        READY
        + "for line in sys.stdin:\n    n = json.loads(line)['n']\n    print(json.dumps({'n': n, 'value': n}), flush=True)"
    )
    ran = faked(script).run(Program("", "f", (Call(()),) * 20), Limits())
    assert len({result.value for result in ran.results}) == 20


def test_stop_ends_a_run_promptly(sandbox_to_stop):
    timer = threading.Timer(0.1, sandbox_to_stop.stop)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        sandbox_to_stop.run(Program("import time\ndef f():\n    time.sleep(60)", "f", (Call(()),)), Limits(wall_s=60.0))
    assert time.monotonic() - begun < 0.6
    timer.join()
    assert not psutil.Process().children(recursive=True)


def test_a_stop_that_came_too_early_is_not_lost(sandbox_to_stop):
    sandbox_to_stop.stop()
    with pytest.raises(Stopped):
        sandbox_to_stop.run(PROGRAM, Limits())


def test_a_signal_handler_may_stop_the_run(sandbox_to_stop):
    before = signal.signal(signal.SIGUSR1, lambda *_: sandbox_to_stop.stop())
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Stopped):
            sandbox_to_stop.run(Program("def f():\n    while True: pass", "f", (Call(()),)), Limits())
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.slow
def test_a_hundred_runs_leave_no_process_and_no_descriptor_behind(sandbox):
    me = psutil.Process()
    sandbox.run(PROGRAM, Limits())
    before = me.num_fds()
    for number in range(100):
        program = PROGRAM if number % 4 else Program("def f(x):\n    while True: pass", "f", (Call((1,)),))
        sandbox.run(program, Limits(wall_s=0.01))
    assert me.num_fds() == before
    assert not me.children(recursive=True)


def test_a_driver_that_will_not_end_is_killed():
    script = (
        READY
        + "import signal\nprint(json.dumps({'n': json.loads(read())['n'], 'value': 1}), flush=True)\ntime.sleep(60)"
    )
    begun = time.monotonic()
    assert faked(script).run(PROGRAM, Limits()).results == (Returned(1),)
    assert time.monotonic() - begun < 5
    assert not psutil.Process().children(recursive=True)
