from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from crucibleforge.errors import CrucibleError, Stopped
from crucibleforge.programs import Call, Limits, Program, Raised, Ran, Returned
from crucibleforge.sandbox import _driven, _driver
from crucibleforge.sandbox._answers import Breach
from crucibleforge.sandbox._driven import FILTER, PLAY, Driven, Launch, _last_line, _Session, _was_killed, as_user

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


@pytest.fixture
def live():
    """Our children that live and were not there before; what other tests left behind is none of them."""
    before = set(psutil.Process().children(recursive=True))

    def now():
        new = set(psutil.Process().children(recursive=True)) - before
        return [child for child in new if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]

    return now


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


def test_there_is_no_third_chance(tmp_path):
    script = READY + "open(f'{sys.argv[1]}/{os.getpid()}', 'w').close()\nread()\nos.kill(os.getpid(), 9)"
    launch = faked(script)._launch
    Driven(replace(launch, argv=(*launch.argv, str(tmp_path))), "fake").run(PROGRAM, Limits())
    assert len(list(tmp_path.iterdir())) == 2


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


def test_stop_ends_a_run_promptly(sandbox_to_stop, live):
    timer = threading.Timer(0.1, sandbox_to_stop.stop)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        sandbox_to_stop.run(Program("import time\ndef f():\n    time.sleep(60)", "f", (Call(()),)), Limits(wall_s=60.0))
    assert time.monotonic() - begun < 0.6
    timer.join()
    assert not live()


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
def test_a_hundred_runs_leave_no_process_and_no_descriptor_behind(sandbox, live):
    me = psutil.Process()
    sandbox.run(PROGRAM, Limits())
    before = me.num_fds()
    for number in range(100):
        program = PROGRAM if number % 4 else Program("def f(x):\n    while True: pass", "f", (Call((1,)),))
        sandbox.run(program, Limits(wall_s=0.01))
    assert me.num_fds() == before
    assert not live()


def test_a_driver_that_will_not_end_is_killed(live):
    script = READY + "answer(1)\ntime.sleep(60)"
    begun = time.monotonic()
    assert faked(script).run(PROGRAM, Limits()).results == (Returned(1),)
    assert time.monotonic() - begun < 5
    assert not live()


def test_what_patience_refuses_is_not_given_to_the_driver():
    script = READY + (
        "for line in sys.stdin:\n    call = json.loads(line)\n    n, [size] = call['n'], call['args']\n"
        "    say(json.dumps({'n': n, 'raised': ['time limit', '', '', 0]} if size == 20 else {'n': n, 'value': size}))"
    )
    sizes = (10, 20, 30, 15)
    ran = faked(script).run(Program("", "f", tuple(Call((size,), size=size) for size in sizes)), Limits())
    untried = Raised("time limit", "not tried: size 20 ran into its limit")
    assert ran.results == (Returned(10), Raised("time limit"), untried, Returned(15))
    assert ran.cpu_s == (1.5, 1.5, 0.0, 1.5)


def test_a_driver_that_hears_nothing_is_trouble_of_the_sandbox():
    with pytest.raises(CrucibleError) as error:
        faked("import os, time\nos.close(0)\nprint('{\"ready\": 1}', flush=True)\ntime.sleep(60)").run(
            PROGRAM, Limits()
        )
    assert error.value.message == "the sandbox failed: it ended early"
    assert error.value.hint == "`crucibleforge status` shows which sandbox this machine can use"


def test_a_call_of_any_size_goes_through_a_full_pipe():
    script = (
        READY
        + "time.sleep(0.05)\ncall = json.loads(read())\nsay(json.dumps({'n': call['n'], 'value': len(call['args'][0])}))\nread()"
    )
    assert faked(script).run(Program("", "f", (Call(("x" * 2_000_000,)),)), Limits()).results == (Returned(2_000_000),)


def test_an_answer_of_many_blocks_is_put_together():
    ran = faked(READY + "answer('x' * 900_000)\nread()").run(PROGRAM, Limits(answer_bytes=900_000))
    assert ran.results == (Returned("x" * 900_000),)


STRAY = "if os.fork() == 0:\n    os.close(2)\n    time.sleep(60)\n"


@pytest.mark.parametrize(
    ("before", "broken"), [("answer(1)\n", ""), ("read()\n", "the program broke the protocol: it ended early")]
)
def test_a_stray_that_holds_the_pipes_is_not_waited_for(before, broken):
    others = set(psutil.Process().children(recursive=True))
    begun = time.monotonic()
    assert faked(READY + before + STRAY + "os._exit(0)").run(PROGRAM, Limits()).broken == broken
    assert time.monotonic() - begun < 5
    for stray in set(psutil.Process().children(recursive=True)) - others:  # ours to reap: we are its parent now
        assert stray.wait(5) is not None


@contextmanager
def session(script):
    with closing(_Session(faked(script)._launch, "/", lambda: False)) as opened:
        opened.greet()
        yield opened


def test_an_answer_that_does_not_come_in_time_breaks_the_program():
    with session("import time\nprint('{\"ready\": 1}', flush=True)\ntime.sleep(60)") as opened:
        begun = time.monotonic()
        for late_s in (0.0, 0.1):
            with pytest.raises(Breach, match="no answer in time"):
                opened._receive(10, begun + late_s)
        assert 0.1 <= time.monotonic() - begun < 5


@pytest.mark.parametrize(("length", "is_taken"), [(10, True), (11, False)])
def test_a_line_that_does_not_end_has_a_greatest_length(length, is_taken):
    script = f"import sys\nprint('{{\"ready\": 1}}', flush=True)\nsys.stdin.readline()\nsys.stdout.write('x' * {length})\nsys.stdout.flush()\nsys.stdin.readline()\nprint(flush=True)\nsys.stdin.read()"
    with session(script) as opened:
        opened._send({}, time.monotonic() + 20)
        while not select.select([opened._stdout], [], [], 20)[0]:
            pass
        if is_taken:
            opened._send({}, time.monotonic() + 20)
            assert opened._receive(10, time.monotonic() + 20) == b"x" * length
        else:
            with pytest.raises(Breach, match="its answer is too long"):
                opened._receive(10, time.monotonic() + 20)


def test_a_call_may_last_as_long_as_the_driver_lets_it():
    with session(READY + "sys.stdin.read()") as opened:
        opened.load(PROGRAM, Limits(wall_s=3.0))
        assert 94.5 < opened._deadline() - time.monotonic() <= 95.0


def test_a_session_is_closed_once():
    with session(READY + "print('one\\ntwo', file=sys.stderr)\nsys.stdin.read()") as opened:
        opened.load(PROGRAM, Limits())
        opened.close()
        assert (opened.complaint, opened.was_killed) == ("two", False)
        assert not psutil.pid_exists(opened._driver.pid)


@pytest.mark.slow
def test_what_is_not_ready_yet_is_not_killed_at_once(tmp_path):
    mark = tmp_path / "mark"
    script = f"import time\ntime.sleep(0.4)\nopen({str(mark)!r}, 'w').close()"
    _Session(faked(script)._launch, "/", lambda: False).close()
    assert mark.exists()


@pytest.mark.parametrize(("text", "line"), [(b"", ""), (b"\n \n", ""), (b"one\ntwo \n\n", "two"), (b"\xff", "\ufffd")])
def test_of_a_complaint_the_last_line_is_told(text, line):
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, text)
    assert _last_line(reader) == line
    os.close(writer)
    assert _last_line(reader) == ""
    os.close(reader)


@pytest.mark.parametrize(
    ("end", "was_killed"),
    [
        ("os.kill(os.getpid(), 9)", True),
        ("os._exit(137)", True),
        ("os._exit(9)", True),
        ("os._exit(136)", False),
        ("os._exit(138)", False),
        ("os.kill(os.getpid(), 15)", False),
        ("os._exit(0)", False),
        ("time.sleep(60)", False),
    ],
)
def test_only_the_kernel_kills_a_sandbox(end, was_killed):
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", f"import os, time\n{end}"]) as child:
        if "sleep" not in end:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert _was_killed(child.pid) is was_killed
        child.kill()
        assert child.wait() is not None


def test_a_child_drops_to_a_user_and_its_group_and_out_of_all_others():
    assert as_user(None) == {}
    assert as_user(0) == {"user": 0, "group": 0, "extra_groups": []}
    assert as_user(7) == {"user": 7, "group": 7, "extra_groups": []}


def test_the_driver_has_the_environment_of_its_launch_and_a_session_of_its_own():
    script = (
        "import os\nseen = [dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid()]\n"
        + READY
        + "answer(seen)\nread()"
    )
    launch = replace(faked(script)._launch, environment=(("A", "b"),))
    [result] = Driven(launch, "fake").run(PROGRAM, Limits()).results
    environment, folder, is_leader = result.value
    environment.pop("LC_CTYPE", None)  # Python may set it for itself (PEP 538)
    assert (environment, folder, is_leader) == ({"A": "b"}, "/", True)


def test_a_folder_is_gone_when_the_code_never_came_to_a_call(tmp_path):
    script = (
        READY
        + f"open({str(tmp_path / 'where')!r}, 'w').write(os.getcwd())\nsay(json.dumps({{'n': json.loads(read())['n'], 'broken': 'no'}}))\nread()"
    )
    assert Driven(replace(faked(script)._launch, scratch=True), "fake").run(PROGRAM, Limits()).broken == "no"
    assert not Path((tmp_path / "where").read_text(encoding="utf-8")).exists()


def test_all_calls_of_a_program_have_one_driver():
    script = READY + "for line in sys.stdin:\n    say(json.dumps({'n': json.loads(line)['n'], 'value': os.getpid()}))"
    one, other = faked(script).run(Program("", "f", (Call(()), Call(()))), Limits()).results
    assert one == other


def test_a_missing_folder_is_named():
    with pytest.raises(CrucibleError) as error:
        _Session(faked(READY)._launch, "/nonexistent/folder", lambda: False)
    assert error.value.message == "the sandbox failed: /nonexistent/folder: No such file or directory"


def test_a_driver_that_was_ready_is_not_given_long_to_end():
    with session(READY + "time.sleep(60)") as opened:
        opened.load(PROGRAM, Limits())
        begun = time.monotonic()
        opened.close()
        assert time.monotonic() - begun < 1.5


def test_a_last_word_is_heard_after_other_output():
    script = "import sys, time\nprint('noise', flush=True)\ntime.sleep(0.05)\nsys.exit('no room')"
    opened = _Session(faked(script)._launch, "/", lambda: False)
    opened.close()
    assert opened.complaint == "no room"


def test_a_stop_is_noticed_while_a_call_is_handed_over():
    sandbox = faked(READY + "time.sleep(60)")
    timer = threading.Timer(0.1, sandbox.stop)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(Stopped):
        sandbox.run(Program("", "f", (Call(("x" * 2_000_000,)),)), Limits())
    assert time.monotonic() - begun < 5
    timer.join()


def test_whoever_starts_a_driver_becomes_the_parent_of_its_orphans():
    faked(READY + "answer(1)\nread()").run(PROGRAM, Limits())
    is_set = ctypes.c_int()
    assert ctypes.CDLL(None).prctl(37, ctypes.byref(is_set), 0, 0, 0) == 0
    assert is_set.value == 1
