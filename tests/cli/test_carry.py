import sys

import endpoint
import oracle
import pytest

from crucibleforge.cli._carry import Done, _again, conclude
from crucibleforge.suite.expand import suite

FEW = "math/mod-ladder"
FIRST = next(case for case in suite() if case.family == FEW)


def done(**fields):
    return Done(**{"run": "r", "rows": 3, "settled": 3, "passed": 1, "unfinished": {}} | fields)


def test_a_finished_run_ends_well_and_says_nothing(capsys):
    assert conclude(done()) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fields", [{"settled": 2}, {"unfinished": {"m": "gone"}}])
def test_an_unfinished_one_does_not(fields, capsys):
    assert conclude(done(**fields)) == 1
    assert capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (["run", "--form", "fresh", "--fresh"], "run --form abc"),
        (["run", "--form=fresh", "--models", "fresh"], "run --form=abc --models fresh"),
        (["run", "--cases", "math/*"], "run --cases 'math/*'"),
    ],
)
def test_the_command_that_goes_on_asks_the_same_form(monkeypatch, words, again):
    monkeypatch.setattr(sys, "argv", ["crucibleforge", *words])
    assert _again("abc") == f"crucibleforge {again}"


def test_a_run_stops_at_its_budget_says_so_and_goes_on_with_a_larger_one(crucible, configure, oracle_endpoint):
    config = configure(oracle_endpoint.url)
    config.write_text(config.read_text().replace("thinking: false", "thinking: false, price: {input: 0, output: 1000}"))
    # A request may cost its whole budget, and costs 20 tokens: the second one still fits, the third does not.
    most = f"{FIRST.dialogue.max_tokens / 1000 + 0.03:.2f}"
    words = ("run", "--cases", FIRST.id, "--repeats", "4", "--max-cost")
    ended = crucible(*words, most)
    assert (ended.code, len(oracle_endpoint.requests)) == (1, 2)
    assert f"[fake] not finished: stopped at the budget of ${most}: $0.04 spent" in ended.err
    again = crucible(*words, "100")
    assert (again.code, len(oracle_endpoint.requests)) == (0, 4)


def test_no_time_means_no_request(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("run", "--cases", FEW, "--max-minutes", "0")
    assert (ended.code, len(oracle_endpoint.requests)) == (2, 0)
    assert "stopped at the budget of 0 minutes" in ended.err


def test_a_budget_without_a_price_is_refused(crucible, configure, oracle_endpoint):
    configure(oracle_endpoint.url)
    ended = crucible("run", "--cases", FEW, "--max-cost", "1")
    assert (ended.code, len(oracle_endpoint.requests)) == (2, 0)
    assert ended.err.startswith("error: max-cost needs a price for 'fake'\nhint: ")


def test_what_is_learnt_about_a_server_is_said(crucible, configure):
    right = oracle.answers()

    def picky(request):
        if "seed" in request:
            return endpoint.status(400, {"error": {"message": "unsupported parameter 'seed'"}})
        return right(request)

    with endpoint.serving(picky) as server:
        configure(server.url)
        ended = crucible("all", "--cases", FEW)
    assert ended.code == 0
    assert "[fake] the server refuses seed" in ended.err.splitlines()
