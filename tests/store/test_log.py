import asyncio
import errno
import os

import made
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crucibleforge.errors import FolderLocked, FolderUnusable
from crucibleforge.store.log import NAME, opened, read
from crucibleforge.types import Healed

CASE = made.case()
ROWS = [made.attempt(CASE), made.verdict(CASE), made.attempt(CASE, made.reply("\u20ac \u2028 \n x"))]


def written(folder, *events):
    with opened(folder) as log:
        for event in events:
            log.append(event)


def test_what_is_written_is_read_back_in_order(tmp_path):
    written(tmp_path, *ROWS[:1])
    written(tmp_path, *ROWS[1:])
    assert read(tmp_path) == (ROWS, [])


def test_a_log_that_is_not_there_is_empty(tmp_path):
    assert read(tmp_path) == ([], [])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_log_cut_anywhere_opens_as_a_prefix(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    written(folder, *ROWS)
    whole = (folder / NAME).read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    (folder / NAME).write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")
    torn = whole[:cut].rpartition(b"\n")[2]
    written(folder, ROWS[0])
    events, problems = read(folder)
    healed = [event for event in events if isinstance(event, Healed)]
    assert [event for event in events if not isinstance(event, Healed)] == [*ROWS[:kept], ROWS[0]]
    assert problems == []
    assert [(event.offset, event.size_bytes) for event in healed] == ([(cut - len(torn), len(torn))] if torn else [])
    assert [(folder / event.kept_in).read_bytes() for event in healed] == ([torn] if torn else [])


def test_a_torn_tail_longer_than_any_block_is_found(tmp_path):
    written(tmp_path, ROWS[0])
    with (tmp_path / NAME).open("ab") as file:
        file.write(b"x" * 200_000)
    written(tmp_path)
    events, problems = read(tmp_path)
    assert (len(events), events[1].size_bytes, problems) == (2, 200_000, [])


def test_a_damaged_line_in_the_middle_is_named_and_the_rest_is_read(tmp_path):
    written(tmp_path, ROWS[0])
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"type": "attempt", broken}\n')
    written(tmp_path, ROWS[1])
    events, problems = read(tmp_path)
    assert events == ROWS[:2]
    assert len(problems) == 1
    assert f"{NAME} line 2" in problems[0]


def test_a_row_that_is_still_being_written_is_not_read(tmp_path):
    written(tmp_path, ROWS[0])
    with (tmp_path / NAME).open("ab") as file:
        file.write(msgspec.json.encode(ROWS[1]))
    assert read(tmp_path) == (ROWS[:1], [])


def test_a_short_write_is_carried_on(tmp_path):
    with opened(tmp_path, write=lambda descriptor, data: os.write(descriptor, data[:7])) as log:
        log.append(ROWS[0])
    assert read(tmp_path) == (ROWS[:1], [])


@pytest.mark.parametrize("number", range(4))
def test_a_write_that_fails_leaves_the_log_as_it_was_and_closes_it(tmp_path, number):
    written(tmp_path, ROWS[0])
    before = (tmp_path / NAME).read_bytes()
    calls = []

    def failing(descriptor: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(descriptor, data[:5])

    with opened(tmp_path, write=failing) as log:
        with pytest.raises(FolderUnusable, match="no space left on device"):
            log.append(ROWS[1])
        with pytest.raises(FolderUnusable, match="an earlier row could not be written"):
            log.append(ROWS[1])
    assert (tmp_path / NAME).read_bytes() == before


def test_two_writers_never_share_a_log(tmp_path):
    with opened(tmp_path), pytest.raises(FolderLocked), opened(tmp_path):
        pass


def soon(log, *batches):
    async def go():
        return await asyncio.gather(*(log.append_soon(*batch) for batch in batches), return_exceptions=True)

    return asyncio.run(go())


def test_rows_that_come_together_are_acknowledged_when_durable_and_stand_in_order(tmp_path):
    syncs = []

    def write(descriptor, data):
        syncs.append(data.count(b"\n"))
        return os.write(descriptor, data)

    with opened(tmp_path, write=write) as log:
        assert soon(log, *([row] for row in ROWS), ROWS, []) == [None] * 5
    assert read(tmp_path) == (ROWS * 2, [])
    assert (sum(syncs), len(syncs)) == (6, 2)


def test_a_batch_that_cannot_be_written_is_acknowledged_to_nobody(tmp_path):
    written(tmp_path, ROWS[0])

    def full(descriptor, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(tmp_path, write=full) as log:
        ends = soon(log, [ROWS[1]], [ROWS[2]], [ROWS[0]])
        with pytest.raises(FolderUnusable, match="an earlier row"):
            log.append(ROWS[1])
    assert [type(end) for end in ends] == [FolderUnusable] * 3
    assert read(tmp_path) == (ROWS[:1], [])


def test_rows_of_those_who_were_cancelled_are_written_before_the_log_is_closed(tmp_path):
    async def cancelled(log):
        tasks = [asyncio.create_task(log.append_soon(row)) for row in ROWS]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with opened(tmp_path) as log:
        asyncio.run(cancelled(log))
    assert read(tmp_path) == (ROWS, [])


def test_an_append_beside_a_batch_leaves_whole_lines(tmp_path):
    async def both(log):
        task = asyncio.gather(*(log.append_soon(row) for row in ROWS * 20))
        for row in ROWS * 20:
            log.append(row)
            await asyncio.sleep(0)
        await task

    with opened(tmp_path) as log:
        asyncio.run(both(log))
    events, problems = read(tmp_path)
    assert (len(events), problems) == (120, [])
