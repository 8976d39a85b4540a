from pathlib import Path

import msgspec
import pytest

from crucibleforge.cli._board import gather, weights, write
from crucibleforge.config import Config, Scoring
from crucibleforge.errors import FolderUnusable, UnknownName, boundary
from crucibleforge.report.scorecard import Board


def test_a_folder_without_runs_has_an_empty_board():
    assert gather(Path("none"), Config()).cards == ()


def test_what_is_half_made_is_no_run():
    Path("results/runs/.new-abc").mkdir(parents=True)
    Path("results/runs/.new-abc/plan.json").write_text("{")
    Path("results/runs/empty").mkdir()
    Path("results/runs/note.txt").write_text("")
    assert gather(Path("results"), Config()).cards == ()


def test_the_report_is_written_whole_and_twice_the_same():
    made = Board("2026-01-01T00:00:00Z", "r", ())
    write(made, Path("results"))
    first = Path("results/report.json").read_bytes()
    write(made, Path("results"))
    assert Path("results/report.json").read_bytes() == first
    assert msgspec.json.decode(first, type=Board) == made
    assert sorted(path.name for path in Path("results").iterdir()) == ["report.json", "report.md"]


def test_a_report_that_cannot_be_written_is_a_named_error():
    with pytest.raises(FolderUnusable), boundary():
        write(Board("", "", ()), Path("/dev/null/x"))


def test_weights_are_those_of_categories():
    assert weights(Config(scoring=Scoring({"math": 0.0}))) == {"math": 0.0}
    with pytest.raises(UnknownName, match=r"unknown category in scoring\.weights 'maths'"):
        weights(Config(scoring=Scoring({"maths": 1.0})))
