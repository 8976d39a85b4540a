from pathlib import Path

import made
import msgspec
import pytest

from crucibleforge.cli._board import gather, weights, write
from crucibleforge.config import Config, Scoring
from crucibleforge.errors import FolderUnusable, UnknownName, boundary
from crucibleforge.report.scorecard import Board
from crucibleforge.store import folder
from crucibleforge.store.log import opened
from crucibleforge.suite.expand import scored, suite


def test_a_folder_without_runs_has_an_empty_board():
    assert gather(Path("none"), Config()).cards == ()


def kept(cases, outcome, **fields):
    run = folder.create(Path("results"), made.plan(cases, **fields), cases)
    with opened(run.folder) as log:
        for case in cases:
            log.append(made.attempt(case))
            log.append(made.verdict(case, outcome))


def test_another_form_stands_after_the_canonical_one_and_counts_for_itself():
    case = next(case for case in suite() if case.level == "easy")
    other = msgspec.structs.replace(case, hash="another question")
    kept([other], "fail", id="20250101T000000000Z-m-0", key="0", form="some-key")
    kept([case], "pass", id="20250102T000000000Z-m-1", key="1")
    one, two = gather(Path("results"), Config()).cards
    assert (one.label, two.label) == ("m", "m [form some-key]")
    rates = [next(score.rate for score in card.categories if score.name == case.category) for card in (one, two)]
    assert [(rate.passed, rate.total) for rate in rates] == [(1, 1), (0, 1)]
    assert not any("older suite" in note for card in (one, two) for note in card.notes)


def test_a_folder_with_nothing_but_another_form_shows_it():
    kept([msgspec.structs.replace(scored(suite())[0], hash="another question")], "pass", form="some-key")
    board = gather(Path("results"), Config())
    assert ([card.label for card in board.cards], board.revision) == (["m [form some-key]"], "1.0.0+00000000")


def test_the_reserve_is_on_the_board_and_in_no_count():
    reserve = next(case for case in suite() if case.level == "reserve")
    kept([reserve], "pass")
    (card,) = gather(Path("results"), Config()).cards
    assert (card.overall, card.settled, card.planned) == (None, 0, len(scored(suite())))
    assert "reserve: 1 of 1 passed, not counted" in card.notes


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
