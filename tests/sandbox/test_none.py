from __future__ import annotations

from pathlib import Path

import pytest

from crucibleforge.programs import Call, Limits, Program, Raised, Returned
from crucibleforge.sandbox.none import SANDBOX


def run(source, *calls, **limits):
    return SANDBOX.open().run(Program(source, "f", tuple(Call(args) for args in calls or ((),))), Limits(**limits))


def test_it_owns_up_to_protecting_from_nothing():
    assert not SANDBOX.protects
    assert run("def f():\n    return 1").isolation == SANDBOX.open().isolation == "none"


def test_results_are_those_of_the_real_one(sandbox):
    program = Program("def f(x):\n    return 6 // x", "f", (Call((2,)), Call((0,)), Call(("a",))))
    assert SANDBOX.open().run(program, Limits()).results == sandbox.run(program, Limits()).results


@pytest.mark.parametrize(
    ("source", "raised"),
    [
        ("def f():\n    while True: pass", Raised("time limit", "more than 0.1 s")),
        ("def f():\n    return len(bytearray(2 << 30))", Raised("memory limit", "more than 536870912 bytes")),
        ("import os\ndef f():\n    os._exit(0)", Raised("exit", "ended with status 0 before it answered")),
    ],
)
def test_its_limits_hold(source, raised):
    assert run(source, wall_s=0.1).results == (raised,)


def test_it_passes_no_environment_on(monkeypatch):
    monkeypatch.setenv("CANARY_KEY", "canary-value")
    assert run("import os\ndef f():\n    return dict(os.environ)").results == (Returned({}),)


def test_it_starts_in_an_empty_folder_that_is_gone_afterwards():
    (result,) = run("import os\ndef f():\n    open('x', 'w').close()\n    return [os.getcwd(), os.listdir()]").results
    folder, names = result.value
    assert names == ["x"]
    assert not Path(folder).exists()
