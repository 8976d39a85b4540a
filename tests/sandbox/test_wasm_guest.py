"""The guest's text in a Python of ours, with a door that prints what goes through it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crucibleforge.sandbox import _wasm_guest
from crucibleforge.sandbox._driven import PLAY

DOOR = "import os, sys, types\nsys.modules['_host'] = door = types.ModuleType('_host')\ndoor.call = lambda said: os.write(1, said + b'\\n')\n"
GUEST = DOOR + Path(_wasm_guest.__file__).read_text().replace("from __future__ import annotations", "")


def said(source, *, form="function", args=()):
    task = {
        "source": source,
        "entry": "f",
        "form": form,
        "containers": [],
        "limits": {"answer_bytes": 100},
        "play": PLAY,
    }
    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", GUEST),
        input=json.dumps([task, {"n": "0f", "args": args}]).encode(),
        capture_output=True,
        check=False,
        env={"CANARY": "x"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    begun, *rest = done.stdout.splitlines()
    assert begun == b"+"
    return rest


def answer(source, **options):
    (line,) = said(source, **options)
    return json.loads(line)


def test_it_says_that_it_begins_and_then_what_came_of_it():
    assert answer("def f(x):\n    return x + 1", args=[1]) == {"n": "0f", "value": 2}
    assert answer("def f():\n    1 / 0")["raised"][0] == "ZeroDivisionError"


def test_the_code_finds_no_environment():
    assert answer("import os\ndef f():\n    return dict(os.environ)")["value"] == {}


def test_memory_that_ran_out_needs_none_to_be_told():
    assert said("def f():\n    raise MemoryError") == [b"-"]


def test_an_event_loop_needs_no_pipe():
    source = "import asyncio\nasync def f():\n    found = await asyncio.gather(*(asyncio.sleep(0.001, n) for n in range(3)))\n    queue = asyncio.Queue()\n    await queue.put(3)\n    return [*found, await asyncio.wait_for(queue.get(), 1)]"
    assert answer(source)["value"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "late", ["import atexit\natexit.register(print, 'late')", "import sys\nsys.stdout.write('late')"]
)
def test_nothing_comes_after_the_answer(late):
    assert len(said(f"{late}\ndef f():\n    return 1")) == 1
