import made
import pytest

from crucibleforge.chat import Dialogue, Message
from crucibleforge.errors import InputError
from crucibleforge.run.budget import Budget, Ledger, check, most_usd
from crucibleforge.types import Price, Thinking

CASES = [made.case(f"math/sum/L1.{n}") for n in range(1, 4)]
ALL = {case.id: case for case in CASES}
PLAIN = Thinking("off")
PRICED = made.target(price=Price(0.0, 1000.0), thinking=PLAIN)  # 0.10 a case at most


def ledger(target=PRICED, clock=lambda: 0.0, **limits):
    return Ledger(Budget(**limits), made.plan(CASES, target), ALL, clock)


def job(case):
    return made.attempt(case).job


def test_without_limits_there_is_always_room():
    book = ledger()
    assert (book.has_room(PRICED, CASES[0]), book.is_time_over, book.cut_s) == (True, False, None)


def test_what_is_in_flight_counts_at_its_worst_and_what_has_ended_at_what_it_cost():
    book = ledger(max_cost_usd=0.25)
    book.begin(PRICED, job(CASES[0]))
    assert book.has_room(PRICED, CASES[1])
    book.begin(PRICED, job(CASES[1]))
    assert not book.has_room(PRICED, CASES[2])
    book.book(made.attempt(CASES[0], cost_usd=0.01))
    assert not book.has_room(PRICED, CASES[2]) or book.spent_usd == 0.01
    assert book.has_room(PRICED, CASES[2])


def test_attempts_that_were_asked_again_were_paid_for_all_the_same():
    book = ledger()
    book.read([made.attempt(CASES[0], cost_usd=0.5), made.verdict(CASES[0]), made.attempt(CASES[0], cost_usd=0.25)])
    assert book.spent_usd == 0.75


def test_a_reply_that_nobody_counted_costs_the_most_that_it_can():
    book = ledger()
    book.book(made.attempt(CASES[0]))
    assert book.spent_usd == pytest.approx(0.1)


def test_rows_of_cases_and_targets_that_are_not_in_the_plan_are_passed_over():
    book = ledger()
    book.book(made.attempt(made.case("other/f/L1.1"), cost_usd=1.0))
    book.book(made.attempt(CASES[0], label="other", cost_usd=1.0))
    assert book.spent_usd == 0.0


def test_the_worst_case_holds_every_round_with_all_that_was_said_before():
    dialogue = Dialogue((Message("user", "x" * 20),), 100, turns=("y" * 10,), max_rounds=2)
    case = made.case(dialogue=dialogue)
    prompt, reply = 2 * 30 / 2 + 100, 2 * 100
    assert most_usd(made.target(price=Price(1e6, 0.0)), case, reasons=False) == prompt
    assert most_usd(made.target(price=Price(0.0, 1e6)), case, reasons=False) == reply


def test_a_model_that_reasons_may_use_its_budget_and_two_recoveries():
    price = Price(0.0, 1e6)
    assert most_usd(made.target(price=price), CASES[0], reasons=True) == 400 + 2 * 100
    assert most_usd(made.target(price=price, thinking=Thinking(cap=300)), CASES[0], reasons=True) == 300 + 2 * 100
    spared = made.target(price=price, thinking=Thinking(no_recovery=("math",)))
    assert most_usd(spared, CASES[0], reasons=True) == 400


def test_until_a_model_has_shown_that_it_does_not_reason_it_is_taken_to():
    target = made.target(price=Price(0.0, 1000.0))
    book = ledger(target, max_cost_usd=0.5)
    assert not book.has_room(target, CASES[0])
    book.book(made.attempt(CASES[0], cost_usd=0.02, max_tokens=100))
    assert book.has_room(target, CASES[1])
    book.book(made.attempt(CASES[1], made.reply(reasoning="hm"), cost_usd=0.02, max_tokens=100))
    assert not book.has_room(target, CASES[2])


def test_without_a_price_nothing_is_spent():
    free = made.target(kind="llamacpp", thinking=PLAIN)
    book = ledger(free, max_cost_usd=0.01)
    book.book(made.attempt(CASES[0]))
    assert (book.spent_usd, book.has_room(free, CASES[1])) == (0.0, True)


def test_time_counts_from_the_start_of_this_invocation_and_grace_comes_after_it():
    now = [100.0]
    book = ledger(clock=lambda: now[0], max_minutes=1.0)
    assert (book.is_time_over, book.cut_s) == (False, 65.0)
    now[0] = 160.0
    assert (book.is_time_over, book.cut_s) == (True, 5.0)
    now[0] = 999.0
    assert book.cut_s == 0.0
    assert book.why() == "stopped at the budget of 1 minutes"


def test_why_it_stopped_names_what_was_spent():
    book = ledger(max_cost_usd=0.5)
    book.book(made.attempt(CASES[0], cost_usd=0.468))
    assert book.why() == "stopped at the budget of $0.50: $0.47 spent"


def test_a_limit_on_cost_is_refused_where_no_price_is_known():
    with pytest.raises(InputError, match="max-cost needs a price for 'm'") as caught:
        check(Budget(max_cost_usd=1.0), made.plan(CASES))
    assert "`price`" in caught.value.hint


def test_the_embedded_server_needs_no_price_and_neither_does_a_run_without_limit():
    check(Budget(max_cost_usd=1.0), made.plan(CASES, PRICED, made.target(kind="llamacpp"), made.target(kind="replies")))
    check(Budget(max_minutes=1.0), made.plan(CASES))
