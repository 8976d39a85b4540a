from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from crucibleforge.errors import SandboxMissing
from crucibleforge.sandbox import _filter
from crucibleforge.sandbox._filter import forbidden, inner, outer

MACHINES = ("x86_64", "aarch64")
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
TABLES = {**_filter._FORBIDDEN, **_filter._FORBIDDEN_TO_CODE, **_filter._JUDGED}
NEWER_THAN_MANY_HEADERS = {
    "listmount": 458,
    "lsm_get_self_attr": 459,
    "lsm_list_modules": 461,
    "lsm_set_self_attr": 460,
    "open_tree_attr": 467,
    "statmount": 457,
}
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS

# Numbers of the calls that no list of ours holds: (x86_64, aarch64).
READ, WRITE, GETPID, EXIT_GROUP, MMAP, FUTEX = (0, 63), (1, 64), (39, 172), (231, 94), (9, 222), (202, 98)


def verdict(program, number, *args, architecture):
    """What the kernel would do: runs a classic BPF program, of the instructions that a filter of ours may hold."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *(*args, 0, 0, 0, 0, 0, 0)[:6])
    steps = list(struct.iter_unpack("<HBBI", program))
    held = place = 0
    while True:
        code, met, otherwise, value = steps[place]
        place += 1
        match code:
            case 0x20:
                held = struct.unpack_from("<I", data, value)[0]
            case 0x15:
                place += met if held == value else otherwise
            case 0x25:
                place += met if held > value else otherwise
            case 0x45:
                place += met if held & value else otherwise
            case 0x06:
                return value
            case _:
                raise AssertionError(hex(code))


def asked(make, machine, name, *args):
    """The verdict on a call, by name or by its two numbers."""
    numbers = TABLES[name] if isinstance(name, str) else name
    return verdict(make(machine), numbers[MACHINES.index(machine)], *args, architecture=ARCHITECTURE[machine])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [outer, inner])
def test_a_program_is_one_that_the_kernel_takes(make, machine):
    steps = list(struct.iter_unpack("<HBBI", make(machine)))
    assert 0 < len(steps) <= 4096
    assert steps[-1][0] == 0x06
    assert {code for code, *_ in steps} <= {0x20, 0x15, 0x25, 0x45, 0x06}
    assert all(place + 1 + max(met, otherwise) < len(steps) for place, (_, met, otherwise, _) in enumerate(steps[:-1]))
    assert all(value in {0, 4, 16, 24} for code, _, _, value in steps if code == 0x20)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [outer, inner])
@pytest.mark.parametrize("call", [READ, WRITE, GETPID, EXIT_GROUP, MMAP, FUTEX])
def test_ordinary_calls_pass(call, make, machine):
    assert asked(make, machine, call) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_every_listed_call_is_refused_whatever_its_arguments(machine):
    column = MACHINES.index(machine)
    for make, table in ((outer, _filter._FORBIDDEN), (inner, _filter._FORBIDDEN_TO_CODE)):
        for name, numbers in table.items():
            if numbers[column] is not None:
                assert asked(make, machine, name) == asked(make, machine, name, *(2**64 - 1,) * 6) == REFUSE, name


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [outer, inner])
@pytest.mark.parametrize("architecture", [0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0, 0xFFFFFFFF])
def test_another_architectures_door_ends_the_process(architecture, make, machine):
    said = verdict(make(machine), GETPID[MACHINES.index(machine)], architecture=architecture)
    assert said == (ALLOW if architecture == ARCHITECTURE[machine] else KILL)


@pytest.mark.parametrize("make", [outer, inner])
@pytest.mark.parametrize("number", [39, 0, 520, 59])
def test_x32_ends_the_process(number, make):
    assert verdict(make("x86_64"), number | 0x40000000, architecture=ARCHITECTURE["x86_64"]) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_newer_than_the_list_does_not_exist(machine):
    assert asked(outer, machine, (469, 469)) == ALLOW
    for number in (470, 512, 547, 1000, 0x3FFFFFFF):
        assert asked(outer, machine, (number, number)) == UNKNOWN


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("make", "name", "args", "expected"),
    [
        (outer, "clone3", (), UNKNOWN),
        (inner, "clone3", (), UNKNOWN),
        (outer, "clone", (17,), ALLOW),  # fork, as libc does it
        (outer, "clone", (0x3D0F00,), ALLOW),  # pthread_create
        *((outer, "clone", (17 | bit,), REFUSE) for bit in (1 << 17, *(1 << shift for shift in range(25, 31)))),
        (outer, "clone", (0xFFFF_FFFF_1000_0011,), REFUSE),
        (inner, "clone", (0x3D0F00,), ALLOW),
        (inner, "clone", (17,), REFUSE),
        (inner, "clone", (0x4111,), REFUSE),  # vfork
        (inner, "clone", (0x3D0F00 & ~0x10000,), REFUSE),
        (inner, "clone", (0x3D0F00 << 32,), REFUSE),
        (outer, "ioctl", (0, 0x5401), ALLOW),
        (outer, "ioctl", (0, 0x5412), REFUSE),
        (outer, "ioctl", (0, 0x541C), REFUSE),
        (outer, "ioctl", (0, 0x1_0000_5412), REFUSE),  # the kernel drops the upper half
        (outer, "socketpair", (1, 1), ALLOW),
        (outer, "socketpair", (1 | 1 << 32, 1), ALLOW),
        (outer, "socketpair", (30, 1), REFUSE),
        (outer, "socketpair", (0, 1), REFUSE),
        (outer, "kill", (1, 9), ALLOW),  # the driver kills its children
        (inner, "kill", (2, 9), ALLOW),
        (inner, "kill", (1, 0), REFUSE),
        (inner, "kill", (0, 9), REFUSE),
        (inner, "kill", (2**64 - 1, 9), REFUSE),
        (inner, "kill", (2**32 - 1, 9), REFUSE),
        (inner, "kill", (1 << 32 | 1, 9), REFUSE),
        (inner, "tkill", (1, 9), REFUSE),
        (inner, "tkill", (7, 9), ALLOW),
        (inner, "tgkill", (1, 1, 9), REFUSE),
        (inner, "tgkill", (7, 8, 6), ALLOW),  # abort()
        (inner, "prlimit64", (0, 7), ALLOW),
        (inner, "prlimit64", (1, 7), REFUSE),
        (inner, "prlimit64", (1 << 32, 7), ALLOW),
    ],
)
def test_some_calls_are_judged_by_what_they_ask_for(make, name, args, expected, machine):
    assert asked(make, machine, name, *args) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_our_numbers_are_those_of_the_kernels_headers(machine):
    paths = [Path(path) for path in HEADERS[machine] if Path(path).exists()]
    if not paths:
        pytest.skip("no kernel headers on this machine")
    header = re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", paths[0].read_text())
    theirs = {**NEWER_THAN_MANY_HEADERS, **{name: int(number) for name, number in header}}
    ours = {name: numbers[MACHINES.index(machine)] for name, numbers in TABLES.items()}
    # Newer headers drop what no kernel answers any more.
    gone = {name for name in TABLES if name not in theirs and ours[name] is not None}
    assert gone <= {"lookup_dcookie", "nfsservctl"}
    assert {n: k for n, k in ours.items() if n not in gone} == {n: theirs.get(n) for n in TABLES if n not in gone}


def test_newer_calls_have_one_number_for_all():
    for name, number in NEWER_THAN_MANY_HEADERS.items():
        assert TABLES[name] == (number, number)


@pytest.mark.parametrize("machine", ["i686", "riscv64", "armv7l", "aarch64_be", ""])
@pytest.mark.parametrize("make", [outer, inner, forbidden])
def test_an_unknown_processor_gets_no_filter_and_no_sandbox(make, machine):
    with pytest.raises(SandboxMissing) as missing:
        make(machine)
    assert missing.value.message == f"no sandbox: no filter of system calls for {machine or 'this processor'}"


def test_what_the_self_test_calls_is_what_the_filter_refuses():
    for machine in MACHINES:
        column = MACHINES.index(machine)
        assert forbidden(machine) == {n: k[column] for n, k in _filter._FORBIDDEN.items() if k[column] is not None}
