import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from waiting import wait_for

from crucibleforge.cli._verify import _file, _remember, changed, elsewhere
from crucibleforge.suite.verify import lines, state

SUPPORT = Path(__file__).parent.parent / "support"
CHEAP, OTHER = "math/mod-ladder", "math/absorbing-die"
UNSEEDED = "generate=lambda most, draw: Sum((most + time.time_ns(), draw.below(most)))"
BY_HASH = "generate=lambda most, draw: Sum((most // 2 + hash(str(draw.below(most))) % (most // 2), draw.below(most)))"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CRUCIBLEFORGE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def plant(tmp_path, start):
    """A family that somebody else installed, with a fault; gives what `cases verify` says of it."""

    def planted(fault: str) -> tuple[int, list[str]]:
        (tmp_path / "planted.py").write_text(
            "import time\nfrom dataclasses import replace\nfrom adding import ADDING, Sum\n"
            f"FAMILY = replace(ADDING, name='math/planted', {fault})\n"
        )
        info = tmp_path / "planted-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[crucibleforge.families]\nmath/planted = planted\n")
        path = os.pathsep.join((str(tmp_path), str(SUPPORT), os.environ.get("PYTHONPATH", "")))
        process = start("cases", "verify", "--families", "math/planted", env={"PYTHONPATH": path, "PYTHONHASHSEED": "3"})
        out, _ = process.communicate(timeout=300)
        return process.returncode, out.splitlines()

    return planted


@pytest.mark.slow
def test_a_draw_by_hash_is_found_by_name(plant):
    code, said = plant(BY_HASH)
    assert code == 1
    wandering = "math/planted/L1.1: another process draws another case (an unseeded draw, the order of a set, hash())"
    assert any(line.startswith(wandering) for line in said)


@pytest.mark.slow
def test_an_unseeded_draw_is_found_by_name(plant):
    code, said = plant(UNSEEDED)
    assert code == 1
    assert any(line.startswith("math/planted/L1.1: the same key gave two different instances") for line in said)


@pytest.mark.slow
def test_it_tells_what_it_checked_and_remembers_it(crucible):
    ended = crucible("cases", "verify", "--families", CHEAP, "--jobs", "1")
    assert ended.code == 0
    assert ended.out.startswith("7 cases checked, 0 with problems (0 reference solutions run, ")
    assert ended.err.startswith(f"[1/1] {CHEAP}: ok, ")
    again = crucible("cases", "verify", "--families", CHEAP, "--changed", "--json")
    assert json.loads(again.out) == {
        "families": [],
        "summary": "0 cases checked, 0 with problems (0 reference solutions run, 0 answers derived again, "
        "0 wrong programs refused, 0 slow programs timed out)",
        "unchanged": 1,
    }
    assert again.err == "1 families were found sound before and have not changed\n"


@pytest.mark.slow
def test_ctrl_c_loses_nothing_that_was_found_sound(start):
    words = ("cases", "verify", "--jobs", "1", "--families", f"{CHEAP},{OTHER}")
    process = start(*words, start_new_session=True)
    first = process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert first.startswith(f"[1/2] {CHEAP}: ok, ")
    assert process.returncode == 130
    assert changed([CHEAP, OTHER], full=False) == [OTHER]


@pytest.mark.slow
def test_when_the_command_is_killed_its_processes_end(start):
    process = start("cases", "verify", "--jobs", "2", "--families", f"{CHEAP},{OTHER}")
    process.stderr.readline()
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    assert workers
    wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in workers), 30.0)


def test_only_what_was_not_found_sound_as_it_is_now_is_checked():
    assert changed([CHEAP, OTHER], full=False) == [CHEAP, OTHER]
    _remember(CHEAP, full=False)
    assert changed([CHEAP, OTHER], full=False) == [OTHER]
    _file().write_text(json.dumps({CHEAP: state(OTHER)}))
    assert changed([CHEAP, OTHER], full=False) == [CHEAP, OTHER]


def test_a_quick_look_does_not_count_as_a_full_one_but_a_full_one_as_both():
    _remember(CHEAP, full=False)
    assert changed([CHEAP], full=True) == [CHEAP]
    _remember(OTHER, full=True)
    assert changed([OTHER], full=True) == changed([OTHER], full=False) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "1"])
def test_a_damaged_memory_is_no_memory(text):
    _remember(CHEAP, full=False)
    _file().write_text(text)
    assert changed([CHEAP], full=False) == [CHEAP]


@pytest.mark.slow
def test_another_process_has_another_hash_seed_and_draws_the_same():
    assert elsewhere(CHEAP) == lines(CHEAP)


@pytest.mark.parametrize("option", ["--families", "--family"])
def test_an_unknown_family_is_one_line_and_a_hint(crucible, option):
    ended = crucible("cases", "verify", option, "zzz")
    assert (ended.code, ended.out, ended.err) == (2, "", "error: unknown family 'zzz'\nhint: `crucibleforge cases list`\n")


def test_there_is_at_least_one_process(crucible):
    assert crucible("cases", "verify", "--jobs", "0").code == 2
