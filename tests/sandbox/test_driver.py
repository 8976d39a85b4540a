from __future__ import annotations

import pytest

from crucibleforge.programs import Raised, Returned
from crucibleforge.sandbox._driver import _cause_of_death

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
        ("raise ValueError('no', 1)", Raised("ValueError", "('no', 1)")),
        ("class Mine(BaseException): pass\n    raise Mine", Raised("Mine", "")),
        ("return {1, 2}", Raised("TypeError", "returned a set, not JSON")),
        ("return [object()]", Raised("TypeError", "returned an object, not JSON")),
        ("return iter([])", Raised("TypeError", "returned a list_iterator, not JSON")),
        ("return {(1, 2): 3}", Raised("TypeError", "keys must be str, int, float, bool or None, not tuple")),
        ("return '\\ud800'", Raised("ValueError", "returned half a character, not JSON")),
        ("return f()", Raised("RecursionError", "maximum recursion depth exceeded")),
        ("x = []\n    x.append(x)\n    return x", Raised("ValueError", "Circular reference detected")),
        ("import sys\n    sys.exit(0)", Raised("exit", "asked to exit before it answered")),
        ("import os\n    os._exit(0)", Raised("exit", "ended with status 0 before it answered")),
        ("import os\n    os.kill(os.getpid(), 9)", Raised("exit", "ended by signal 9 before it answered")),
        ("class E(Exception):\n        def __str__(self): raise self\n    raise E", Raised("E", "")),
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


@pytest.mark.parametrize(
    ("status", "cpu_s", "cause"),
    [
        (24, 5.0, ("time limit", "more than 5 s of CPU")),
        (9, 6.0, ("time limit", "more than 5 s of CPU")),
        (9, 0.1, ("exit", "ended by signal 9 before it answered")),
        (3 << 8, 9.0, ("exit", "ended with status 3 before it answered")),
    ],
)
def test_a_death_without_answer_is_told_by_signal_and_cpu_time(status, cpu_s, cause):
    assert _cause_of_death(status, cpu_s, 5) == cause
