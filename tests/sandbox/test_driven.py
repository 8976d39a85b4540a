from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from crucibleforge.errors import CrucibleError, Stopped
from crucibleforge.programs import Call, Limits, Program, Raised, Ran, Returned
from crucibleforge.sandbox import _driven, _driver
from crucibleforge.sandbox._driven import FILTER, PLAY, Driven, Launch

PROGRAM = Program("def f(x):\n    return x\n", "f", (Call((1,)),))
READY = """import json, os, sys, time
print(json.dumps({'ready': 1}), flush=True)
read = sys.stdin.readline
task = json.loads(read())
def say(line):
    print('%015d ' % 1500000 + line, flush=True)
def answer(value, more=''):
    say(json.dumps({'n': json.loads(read())['n'], 'value': value}) + more)
"""


def faked(script):
    """A sandbox whose driver is this script."""
    return Driven(Launch((sys.executable, "-I", "-S", "-c", script)), "fake")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (READY + 'read()\nsay(\'{"n": "forged", "value": 1}\')\nread()', "its answer belongs to no call"),
        (READY + "answer(1, '\\n{}')\nread()", "it said more than was asked for"),
        (READY + "read()", "it ended early"),
        (READY + "read()\nprint('x' * 100_000, flush=True)\nread()", "its answer is too long"),
        (READY + "read()\nsay('PASS')\nread()", "its answer is not JSON"),
        (READY + "read()\nprint('PASS', flush=True)\nread()", "its answer has no measure of its time"),
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
    script = READY + "call = json.loads(read())\nsay(json.dumps({'n': call.pop('n'), 'value': [task, call]}))\nread()"
    program = Program(
        "source", "f", (Call((1,), size=9, cpu_s=7.5),), "class", ("set",), scratch=True, reference="our own solution"
    )
    launch = replace(faked(script)._launch, processes=4, inner_filter=b"\x00\xff", scratch=True)
    ran = Driven(launch, "fake").run(program, Limits(wall_s=3.0, cpu_s=2.5, memory_bytes=1 << 30, answer_bytes=9999))
    task = {
        "source": "source",
        "entry": "f",
        "form": "class",
        "containers": ["set"],
        "limits": {"wall_s": 3.0, "cpu_s": 2.5, "memory_bytes": 1 << 30, "answer_bytes": 9999, "processes": 4},
        "filter": "AP8=",
        "play": PLAY,
    }
    assert ran == Ran((Returned([task, {"args": [1], "cpu_s": 7.5}]),), "fake", cpu_s=(1.5,))


def test_a_call_without_a_bound_of_its_own_has_the_common_one():
    script = READY + "call = json.loads(read())\nsay(json.dumps({'n': call['n'], 'value': call['cpu_s']}))\nread()"
    assert faked(script).run(PROGRAM, Limits(cpu_s=2.5)).results == (Returned(2.5),)


def test_every_call_has_a_nonce_of_its_own():
    script = READY + (
        "for line in sys.stdin:\n    n = json.loads(line)['n']\n    say(json.dumps({'n': n, 'value': n}))"
    )
    ran = faked(script).run(Program("", "f", (Call(()),) * 20), Limits())
    assert len({result.value for result in ran.results}) == 20


def test_the_outer_filter_is_an_open_file_whose_number_stands_in_the_command():
    script = "import os, sys\nfilter = os.read(int(sys.argv[1]), 100).hex()\n" + READY + "answer(filter)\nread()"
    launch = faked(script)._launch
    launch = replace(launch, argv=(*launch.argv, FILTER), outer_filter=bytes(range(16)))
    before = psutil.Process().num_fds()
    assert Driven(launch, "fake").run(PROGRAM, Limits()).results == (Returned(bytes(range(16)).hex()),)
    assert psutil.Process().num_fds() == before


def test_without_a_filter_the_command_stays_as_it_is():
    launch = faked("import sys\n" + READY + "answer(sys.argv[1:])\nread()")._launch
    ran = Driven(replace(launch, argv=(*launch.argv, FILTER)), "fake").run(PROGRAM, Limits())
    assert ran.results == (Returned([FILTER]),)


WRITER = Program("def f(x): ...", "f", (Call((1,)), Call((2,))), scratch=True)


def test_a_program_that_needs_a_folder_gets_a_driver_for_every_call():
    script = "import sys\n" + READY + "answer([sys.argv[1:], os.getpid()])\nread()"
    launch = faked(script)._launch
    launch = replace(launch, argv=(*launch.argv, "pure"), scratch_argv=(*launch.argv, "scratch"))
    (one, pid), (other, other_pid) = (result.value for result in Driven(launch, "fake").run(WRITER, Limits()).results)
    assert one == other == ["scratch"]
    assert pid != other_pid


def test_a_program_that_needs_none_does_not_get_one():
    launch = faked("import sys\n" + READY + "answer(sys.argv[1:])\nread()")._launch
    launch = replace(launch, argv=(*launch.argv, "pure"), scratch_argv=(*launch.argv, "scratch"))
    assert Driven(launch, "fake").run(PROGRAM, Limits()).results == (Returned(["pure"]),)


def test_every_folder_is_new_and_gone_afterwards():
    launch = faked(READY + "open('mark', 'w').close()\nanswer([os.getcwd(), os.listdir()])\nread()")._launch
    ran = Driven(replace(launch, scratch=True), "fake").run(WRITER, Limits())
    (one, names), (other, other_names) = (result.value for result in ran.results)
    assert names == other_names == ["mark"]
    assert one != other
    assert not Path(one).exists()


def test_a_sandbox_without_a_folder_refuses_a_program_that_needs_one():
    with pytest.raises(CrucibleError) as error:
        faked(READY).run(WRITER, Limits())
    assert error.value.message == "the sandbox failed: it has no folder to give to a program"


KILLED_ONCE = """
mark = os.path.join(sys.argv[1], "mark")
if not os.path.exists(mark):
    open(mark, "w").close()
    read()
    END
answer(1)
read()
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(137)"])
def test_a_call_whose_sandbox_was_killed_gets_a_second_chance(end, tmp_path):
    launch = faked(READY + KILLED_ONCE.replace("END", end))._launch
    ran = Driven(replace(launch, argv=(*launch.argv, str(tmp_path))), "fake").run(PROGRAM, Limits())
    assert (ran.results, ran.broken) == ((Returned(1),), "")


def test_a_program_whose_sandbox_is_killed_again_has_used_up_the_memory():
    program = Program("", "f", (Call((1,)), Call((2,))))
    ran = faked(READY + "read()\nos.kill(os.getpid(), 9)").run(program, Limits())
    killed = Raised("memory limit", "its sandbox was killed, and once more when tried again")
    assert (ran.results, ran.cpu_s, ran.broken) == ((killed, killed), (0.0, 0.0), "")


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 15)", "os._exit(9 - 1)", "os._exit(0)"])
def test_another_end_of_the_driver_is_no_want_of_memory(end):
    ran = faked(READY + f"read()\n{end}").run(PROGRAM, Limits())
    assert ran.broken == "the program broke the protocol: it ended early"


def test_a_driver_that_we_had_to_kill_was_not_killed_by_another():
    ran = faked(READY + "read()\nos.close(1)\ntime.sleep(60)").run(PROGRAM, Limits())
    assert ran.broken == "the program broke the protocol: it ended early"


def test_a_call_that_is_broken_ends_the_program():
    ran = faked(READY + "say(json.dumps({'n': json.loads(read())['n'], 'broken': 'no code'}))\nread()").run(
        Program("", "f", (Call((1,)), Call((2,)))), Limits()
    )
    assert ran == Ran((), "fake", "no code")


def test_the_host_waits_as_long_as_the_driver_may_take():
    assert _driven.TURNS == _driver.TURNS
    assert _driven._SPARE_S > _driver.CONFINE_S


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
    script = READY + "answer(1)\ntime.sleep(60)"
    begun = time.monotonic()
    assert faked(script).run(PROGRAM, Limits()).results == (Returned(1),)
    assert time.monotonic() - begun < 5
    assert not psutil.Process().children(recursive=True)
