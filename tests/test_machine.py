import os
import platform

import msgspec

from crucibleforge.machine import describe
from crucibleforge.types import Machine


def test_the_machine_is_the_one_that_this_runs_on():
    machine = describe()
    assert machine.system == f"{platform.system()} {platform.release()} {platform.machine()}"
    assert machine.python == platform.python_version()
    assert machine.memory_bytes > 64 * 1024 * 1024


def test_the_cores_are_those_that_we_may_use():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert describe().cores == 1
    finally:
        os.sched_setaffinity(0, before)


def test_it_survives_the_journey_through_a_plan():
    machine = describe()
    assert msgspec.json.decode(msgspec.json.encode(machine), type=Machine) == machine
