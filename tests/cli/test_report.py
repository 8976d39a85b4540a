import json
from pathlib import Path

import endpoint
import oracle
import pytest

from crucibleforge.suite.expand import scored, suite

FAMILY = "math/mod-ladder"
COUNTED = [case for case in scored(suite()) if case.family == FAMILY]


@pytest.fixture
def ran(crucible, configure):
    with endpoint.serving(oracle.answers(lambda case: case.level == "hard")) as server:
        configure(server.url)
        assert crucible("run", "--cases", FAMILY).code == 0


def test_report_prints_the_board_and_writes_both_files(crucible, ran):
    ended = crucible("report")
    assert ended.code == 0
    assert ended.out.splitlines()[-1].split()[:3] == ["-", "fake", "-"]
    assert ended.err == (
        "wrote results/report.md and results/report.json: categories with intervals, every failure with its reason\n"
    )
    assert sorted(path.name for path in Path("results").iterdir()) == [".lock", "report.json", "report.md", "runs"]


def test_every_failure_stands_in_the_report_with_its_reason(crucible, ran):
    crucible("report")
    lines = Path("results/report.md").read_text().split("## Failures")[1].splitlines()
    wrong = [case.id for case in COUNTED if case.level == "hard"]
    assert [line.split(":")[0] for line in lines if line.startswith("- ")] == [f"- {name}" for name in wrong]
    assert all(line.split(": ", 1)[1] for line in lines if line.startswith("- "))


def test_report_as_json_is_what_it_writes(crucible, ran):
    ended = crucible("report", "--json")
    assert (ended.code, ended.err) == (0, "")
    board = json.loads(ended.out)
    assert board == json.loads(Path("results/report.json").read_text())
    (card,) = board["cards"]
    assert (card["settled"], card["planned"], card["overall"]) == (len(COUNTED), len(scored(suite())), None)
    assert {score["name"] for score in card["categories"]} == {case.category for case in suite()}


def test_report_needs_no_server_and_no_configuration(crucible, ran):
    Path("models.yaml").unlink()
    assert crucible("report").code == 0


@pytest.mark.parametrize(
    "words", [[], ["--results", "none"], ["--results", "models.yaml"], ["--results", "/dev/null/x"]]
)
def test_without_results_there_is_nothing_to_report(crucible, configure, words):
    configure("http://h/v1")
    ended = crucible("report", *words)
    place = words[-1] if words else "results"
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"error: no results in {place}\nhint: `crucibleforge all` makes some\n"
    assert not Path("results").exists()


def test_a_weight_of_nought_is_shown_and_not_counted(crucible, ran):
    category = FAMILY.split("/", maxsplit=1)[0]
    path = Path("models.yaml")
    path.write_text(path.read_text() + f"scoring: {{weights: {{{category}: 0}}}}\n")
    (card,) = json.loads(crucible("report", "--json").out)["cards"]
    assert [score["name"] for score in card["categories"] if score["weight"] == 0] == [category]
