import made
import msgspec
import pytest

from crucibleforge.errors import FolderUnusable
from crucibleforge.store import folder

CASE = made.case()


def test_a_run_is_found_again_by_its_key_and_is_what_was_planned(tmp_path):
    plan = made.plan([CASE])
    run = folder.create(tmp_path, plan, [CASE])
    found = folder.find(tmp_path, plan.key)
    assert (found, found.plan, found.cases) == (run, plan, {CASE.id: CASE})
    assert folder.find(tmp_path, "00000000") is None


def test_the_newest_of_several_is_found(tmp_path):
    for day in (1, 3, 2):
        folder.create(tmp_path, made.plan([CASE], id=f"2026010{day}T0-m-abcd1234"), [CASE])
    assert folder.find(tmp_path, "abcd1234").plan.id == "20260103T0-m-abcd1234"


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(TypeError):
        folder.create(tmp_path, made.plan([CASE]), [CASE, object()])
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_half_made_folder_of_a_killed_process_is_no_run(tmp_path):
    (tmp_path / "runs" / ".new-x").mkdir(parents=True)
    assert list(folder.all_runs(tmp_path)) == []


def test_a_discarded_run_is_gone(tmp_path):
    folder.discard(folder.create(tmp_path, made.plan([CASE]), [CASE]))
    assert list(folder.all_runs(tmp_path)) == []


def test_what_is_no_run_folder_is_said_in_one_line(tmp_path):
    with pytest.raises(FolderUnusable, match="is no run folder"):
        folder.load(tmp_path)


@pytest.mark.parametrize("name", [folder.PLAN, folder.CASES])
def test_a_damaged_file_is_said_in_one_line(tmp_path, name):
    run = folder.create(tmp_path, made.plan([CASE]), [CASE])
    (run.folder / name).write_bytes(b"{")
    with pytest.raises(FolderUnusable):
        folder.load(run.folder)


def test_a_case_that_was_taken_out_is_said_in_one_line(tmp_path):
    run = folder.create(tmp_path, made.plan([CASE]), [CASE])
    (run.folder / folder.CASES).write_bytes(b"")
    with pytest.raises(FolderUnusable, match=f"cases.jsonl lacks {CASE.id}"):
        folder.load(run.folder)


def test_an_id_sorts_by_time_and_is_safe_as_a_name():
    made_id = folder.run_id("2026-01-02T03:04:05.678Z", ["a/../b c"], "abcd1234")
    assert made_id == "20260102T030405678Z-a-..-b-c-abcd1234"
    assert folder.run_id("2026-01-02T03:04:05.678Z", ["a", "b"], "k").endswith("-a+1-k")


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path):
    for text in (b"one", b"two"):
        folder.write_atomically(tmp_path / "new" / "f", text)
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "new").iterdir()] == [("f", b"two")]


def test_plan_json_is_read_by_people_too(tmp_path):
    run = folder.create(tmp_path, made.plan([CASE]), [CASE])
    assert '\n  "key": "abcd1234"' in (run.folder / folder.PLAN).read_text()
    assert msgspec.json.decode((run.folder / folder.PLAN).read_bytes())["v"] == 1
