import endpoint
import oracle
import pytest

from crucibleforge.cli._carry import Done, conclude
from crucibleforge.suite.expand import suite

FEW = next(case.family for case in suite() if not (case.needs.sandbox or case.needs.tools))
COUNT = sum(case.family == FEW for case in suite())


def done(**fields):
    return Done(**{"run": "r", "rows": 3, "settled": 3, "passed": 1, "unfinished": {}} | fields)


def test_a_finished_run_ends_well_and_says_nothing(capsys):
    assert conclude(done()) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fields", [{"settled": 2}, {"unfinished": {"m": "gone"}}])
def test_an_unfinished_one_does_not(fields, capsys):
    assert conclude(done(**fields)) == 1
    assert capsys.readouterr().err


def test_a_run_stops_at_its_budget_says_so_and_goes_on_with_a_larger_one(crucible, configure, oracle_endpoint):
    config = configure(oracle_endpoint.url)
    config.write_text(config.read_text().replace("thinking: false", "thinking: false, price: {input: 0, output: 1000}"))
    ended = crucible("run", "--cases", FEW, "--max-cost", "0.35")
    asked = len(oracle_endpoint.requests)
    assert ended.code == 1
    assert 0 < asked < COUNT
    assert "[fake] not finished: stopped at the budget of $0.35: $" in ended.err
    again = crucible("run", "--cases", FEW, "--max-cost", "100")
    assert (again.code, len(oracle_endpoint.requests)) == (0, COUNT)


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
