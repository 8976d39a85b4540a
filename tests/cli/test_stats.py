import json
from pathlib import Path

import made
import pytest

from crucibleforge.cli._screen import table
from crucibleforge.cli._stats import _HEADER, _cells, _reading, stats
from crucibleforge.report.difficulty import Difficulty, Miss, ToRead
from crucibleforge.report.scorecard import Rate
from crucibleforge.store import folder
from crucibleforge.store.log import opened

DRAWN = [made.case(f"math/f/L3.{n}", hash=f"h{n}") for n in (1, 2)]
RUNG = Difficulty(
    family="math/f",
    rung="L3",
    models=3,
    items=2,
    rows=6,
    rate=Rate(3, 6, 0.19, 0.81),
    truncated=1 / 6,
    unparsed=0.0,
    discrimination=0.5,
    discriminating=2,
    flag="",
    label="hard",
    basis="structural",
)


@pytest.fixture
def ran():
    """A run of a fresh form, whose questions count as they are."""
    run = folder.create(Path("results"), made.plan(DRAWN, made.target("a"), form="some-key"), DRAWN)
    with opened(run.folder) as log:
        for case, outcome in zip(DRAWN, ("pass", "fail"), strict=True):
            log.append(made.attempt(case, label="a"))
            log.append(made.verdict(case, outcome, "a"))
    return run


def test_a_line_of_the_table_has_its_n_everywhere():
    assert _cells(RUNG) == [
        "math/f", "L3", "3", "2", "50% (3/6)", "19% to 81%", "17% (1/6)", "none", "+0.50 (n=2)", "-", "hard (structural)",
    ]  # fmt: skip
    assert len(_HEADER) == len(_cells(RUNG))


def test_what_is_to_be_read_stands_with_its_answer_and_what_the_model_can_do():
    one = ToRead("math/f/L3.1", "h1", "42", (Miss("big", 9, 10, "fail", "got 41", "ANSWER: 41"),))
    assert _reading([one]) == "math/f/L3.1 h1  expected 42\n  big (9/10) fail: got 41\n    ANSWER: 41"
    assert _reading([]) == "no case was missed by a model that passes most of its category"


@pytest.mark.slow
def test_stats_count_models_rows_and_rungs(ran):
    found = stats([ran])
    assert (found.models, found.rows, found.stale, found.review) == (("a",), 2, 0, ())
    assert [(one.family, one.rung, one.rows) for one in found.rungs] == [("math/f", "L3", 2)]


@pytest.mark.slow
def test_the_command_prints_the_table_and_what_it_rests_on(crucible, ran):
    ended = crucible("cases", "stats")
    assert ended.code == 0
    assert ended.out == table(_HEADER, [_cells(stats([ran]).rungs[0])]) + "\n"
    assert ended.err == (
        "2 rows of 1 models: a; labels say what models find from 6 models on, discrimination needs 3\n"
    )
    named = crucible("cases", "stats", str(ran.folder), "--json")
    assert (json.loads(named.out)["rows"], named.err) == (2, "")


def test_without_runs_there_is_nothing_to_say(crucible):
    ended = crucible("cases", "stats")
    assert (ended.code, ended.err) == (2, "error: no runs in results\nhint: `crucibleforge run` makes one\n")
