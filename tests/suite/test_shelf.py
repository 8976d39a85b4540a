from __future__ import annotations

import gzip
import json
import os

import msgspec
import pytest
from adding import ADDING, DOUBLING

from crucibleforge.families._build import cases
from crucibleforge.suite.lock import rendered
from crucibleforge.suite.shelf import cache, keep, kept

SUMS, CODE = tuple(cases(ADDING)), tuple(cases(DOUBLING))
LOCK = rendered(SUMS + CODE)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CRUCIBLEFORGE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def place():
    """The file, with all the cases in it."""
    keep(LOCK, SUMS + CODE)
    (path,) = cache().iterdir()
    return path


def changed(path, **fields):
    """Write the file with fields of its first case changed, as anyone could."""
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | fields), *rest]))


def test_what_was_kept_is_what_was_drawn():
    keep(LOCK, SUMS + CODE)
    assert kept(LOCK) == {"math/adding": SUMS, "coding/doubling": CODE}


def test_without_a_shelf_nothing_is_kept():
    assert kept(LOCK) == {}


def test_the_name_says_of_which_lock_it_is(place):
    assert place.name.startswith("core-")
    keep(rendered(SUMS), SUMS)
    assert [path.name for path in cache().iterdir()] != [place.name]


def test_the_shelf_of_another_lock_is_not_taken(place):
    other = rendered(SUMS)
    assert kept(other) == {}
    keep(other, SUMS)
    (path,) = cache().iterdir()
    place.write_bytes(path.read_bytes())
    assert kept(LOCK) == {}


def test_what_is_not_the_locked_suite_is_not_kept():
    keep(LOCK, SUMS)
    keep(LOCK, [*SUMS, *CODE[1:], msgspec.structs.replace(CODE[0], hash="0" * 16)])
    keep("", SUMS)
    assert not cache().exists()


def test_families_without_a_lock_are_left_out_and_do_no_harm():
    keep(rendered(SUMS), SUMS + CODE)
    assert kept(rendered(SUMS)) == {"math/adding": SUMS}


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "math/adding/L1.2"},
        {"dialogue": {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 60}},
        {"expected": 7},
        {"grading": {"grader": "numeric", "settings": {"tolerance": 10**12}}},
        {"grading": {"grader": "no such grader", "settings": {}}},
        {"grading": 1},
    ],
)
def test_a_case_that_is_not_the_locked_one_spoils_the_shelf(place, fields):
    changed(place, **fields)
    assert kept(LOCK) == {}


@pytest.mark.parametrize(
    "fields", [{"hash": "0" * 16}, {"needs": {"context_tokens": 1, "sandbox": False}}, {"smoke": False}, {"more": 1}]
)
def test_what_follows_from_a_case_is_derived_and_not_believed(place, fields):
    changed(place, **fields)
    assert kept(LOCK) == {"math/adding": SUMS, "coding/doubling": CODE}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1000],
        lambda data: data.partition(b"\n")[2],
        lambda data: data + data.partition(b"\n")[0],
        lambda data: data.replace(b"Add", b"A\xffd", 1),
        gzip.compress,
        lambda data: b"[" * 100_000 + data,
        lambda data: b'{"id":' * 100_000,
        lambda data: b"null\n" + data,
    ],
    ids=["empty", "cut", "one missing", "one twice", "no text", "compressed", "deep", "deep case", "null"],
)
def test_a_damaged_shelf_is_ignored_and_made_anew(place, damage):
    place.write_bytes(damage(place.read_bytes()))
    assert kept(LOCK) == {}
    keep(LOCK, SUMS + CODE)
    assert len(kept(LOCK)) == 2


def test_the_order_is_the_suite_s_whatever_the_file_s(place):
    place.write_text("\n".join(reversed(place.read_text().splitlines())))
    assert kept(LOCK) == {"math/adding": SUMS, "coding/doubling": CODE}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to(path)], ids=["dir", "pipe", "loop"])
def test_what_is_no_file_is_not_read(place, make):
    place.unlink()
    make(place)
    assert kept(LOCK) == {}
    keep(LOCK, SUMS + CODE)


def test_the_shelves_of_past_locks_are_cleared_away_and_nothing_else(place):
    others = [place.with_name(name) for name in ("verified.json", "core-notes.jsonl", f"core-{'0' * 16}.jsonl.bak")]
    for path in others:
        path.write_text("mine")
    keep(rendered(SUMS), SUMS)
    assert not place.exists()
    assert all(path.exists() for path in others)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CRUCIBLEFORGE_CACHE", str(tmp_path / "file" / "cache"))
    keep(LOCK, SUMS + CODE)
    assert kept(LOCK) == {}


def test_nothing_half_written_is_left(place):
    assert [path.name for path in cache().iterdir()] == [place.name]
