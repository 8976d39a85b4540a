from __future__ import annotations

import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import psutil
import pytest

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox._driven import DRIVER, FLAGS, PLAY, Driven
from crucibleforge.sandbox._driver import TURNS, _end, _limit, _listen, _rest, _verdict, _Watch
from crucibleforge.sandbox.none import SANDBOX

HONEST = {
    "asyncio": (
        "import asyncio\nasync def g(x):\n    await asyncio.sleep(0)\n    return x\ndef f(x):\n    return asyncio.run(g(x))",
        (3,),
        3,
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f(n):\n    with ThreadPoolExecutor(8) as pool:\n        return list(pool.map(abs, range(-n, 0)))",
        (9,),
        [9, 8, 7, 6, 5, 4, 3, 2, 1],
    ),
    "recursion": (
        "import sys\nsys.setrecursionlimit(20_000)\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)",
        (10_000,),
        10_000,
    ),
    "generators": (
        "def g(n):\n    yield from range(n)\ndef f(n):\n    return [x * x for x in g(n)]",
        (4,),
        [0, 1, 4, 9],
    ),
    "dataclasses": (
        "from __future__ import annotations\nfrom dataclasses import asdict, dataclass, field\n@dataclass(order=True)\nclass P:\n    x: int\n    y: list[int] = field(default_factory=list)\ndef f(x):\n    return asdict(P(x))",
        (1,),
        {"x": 1, "y": []},
    ),
    "big ints": ("def f(n):\n    return 7 ** n", (4000,), 7**4000),
    "prints": (
        "import sys\nprint('hello')\ndef f(x):\n    print('x', x)\n    print('e', file=sys.stderr)\n    return x",
        (5,),
        5,
    ),
    "main block": ("def f(x):\n    return x\nif __name__ == '__main__':\n    raise SystemExit(f(input()))", (6,), 6),
    "exit at the end": ("import sys\ndef f(x):\n    return x + 1\nsys.exit(0)", (6,), 7),
    "unicode": ("def f(x):\n    grüße = x + 'ß€𝄞'\n    return grüße", ("ä",), "äß€𝄞"),
    "tuples": ("def f(x):\n    return x, (x, None)", (1.5,), [1.5, [1.5, None]]),
    "windows newlines and a byte order mark": ("\ufeffdef f(x):\r\n    return x\r\n", (True,), True),
    "old annotations": ("def f(x: int = 1) -> int:\n    return f.__annotations__['x'] is int", (1,), True),
    "type hints at run time": (
        "from typing import NamedTuple, get_type_hints\nclass P(NamedTuple):\n    x: 'int'\ndef f():\n    return get_type_hints(P)['x'] is int",
        (),
        True,
    ),
    "compiled modules": (
        "import decimal, hashlib, sqlite3, ssl, zlib, lzma, bz2, uuid\ndef f():\n    return hashlib.sha256(b'').hexdigest()[:4]",
        (),
        "e3b0",
    ),
    "no input": ("def f():\n    try:\n        input()\n    except EOFError:\n        return 'none'", (), "none"),
    "lambda": ("f = lambda a, b: {'sum': a + b}", (2, 3), {"sum": 5}),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_gets_its_answer_through(name, ask):
    source, args, answer = HONEST[name]
    ran = ask(source, args)
    assert (ran.broken, ran.results) == ("", (Returned(answer),))


def test_calls_are_answered_in_order_and_see_nothing_of_each_other(ask):
    ran = ask("seen = []\ndef f(x):\n    seen.append(x)\n    return seen", (1,), (2,), (3,))
    assert ran.results == (Returned([1]), Returned([2]), Returned([3]))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = 1\ndef f(:\n    pass", "syntax error in line 2: invalid syntax"),
        ("f = '\x00'", "syntax error: source code string cannot contain null bytes"),
        ("def g():\n    pass", "no function 'f' in the code"),
        ("f = 3", "no function 'f' in the code"),
        ("", "no function 'f' in the code"),
        ("def g():\n    return 1 / 0\n\ng()", "ZeroDivisionError: division by zero (line 2)"),
        ("import numpy", "ModuleNotFoundError: No module named 'numpy' (line 1)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt:  (line 1)"),
    ],
)
def test_code_that_never_came_to_a_call_says_why(source, why, ask):
    ran = ask(source, (1,), (2,))
    assert (ran.results, ran.broken) == ((), why)


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("raise ValueError('no', 1)", Raised("ValueError", "('no', 1)", "line 2, in f")),
        ("class Mine(BaseException): pass\n    raise Mine", Raised("Mine", "", "line 3, in f")),
        ("return {1, 2}", Raised("TypeError", "returned a set, not JSON")),
        ("return [object()]", Raised("TypeError", "returned an object, not JSON")),
        ("return iter([])", Raised("TypeError", "returned a list_iterator, not JSON")),
        ("return {(1, 2): 3}", Raised("TypeError", "returned a dict with a key of type tuple, not JSON")),
        ("return '\\ud800'", Raised("ValueError", "returned half a character, not JSON")),
        ("return f()", Raised("RecursionError", "maximum recursion depth exceeded", "line 2, in f")),
        (
            "x = []\n    x.append(x)\n    return x",
            Raised("ValueError", "returned a value nested deeper than 200, not JSON"),
        ),
        ("import sys\n    sys.exit(0)", Raised("exit", "asked to exit before it answered", "line 3, in f")),
        ("import os\n    os._exit(0)", Raised("exit", "ended with status 0 before it answered")),
        ("import os\n    os.kill(os.getpid(), 9)", Raised("exit", "ended by signal 9 before it answered")),
        ("class E(Exception):\n        def __str__(self): raise self\n    raise E", Raised("E", "", "line 4, in f")),
        (
            "def g(x): return 1 // x\n    return [g(x) for x in (1, 0)]",
            Raised("ZeroDivisionError", "integer division or modulo by zero", "line 2, in g"),
        ),
        (
            "import json\n    return json.loads('x')",
            Raised("JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "line 3, in f"),
        ),
    ],
)
def test_a_call_that_gives_no_value_says_what_it_died_of(body, raised, ask):
    assert ask(f"def f():\n    {body}").results == (raised,)


@pytest.mark.parametrize("value", ["float('nan')", "[1e308 * 10]", "10 ** 5000"])
def test_numbers_that_json_cannot_say_are_not_answers(value, ask):
    ran = ask(f"import sys\nsys.set_int_max_str_digits(0)\ndef f():\n    return {value}")
    assert isinstance(ran.results[0], Raised)
    assert ran.results[0].kind == "ValueError"


def test_a_wrong_number_of_arguments_is_the_calls_own_fault(ask):
    ran = ask("def f(x):\n    return x", (1, 2), (1,))
    assert ran.results == (Raised("TypeError", "f() takes 1 positional argument but 2 were given"), Returned(1))


def test_an_endless_loop_ends_by_the_clock_and_later_calls_still_answer(ask):
    ran = ask("def f(x):\n    while x:\n        pass\n    return x", (1,), (0,), wall_s=0.05)
    assert ran.results == (Raised("time limit", "more than 0.05 s"), Returned(0))


def test_a_sleeper_that_ignores_signals_ends_by_the_clock(ask):
    source = "import signal, time\ndef f():\n    for n in range(1, 32):\n        try: signal.signal(n, signal.SIG_IGN)\n        except OSError: pass\n    time.sleep(60)"
    assert ask(source, wall_s=0.05).results == (Raised("time limit", "more than 0.05 s"),)


@pytest.mark.slow
def test_an_endless_loop_ends_by_its_cpu_time(ask):
    ran = ask("def f(x):\n    while x:\n        pass\n    return x", (1,), (0,), cpu_s=1)
    assert ran.results == (Raised("time limit", "more than 1 s of CPU"), Returned(0))


def test_after_three_time_limits_the_rest_is_not_tried(ask):
    ran = ask("while True: pass\ndef f(x): return x", *((x,) for x in range(5)), wall_s=0.02)
    late, untried = (
        Raised("time limit", "more than 0.02 s"),
        Raised("time limit", "not tried: three calls before it ran out of time"),
    )
    assert ran.results == (late, late, late, untried, untried)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "return len(bytearray(2 << 30))",
        "x = []\n    while True:\n        x.append(bytearray(1 << 20))",
        "keep = []\n    globals().update(keep=keep)\n    while True:\n        keep.append([])",
    ],
)
def test_too_much_memory_is_a_memory_limit_and_later_calls_still_answer(body, ask):
    ran = ask(f"def f(x):\n    if not x: return 0\n    {body}", (1,), (0,), memory_bytes=96 << 20)
    assert ran.results == (Raised("memory limit", "more than 100663296 bytes"), Returned(0))


def test_an_answer_over_its_bound_is_an_output_limit(ask):
    ran = ask("def f(n):\n    return 'x' * n", (100_000,), (10,), answer_bytes=50_000)
    assert ran.results == (Raised("output limit", "more than 50000 bytes"), Returned("x" * 10))


def test_an_answer_up_to_its_bound_comes_through(ask):
    assert ask("def f(n):\n    return 'x' * n", (1_000_000,)).results == (Returned("x" * 1_000_000),)


def test_arguments_of_any_size_come_through(ask):
    assert ask("def f(x):\n    return len(x)", ("ä" * 500_000,)).results == (Returned(500_000),)


@pytest.mark.slow
def test_cpu_time_decides_to_a_fraction_of_a_second(ask):
    begun = time.monotonic()
    ran = ask("def f(x):\n    while x:\n        pass\n    return x", (1,), (0,), cpu_s=0.25)
    assert ran.results == (Raised("time limit", "more than 0.25 s of CPU"), Returned(0))
    assert 0.25 <= ran.cpu_s[0] < 0.35
    assert 0 < ran.cpu_s[1] < 0.1
    assert time.monotonic() - begun < 10


def test_a_call_may_have_a_bound_of_its_own(sandbox):
    program = Program("def f():\n    while True: pass", "f", (Call((), cpu_s=0.05), Call((), cpu_s=0.1)))
    assert sandbox.run(program, Limits(cpu_s=0.2)).results == (
        Raised("time limit", "more than 0.05 s of CPU"),
        Raised("time limit", "more than 0.1 s of CPU"),
    )


def test_waiting_takes_no_cpu_time(ask):
    ran = ask("import time\ndef f():\n    time.sleep(0.15)\n    return 1", cpu_s=0.1)
    assert ran.results == (Returned(1),)
    assert ran.cpu_s[0] < 0.1


def test_threads_and_what_ignores_signals_have_no_more_cpu_time(ask):
    source = (
        "import signal, threading\ndef spin():\n    while True: pass\n"
        "def f():\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
        "    for _ in range(3): threading.Thread(target=spin).start()\n    spin()"
    )
    assert ask(source, cpu_s=0.1).results == (Raised("time limit", "more than 0.1 s of CPU"),)


def test_a_child_that_forges_a_measure_forges_no_time(ask):
    source = "import os\ndef f():\n    for fd in range(3, 99):\n        try: os.write(fd, b'000000000000000 {}')\n        except OSError: pass"
    ran = ask(source)
    assert ran.broken == "the program broke the protocol: its answer is not JSON"


@pytest.mark.parametrize("form", ["function", "class"])
def test_an_entry_point_that_is_missing_is_named(form, sandbox):
    ran = sandbox.run(Program("f = 3", "f", (Call(((), ())),), form), Limits())
    assert ran.broken == f"no {form} 'f' in the code"


LEDGER = """
class Ledger:
    def __init__(self, start=0):
        self.sums = [start]
    def add(self, n):
        self.sums.append(self.sums[-1] + n)
        return self.sums
    def last(self, *, back=1):
        return self.sums[-back]
    def cancel(self, n):
        del self.sums[n + 5]
    async def later(self):
        return tuple(self.sums)
    def stop(self):
        raise SystemExit
"""


def logged(sandbox, *operations, start=(3,), source=LEDGER):
    return sandbox.run(Program(source, "Ledger", (Call((start, operations)),), "class"), Limits())


def test_a_class_gives_the_log_of_its_operations_each_as_it_was_then(sandbox):
    ran = logged(sandbox, ("add", 4), ("last",), ("add", 1), ("later",), ("last",))
    assert ran.results == (Returned([[3, 7], 7, [3, 7, 8], [3, 7, 8], 8]),)


def test_a_class_without_operations_gives_an_empty_log(sandbox):
    assert logged(sandbox, start=()).results == (Returned([]),)


@pytest.mark.parametrize(
    ("operations", "raised"),
    [
        (
            [("add", 1), ("cancel", 9)],
            Raised("IndexError", "list assignment index out of range", "line 11, in cancel", 2),
        ),
        ([("undo",)], Raised("AttributeError", "'Ledger' object has no attribute 'undo'", "", 1)),
        (
            [("add", 1), ("add", 2), ("stop",)],
            Raised("exit", "asked to exit before it answered", "line 15, in stop", 3),
        ),
        (
            [("add", 1), ("last", 2)],
            Raised("TypeError", "Ledger.last() takes 1 positional argument but 2 were given", "", 2),
        ),
    ],
)
def test_an_exception_ends_the_log_and_tells_its_operation(operations, raised, sandbox):
    assert logged(sandbox, *operations).results == (raised,)


def test_a_constructor_that_raises_is_in_no_operation(sandbox):
    ran = logged(sandbox, ("last",), start=(1, 2))
    assert ran.results == (
        Raised("TypeError", "Ledger.__init__() takes from 1 to 2 positional arguments but 3 were given"),
    )


def test_a_log_that_json_cannot_say_tells_no_operation_only_when_it_is_whole(sandbox):
    source = "class Ledger:\n    def a(self): return {1: 2}\n    def b(self): return 10 ** 5000"
    assert logged(sandbox, ("a",), start=(), source=source).results == (
        Raised("TypeError", "returned a dict with a key of type int, not JSON", "", 1),
    )
    [raised] = logged(sandbox, ("b",), start=(), source=source).results
    assert (raised.kind, raised.step) == ("ValueError", 0)


def test_async_functions_are_run_to_their_end(ask):
    assert ask("import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x + 1", (1,)).results == (
        Returned(2),
    )
    assert ask("async def f():\n    return 1 / 0").results == (
        Raised("ZeroDivisionError", "division by zero", "line 2, in f"),
    )


def test_a_generator_is_no_list(ask):
    assert ask("def f():\n    yield 1").results == (Raised("TypeError", "returned a generator, not JSON"),)


@pytest.mark.parametrize(
    ("containers", "value", "result"),
    [
        (("set",), "{10, 9, 1}", Returned([1, 10, 9])),
        (("set",), "[frozenset(), {(1, 2), ('b',)}]", Returned([[], [["b"], [1, 2]]])),
        (("set",), "{object()}", Raised("TypeError", "returned an object, not JSON")),
        (("set",), "{1: 2}", Raised("TypeError", "returned a dict with a key of type int, not JSON")),
        (("int_keys",), "{10: 'x', 9: {1}}", Raised("TypeError", "returned a set, not JSON")),
        (("int_keys",), "{10: 'x', 9: {-1: ()}}", Returned([[9, [[-1, []]]], [10, "x"]])),
        (("int_keys",), "{}", Returned([])),
        ((), "{}", Returned({})),
        (("int_keys",), "{'a': {}}", Returned({"a": []})),
        (("int_keys",), "{1: 2, 'a': 3}", Raised("TypeError", "returned a dict with a key of type int, not JSON")),
        (("int_keys",), "{True: 2}", Raised("TypeError", "returned a dict with a key of type bool, not JSON")),
        ((), "{True: 2}", Raised("TypeError", "returned a dict with a key of type bool, not JSON")),
        ((), "{None: 2}", Raised("TypeError", "returned a dict with a key of type NoneType, not JSON")),
        ((), "[{'a': {1.5: 2}}]", Raised("TypeError", "returned a dict with a key of type float, not JSON")),
        (("set", "int_keys"), "{1: {2}, 0: {}}", Returned([[0, []], [1, [2]]])),
    ],
)
def test_containers_come_as_the_case_declares_them(containers, value, result, sandbox):
    ran = sandbox.run(Program(f"def f():\n    return {value}", "f", (Call(()),), containers=containers), Limits())
    assert ran.results == (result,)


@pytest.mark.parametrize("kind", ["[", "("])
def test_a_value_may_be_as_deep_as_the_host_can_stand(kind, ask):
    source = "def f(depth):\n    value = ()\n    for _ in range(depth - 1):\n        value = (value,)\n    return value"
    ran = ask(source.replace("(value,)", "[value]") if kind == "[" else source, (200,), (201,))
    assert isinstance(ran.results[0], Returned)
    assert ran.results[1] == Raised("ValueError", "returned a value nested deeper than 200, not JSON")


def filtered(sandbox, program):
    """The same sandbox with another inner filter."""
    return Driven(replace(sandbox._launch, inner_filter=program), "fake")


def test_a_filter_that_cannot_be_put_on_is_trouble_of_the_sandbox(sandbox):
    with pytest.raises(CrucibleError) as error:
        filtered(sandbox, b"\xff" * 8).run(Program("def f(): return 1", "f", (Call(()),)), Limits())
    assert error.value.message == "the sandbox failed: a call could not be confined: [Errno 22] Invalid argument"


REFUSE_UNAME = (
    b"\x20\0\0\0\0\0\0\0"  # load the number of the call
    + (b"\x15\0\0\x01" + {"x86_64": b"\x3f", "aarch64": b"\xa0"}.get(os.uname().machine, b"\0") + b"\0\0\0")
    + b"\x06\0\0\0\x01\0\x05\0"  # EPERM
    + b"\x06\0\0\0\0\0\xff\x7f"  # allow
)


@pytest.mark.parametrize(("program", "refused"), [(b"", False), (REFUSE_UNAME, True)])
def test_the_inner_filter_is_on_before_the_code_is_read(program, refused, sandbox):
    source = (
        "import os\ntry: os.uname()\nexcept PermissionError: refused = True\n"
        "else: refused = False\ndef f(): return refused"
    )
    ran = filtered(sandbox, program).run(Program(source, "f", (Call(()),)), Limits())
    assert ran.results == (Returned(refused),)


def test_not_even_a_process_with_a_session_of_its_own_outlives_its_call(sandbox):
    source = (
        "import os, time\ndef f(is_first):\n    if is_first:\n        reader, writer = os.pipe()\n        if not os.fork():\n"
        "            os.setsid()\n            os.write(writer, b'x')\n            time.sleep(60)\n        return os.read(reader, 1).decode()\n"
        "    found = []\n    for pid in set(range(2, 99)) - {os.getpid()}:\n        try: os.kill(pid, 0)\n"
        "        except ProcessLookupError: pass\n        else: found.append(pid)\n    return found"
    )
    begun = time.monotonic()
    ran = filtered(sandbox, b"").run(Program(source, "f", (Call((True,)), Call((False,)))), Limits())
    assert ran.results == (Returned("x"), Returned([]))
    assert time.monotonic() - begun < 5


LIMITS = {"cpu_s": 2.0, "wall_s": 30.0, "answer_bytes": 500}


@pytest.mark.parametrize(
    ("in_time", "cpu_s", "is_long", "limit"),
    [
        (True, 1.99, False, None),
        (True, 2.0, False, ("time limit", "more than 2 s of CPU")),
        (False, 2.0, True, ("time limit", "more than 2 s of CPU")),
        (False, 1.99, True, ("time limit", "more than 30 s")),
        (True, 1.99, True, ("output limit", "more than 500 bytes")),
    ],
)
def test_cpu_time_decides_before_wall_time_and_both_before_length(in_time, cpu_s, is_long, limit):
    assert _limit(LIMITS, in_time, cpu_s, is_long) == limit


@pytest.mark.parametrize(
    ("said", "limit", "status", "line"),
    [
        (b"{}\n", None, 0, b"{}"),
        (b"{}\n", ("time limit", "x"), 0, b'{"n": "7", "raised": ["time limit", "x", "", 0]}'),
        (b"{}", None, 9, b'{"n": "7", "raised": ["exit", "ended by signal 9 before it answered", "", 0]}'),
        (b"", None, 3 << 8, b'{"n": "7", "raised": ["exit", "ended with status 3 before it answered", "", 0]}'),
        (b"{}\n{", None, 0, b'{"n": "7", "broken": "the program broke the protocol: more than one answer"}'),
    ],
)
def test_one_line_comes_of_whatever_a_child_says(said, limit, status, line):
    assert _verdict("7", said, limit, status) == line


class Watched(_Watch):
    """A watch over a child whose CPU time, like the clock, is what the test says."""

    def __init__(self, cpu_s, wall_s):
        self.now = self.used_s = 0.0
        super().__init__(1, cpu_s, wall_s, lambda: self.now)

    def _cpu(self):
        return self.used_s

    def at(self, now, used_s):
        self.now, self.used_s = now, used_s
        return self.left_s()


def test_a_child_is_looked_at_again_when_it_can_have_used_up_its_time():
    watch = Watched(5.0, 30.0)
    assert watch.at(0.0, 0.0) == 5.0
    assert watch.at(4.0, 1.0) == 4.0
    assert watch.at(29.0, 1.0) == 1.0
    assert watch.at(29.0, 5.0) <= 0


def test_a_child_that_waits_gets_its_wall_time_once():
    watch = Watched(5.0, 30.0)
    assert watch.at(30.0, 0.49) == 0.0


def test_a_child_that_seldom_gets_its_turn_goes_on():
    watch = Watched(5.0, 30.0)
    assert watch.at(30.0, 0.5) == 4.5
    assert watch.at(59.0, 0.9) == 1.0
    assert watch.at(60.0, 0.99) == 0.0


def test_no_child_goes_on_for_ever():
    watch = Watched(5.0, 30.0)
    turns = 0
    while watch.at(30.0 * (turns + 1), 0.5 * (turns + 1)) > 0:
        turns += 1
    assert turns == TURNS - 1


def test_the_clock_of_another_process_is_its_own():
    child = os.fork()
    if child == 0:
        while True:
            pass
    try:
        watch = _Watch(child, 0.02, 10.0)
        deadline = time.monotonic() + 5
        while watch.left_s() > 0 and time.monotonic() < deadline:
            time.sleep(0.001)
        assert time.clock_gettime((~child << 3) | 2) >= 0.02
        assert time.monotonic() < deadline
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_where_there_is_no_such_clock_the_wall_time_is_left():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert 9 < _Watch(child, 20.0, 10.0).left_s() <= 10


def bare(**changes):
    """The driver as an ordinary process, with a launch of the test's own."""
    return Driven(replace(SANDBOX.open()._launch, **changes), "bare")


def asked_of(sandbox, source, **limits):
    [result] = sandbox.run(Program(source, "f", (Call(()),)), Limits(**limits)).results
    return result.value


BOUNDS = """
import resource
def f():
    return {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))
            for name in ("CPU", "AS", "STACK", "FSIZE", "NOFILE", "CORE", "NPROC")}
"""


@pytest.mark.parametrize(("cpu_s", "ticks"), [(1.5, [3, 4]), (2.0, [3, 4])])
def test_a_child_has_bounds_that_it_cannot_raise(cpu_s, ticks):
    stack = resource.getrlimit(resource.RLIMIT_STACK)[1]
    assert asked_of(bare(processes=123), BOUNDS, cpu_s=cpu_s, memory_bytes=1 << 29) == {
        "CPU": ticks,
        "AS": [1 << 29] * 2,
        "STACK": [1 << 26, stack],
        "FSIZE": [1 << 24] * 2,
        "NOFILE": [64] * 2,
        "CORE": [0, 0],
        "NPROC": [123] * 2,
    }


def wrapped(code, **changes):
    """The driver, started by way of a Python that does something first."""
    first = f"import os, resource, sys\n{code}\nos.execv(sys.argv[1], sys.argv[1:])"
    return bare(argv=(sys.executable, "-S", "-c", first, *SANDBOX.open()._launch.argv), **changes)


def test_a_bound_that_is_tighter_already_stays():
    tight = wrapped("for name in ('NOFILE', 'CPU'): resource.setrlimit(getattr(resource, 'RLIMIT_' + name), (40, 41))")
    bounds = asked_of(tight, BOUNDS, cpu_s=99.0)
    assert (bounds["NOFILE"], bounds["CPU"]) == ([41, 41], [41, 41])
    assert bounds["NPROC"] == list(resource.getrlimit(resource.RLIMIT_NPROC))


def test_a_child_holds_no_file_but_nothing_and_its_pipe():
    source = (
        "import os, stat\ndef f():\n    found = {}\n    for fd in range(300):\n        try: found[fd] = os.fstat(fd)\n"
        "        except OSError: pass\n"
        "    return [[fd, os.major(one.st_rdev), os.minor(one.st_rdev), stat.S_ISFIFO(one.st_mode)] for fd, one in found.items()]"
    )
    extra = "for fd in (3, 4, 9, 255): os.dup2(os.open('/dev/zero', os.O_RDONLY), fd)"
    *null, pipe = asked_of(wrapped(extra), source)
    assert null == [[fd, 1, 3, False] for fd in (0, 1, 2)]
    assert pipe[1:] == [0, 0, True]


def test_the_driver_is_out_of_a_childs_reach():
    source = (
        "import ctypes, gc, os, signal\ndef f():\n"
        "    return [dict(os.environ), signal.getsignal(signal.SIGINT) == signal.SIG_DFL, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), gc.get_freeze_count() > 0]"
    )
    assert asked_of(bare(environment=(("CANARY", "value"),)), source) == [{}, True, 0, True]


ALLOW = b"\x06\0\0\0\0\0\xff\x7f"
KILL = b"\x06\0\0\0\0\0\0\x80"


def test_a_filter_goes_with_the_loss_of_new_privileges():
    source = "import ctypes\ndef f():\n    return ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)"
    assert asked_of(bare(inner_filter=ALLOW), source) == 1


def test_a_child_that_dies_while_it_is_confined_is_trouble_of_the_sandbox():
    with pytest.raises(CrucibleError) as error:
        bare(inner_filter=KILL).run(Program("def f(): return 1", "f", (Call(()),)), Limits())
    assert error.value.message == "the sandbox failed: a call could not be confined: its process ended"


def test_a_want_of_memory_is_told_with_the_bound(ask):
    assert ask("def f(): raise MemoryError", memory_bytes=1 << 28).results == (
        Raised("memory limit", "more than 268435456 bytes"),
    )


def test_an_error_that_cannot_even_be_named_ends_the_call_and_no_more(ask):
    source = (
        "class M(type):\n    @property\n    def __name__(cls): return 5\nclass E(Exception, metaclass=M): pass\n"
        "def f(x):\n    if x: raise E\n    return x"
    )
    assert ask(source, (1,), (0,)).results == (Raised("exit", "ended with status 0 before it answered"), Returned(0))


FORGED = "import os\ndef say(text):\n    for fd in range(3, 99):\n        try: os.write(fd, text)\n        except OSError: pass\n"


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        ("say(b'{}\\n{}\\n')", "more than one answer"),
        ("say(b'{}\\n')\n    os._exit(0)", "its answer belongs to no call"),
        ("say(b'x')\n    return 1", "its answer is not JSON"),
    ],
)
def test_a_child_that_says_more_than_its_answer_breaks_the_program(body, broken, ask):
    assert ask(f"{FORGED}def f():\n    {body}").broken == f"the program broke the protocol: {broken}"


def test_threads_and_exit_handlers_of_the_code_get_no_further_turn(ask):
    source = (
        "import atexit, threading, time\ndef f():\n    threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "    atexit.register(time.sleep, 60)\n    return 1"
    )
    begun = time.monotonic()
    assert ask(source).results == (Returned(1),)
    assert time.monotonic() - begun < 5


@contextmanager
def conversation():
    """A driver to talk to."""
    with subprocess.Popen(
        [sys.executable, *FLAGS, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as driver:
        assert driver.stdout.readline() == b'{"ready": 1}\n'
        yield driver
        driver.stdin.close()
        assert driver.wait(20) == 0
        assert driver.stderr.read() == b""


def task(source):
    limits = {"wall_s": 20.0, "cpu_s": 5.0, "memory_bytes": 1 << 29, "answer_bytes": 1000, "processes": 0}
    sent = {"source": source, "entry": "f", "form": "function", "containers": [], "filter": "", "play": PLAY}
    return json.dumps(sent | {"limits": limits}).encode() + b"\n"


def call(nonce, *args):
    return json.dumps({"n": nonce, "args": args, "cpu_s": 5.0}).encode() + b"\n"


def test_a_driver_ends_with_its_stdin_before_the_task_and_after_it():
    for sent in (b"", b"{", task("")):
        with conversation() as driver:
            driver.stdin.write(sent)


def test_lines_may_come_in_any_pieces():
    whole = task("def f(x): return x") + call("a", 1) + call("b", "x" * 200_000) + call("c", 3)
    with conversation() as driver:
        for start in range(0, len(whole), 70_000):
            driver.stdin.write(whole[start : start + 70_000])
            driver.stdin.flush()
        answers = [json.loads(driver.stdout.readline()[16:]) for _ in range(3)]
    assert [one["n"] for one in answers] == ["a", "b", "c"]
    assert answers[0]["value"] == 1
    assert answers[1]["raised"][0] == "output limit"
    assert answers[2]["value"] == 3


def test_the_end_of_stdin_ends_a_driver_in_the_middle_of_a_call():
    begun = time.monotonic()
    with conversation() as driver:
        driver.stdin.write(task("import time\ndef f(): time.sleep(10)") + call("a"))
        driver.stdin.flush()
        while not psutil.Process(driver.pid).children():
            time.sleep(0.001)
        child = psutil.Process(driver.pid).children()[0]
        driver.stdin.close()
        driver.wait(20)
        child.kill()
    assert time.monotonic() - begun < 5


class Chances:
    """A watch that says what the test gives it, then that it is late."""

    def __init__(self, *left_s):
        self._left_s = list(left_s)

    def left_s(self):
        return self._left_s.pop(0) if self._left_s else 0.0


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    yield poll, reader, writer
    for fd in (reader, writer):
        with suppress(OSError):
            os.close(fd)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        (b"ab\ncd", (b"ab\ncd", True)),
        (b"\n", (b"\n", True)),
        (b"x" * 11, (b"x" * 11, True)),
        (b"x" * 10, (b"x" * 10, False)),
        (b"", (b"", False)),
    ],
)
def test_a_child_is_heard_up_to_a_lines_end_or_its_bound_or_its_time(text, heard, pipe):
    poll, reader, writer = pipe
    os.write(writer, text)
    assert _listen(poll, reader, 10, Chances(0.2, 0.001)) == heard


def test_a_child_is_heard_up_to_its_end_and_not_when_it_is_late(pipe):
    poll, reader, writer = pipe
    assert _listen(poll, reader, 10, Chances(0.001, 0.001)) == (b"", False)
    os.write(writer, b"ab")
    for late in (0.0, -1.0):
        assert _listen(poll, reader, 10, Chances(late, 5.0)) == (b"", False)
    os.close(writer)
    assert _listen(poll, reader, 10, Chances(5.0, 5.0, 5.0)) == (b"ab", True)


def test_the_rest_is_read_without_waiting_and_hardly_beyond_its_bound(pipe):
    _, reader, writer = pipe
    assert _rest(reader, 10) == b""
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 18)
    os.write(writer, b"x" * (3 << 16))
    assert _rest(reader, -1) == b""
    assert len(_rest(reader, 0)) == 1 << 16
    assert len(_rest(reader, 1 << 16)) == 2 << 16
    os.write(writer, b"end")
    os.close(writer)
    assert _rest(reader, 1 << 16) == b"end"


def test_a_child_that_is_ended_is_reaped_with_its_time():
    child = os.fork()
    if child == 0:
        while True:
            pass
    while time.clock_gettime((~child << 3) | 2) < 0.02:
        time.sleep(0.001)
    status, cpu_s = _end(child)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert 0.015 < cpu_s < 5
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)
