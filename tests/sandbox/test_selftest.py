from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

from crucibleforge.programs import Limits
from crucibleforge.sandbox import _filter
from crucibleforge.sandbox._placement import Placement, place
from crucibleforge.sandbox._selftest import _HELD, PROBES, disproof
from crucibleforge.sandbox.bwrap import _inside_home, here, launched


@pytest.fixture(scope="module")
def placement():
    """The first interpreter of this machine that can be used."""
    candidates = here()
    placements = (place(python, candidates.uid) for python in candidates.pythons)
    return next(found for found in placements if isinstance(found, Placement))


@pytest.fixture(scope="module")
def launch(placement):
    candidates = here()
    return launched(candidates.bubblewraps[0].path, placement, candidates.uid)


@pytest.fixture(scope="module")
def home(placement):
    return _inside_home(placement)


def more(*options):
    """The profile with these options at its beginning, where the root can still be built on."""
    return lambda launch: replace(launch, argv=(launch.argv[0], *options, *launch.argv[1:]))


def without(*options):
    """The profile without these words that follow each other."""

    def weaken(launch):
        (place,) = [n for n in range(len(launch.argv)) if launch.argv[n : n + len(options)] == options]
        return replace(launch, argv=launch.argv[:place] + launch.argv[place + len(options) :])

    return weaken


def instead(option, *others):
    return lambda launch: replace(
        launch, argv=tuple(word for old in launch.argv for word in (others if old == option else (old,)))
    )


def both(*ways):
    def weaken(launch):
        for way in ways:
            launch = way(launch)
        return launch

    return weaken


def unfiltered(launch):
    return replace(without("--seccomp", "{filter}")(launch), outer_filter=b"")


def open_to_code(launch):
    return replace(launch, inner_filter=b"")


ALL_BUT_PID = ("--unshare-user", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup")
WEAKER = {
    "read /etc/passwd": more("--ro-bind", "/etc/passwd", "/etc/passwd"),
    "list /home": more("--dir", "/home"),
    "list /proc": more("--proc", "/proc"),
    "list /sys": more("--dir", "/sys"),
    "write": without("--remount-ro", "/"),
    "touch a device": open_to_code,
    "open an AF_INET socket": unfiltered,
    "open an AF_UNIX socket": unfiltered,
    "open an AF_NETLINK socket": unfiltered,
    "open an AF_VSOCK socket": unfiltered,
    "connect to 127.0.0.1": both(unfiltered, instead("--unshare-all", "--unshare-all", "--share-net")),
    "make a user namespace": both(unfiltered, without("--disable-userns")),
    "debug a process": unfiltered,
    "type into the terminal": unfiltered,
    "call what is forbidden": unfiltered,
    "start a process": open_to_code,
    "start a program": open_to_code,
    "open a memory file": open_to_code,
    "signal pid 1": open_to_code,
    "see other processes": without("--as-pid-1"),
    "see a process of the host": both(instead("--unshare-all", *ALL_BUT_PID), without("--as-pid-1")),
    "find the environment of the host": without("--clearenv"),
    "become root": instead(str(65534), "0"),
}


def test_the_profile_as_it_is_passes(launch, home):
    assert disproof(launch, home=home) == ""


def test_the_scratch_profile_passes_with_its_one_small_folder(launch, home):
    scratch = replace(launch, argv=launch.scratch_argv)
    assert disproof(scratch, home=home, writable="/tmp 64 MiB") == ""
    assert "write (/tmp 64 MiB, not nowhere)" in disproof(scratch, home=home)


@pytest.mark.parametrize("probe", WEAKER)
def test_a_weaker_profile_is_refused_by_the_probe_that_gets_through(probe, launch, home):
    assert f"{probe} (" in disproof(WEAKER[probe](launch), home=home)


def test_a_wider_bound_on_memory_is_refused(launch, home):
    assert disproof(launch, home=home, limits=Limits(memory_bytes=4 << 30)) == (
        "a program in it could allocate 1 GiB (done, not ENOMEM)"
    )


@pytest.mark.parametrize(
    ("weaken", "found"),
    [
        (more("--tmpfs", "/mnt"), r"write \(/mnt \d+ MiB, not nowhere\)"),
        (more("--tmpfs", "/srv", "--tmpfs", "/mnt"), r"write \(/(srv|mnt) \d+ MiB, /(srv|mnt) \d+ MiB, not nowhere\)"),
        (without("--remount-ro", "/dev"), r"write \(/dev \d+ MiB, /dev/shm \d+ MiB, not nowhere\)"),
    ],
)
def test_a_folder_that_can_be_written_to_is_named_with_its_size(weaken, found, launch, home):
    assert re.search(found, disproof(weaken(launch), home=home))


@pytest.mark.parametrize("probe", ["make a user namespace", "connect to 127.0.0.1"])
def test_the_walls_behind_a_missing_filter_give_another_reason_and_do_not_count(probe, launch, home):
    found = disproof(unfiltered(launch), home=home)
    assert re.search(rf"{probe} \(E[A-Z]+, not EPERM\)", found)


def test_every_probe_has_a_profile_that_it_refuses():
    assert set(WEAKER) | {"allocate 1 GiB"} == set(_HELD)


def test_walls_too_narrow_for_an_honest_program_are_refused(launch, home):
    step = _filter._step
    no_threads = b"".join(
        (
            step(0x20, 0),
            *_filter._only(_filter._numbers(os.uname().machine, _filter._JUDGED)["clone"], step(0x06, 0x50001)),
            step(0x06, 0x7FFF0000),
        )
    )
    assert disproof(replace(launch, inner_filter=no_threads), home=home).startswith("an honest program ended with ")


def test_trouble_at_the_start_is_told_in_its_own_words(launch):
    assert disproof(more("--ro-bind", "/nonexistent", "/x")(launch)) == (
        "the sandbox failed: bwrap: Can't find source path /nonexistent: No such file or directory"
    )


def test_the_set_of_probes_has_a_short_name():
    assert re.fullmatch("[0-9a-f]{8}", PROBES)
