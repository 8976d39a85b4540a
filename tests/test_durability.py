"""A little of each story of `bench/durability.py`, and proof that it would notice."""

import errno
import importlib.util
import os
import random
import sys
from pathlib import Path

import made
import pytest

from crucibleforge.errors import FolderUnusable
from crucibleforge.store.log import NAME, opened, read

PATH = Path(__file__).parent.parent / "bench" / "durability.py"
CASE = made.case()
ROWS = [made.attempt(CASE), made.verdict(CASE), made.attempt(CASE, made.reply("\u20ac" * 50), repeat=2)]
FAILURES = [errno.ENOSPC, errno.EIO, errno.EINTR, errno.EDQUOT, errno.EFBIG]


@pytest.fixture(scope="module")
def durability():
    spec = importlib.util.spec_from_file_location("durability", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


class Disk:
    """Writes at most `piece` bytes at once and fails from call `number` on; what it takes is really written."""

    def __init__(self, number: int, code: int, piece: int = 10_000) -> None:
        self.calls = 0
        self._number = number
        self._code = code
        self._piece = piece

    def __call__(self, descriptor: int, data: bytes) -> int:
        self.calls += 1
        if self.calls >= self._number:
            raise OSError(self._code, os.strerror(self._code))
        return os.write(descriptor, data[: self._piece])


def appended(log, acknowledged):
    for row in ROWS:
        log.append(row)
        acknowledged.append(row)


@pytest.mark.parametrize("code", FAILURES, ids=lambda code: errno.errorcode[code])
@pytest.mark.parametrize("piece", [10_000, 90], ids=["whole", "short"])
def test_whichever_write_fails_the_acknowledged_rows_stand_and_the_next_writer_goes_on(tmp_path, code, piece):
    disk = Disk(10**6, code, piece)
    with opened(tmp_path / "all", disk) as log:
        for row in ROWS:
            log.append(row)
    for number in range(1, disk.calls + 1):
        folder, acknowledged = tmp_path / str(number), []
        with opened(folder, Disk(number, code, piece)) as log, pytest.raises(FolderUnusable, match=f"{NAME}: .*"):
            appended(log, acknowledged)
        assert read(folder) == (acknowledged, [])
        with opened(folder) as log:
            for row in ROWS[len(acknowledged) :]:
                log.append(row)
        assert read(folder) == (ROWS, [])


@pytest.fixture(scope="module")
def ground(durability, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ground").resolve()
    with durability.prepared(folder, durability.FEW, random.Random(3)) as made_ground:
        yield made_ground


@pytest.mark.slow
def test_a_signal_loses_and_doubles_nothing(durability, ground):
    tale = durability.by_signal(ground, "hup", 1, random.Random(3))
    assert tale.figures.broken == []
    assert (tale.trials, tale.figures.runs > 0) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["write|2|kill-half", "write|3|short-full", "rename|1|kill-after"])
def test_a_call_that_fails_or_kills_loses_and_doubles_nothing(durability, ground, spoil):
    tale, place = durability.Tale("calls"), ground.folder / f"spoilt-{spoil}".replace("|", "-")
    run = durability.Run(ground, tale, place)
    ended = durability.whole(ground, place, durability.PRELUDE, SPOIL=f"{spoil}|{place}|")
    run.early(ended, {1, 2, -9})
    run.finish()
    assert tale.figures.broken == []
    assert ended.code == (2 if spoil.endswith("full") else -9)
    assert tale.figures.torn == spoil.endswith("kill-half")


@pytest.mark.slow
def test_files_that_may_not_grow_end_a_run_with_a_word_and_the_next_one_goes_on(durability, ground):
    tale, place = durability.Tale("limit"), ground.folder / "limited"
    run = durability.Run(ground, tale, place)
    (log,) = (ground.folder / "undisturbed").glob(f"runs/*/{NAME}")
    # What is written before the log is as large as it, or smaller.
    most = max(log.stat().st_size * 3 // 4, *(path.stat().st_size for path in log.parent.glob("*.json*") if path != log))
    ended = durability.whole(ground, place, durability.LIMIT, MOST_BYTES=str(most))
    run.early(ended, {1, 2})
    run.finish()
    assert tale.figures.broken == []
    assert (ended.code, b"log.jsonl: file too large" in ended.said) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_ends_a_run_with_a_word_and_the_next_one_goes_on(durability, ground):
    tale = durability.Tale("full")
    # Two locks, the plan and the cases take a page each; nothing is left for the log.
    ended = durability.full_disk(ground, tale, 4 * durability.PAGE_BYTES)
    assert tale.figures.broken == []
    assert (ended.code, b"log.jsonl: no space left on device" in ended.said) == (2, True)


@pytest.mark.slow
def test_what_is_lost_doubled_or_different_is_noticed(durability, ground):
    def told(report: object, damage) -> list[str]:
        tale = durability.Tale("x")
        run = durability.Run(durability.Ground(ground.folder, ground.words, report, 0.0), tale, ground.folder / "undisturbed")
        run.look(b"[fake] 1/2 math/mod-ladder/L1.1: pass\n")
        whole = log.read_bytes()
        log.write_bytes(damage(whole))
        run.look(b"")
        run.close(durability.Ended(0, b""))
        log.write_bytes(whole)
        return tale.figures.broken

    (log,) = (ground.folder / "undisturbed").glob(f"runs/*/{NAME}")
    assert told(ground.report, lambda whole: whole) == []
    assert "the report differs" in told({}, lambda whole: whole)[0]
    assert any("rows that stood in it are gone" in words for words in told(ground.report, lambda whole: whole[:-300]))
    assert any("2 attempts" in words or "2 verdicts" in words for words in told(ground.report, lambda whole: whole * 2))
    tale = durability.Tale("x")
    run = durability.Run(ground, tale, ground.folder / "undisturbed")
    run.early(durability.Ended(1, b"Traceback (most recent call last)"), {1})
    assert len(tale.figures.broken) == 2
