import json
from pathlib import Path

import pytest
from recorded import record

from crucibleforge.bench.place import named, written
from crucibleforge.errors import FolderUnusable, boundary


def test_a_file_is_named_after_model_and_day(tmp_path):
    path = written(record(), tmp_path / "deep", "2026-11-29")
    assert path == tmp_path / "deep" / "fake-2026-11-29.json"
    assert json.loads(path.read_bytes())["subject"]["label"] == "fake"


def test_a_second_run_of_a_day_gets_a_suffix_and_nothing_is_overwritten(tmp_path):
    paths = [written(record(), tmp_path, "2026-11-29") for _ in range(3)]
    assert [path.name for path in paths] == ["fake-2026-11-29.json", "fake-2026-11-29-2.json", "fake-2026-11-29-3.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)


def test_a_file_that_is_named_is_not_overwritten_either(tmp_path):
    wanted = tmp_path / "mine.json"
    wanted.write_text("mine")
    assert written(record(), wanted, "2026-11-29") == tmp_path / "mine-2.json"
    assert wanted.read_text() == "mine"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Qwen/Qwen3-8B", "qwen-qwen3-8b-d.json"),
        ("../../etc/passwd", "etc-passwd-d.json"),
        ("llama3.2:1b", "llama3.2-1b-d.json"),
        ("\x1b[2J日本", "2j-d.json"),
        ("...", "model-d.json"),
        ("x" * 300, f"{'x' * 80}-d.json"),
    ],
)
def test_no_label_leaves_the_folder_or_breaks_a_file_system(label, name):
    assert named(label, "d") == name


def test_a_folder_that_cannot_be_made_is_one_line():
    with pytest.raises(FolderUnusable), boundary():
        written(record(), Path("/proc/nowhere"), "2026-11-29")
