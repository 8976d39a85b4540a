import made
import pytest

from crucibleforge.chat import Usage
from crucibleforge.report.tokens import count_notes, spent
from crucibleforge.types import Price, Recovery

CASE = made.case()
PRICE = Price(1, 2, "the price list")


def attempt(*usages, **fields):
    return made.attempt(CASE, *(made.reply(usage=usage) for usage in usages), **fields)


def test_every_count_is_summed():
    found = spent([attempt(Usage(10, 20, 5, 4), Usage(1, 2, 1, 1)), attempt(Usage(100, 200, 0, 0))], PRICE)
    counts = (found.replies, found.prompt_tokens, found.cached_tokens, found.completion_tokens, found.reasoning_tokens)
    assert (*counts, found.uncounted, found.price) == (3, 111, 5, 222, 6, 0, PRICE)


def test_replies_that_were_lost_to_reasoning_are_billed():
    lost = (made.reply(usage=Usage(10, 100)), made.reply(usage=Usage(11, 100)))
    found = spent([attempt(Usage(12, 5), recoveries=(Recovery(0, "overflow", lost, "no_think"),))], None)
    assert (found.replies, found.prompt_tokens, found.completion_tokens) == (3, 33, 205)


@pytest.mark.parametrize("usage", [Usage(), Usage(10, None), Usage(None, 10)])
def test_a_reply_without_a_count_is_shown(usage):
    found = spent([attempt(usage, Usage(1, 2))], None)
    assert (found.replies, found.uncounted) == (2, 1)
    assert list(count_notes([attempt(usage, Usage(1, 2))])) == ["1 reply without a token count"]


def test_counts_that_nobody_made_are_unknown_and_not_nought():
    found = spent([attempt(Usage(10, 20))], None)
    assert (found.cached_tokens, found.reasoning_tokens) == (None, None)


def test_reasoning_is_unknown_when_one_reply_that_reasons_was_not_counted():
    uncounted = made.reply(reasoning="hm", usage=Usage(10, 20))
    found = spent([attempt(Usage(10, 20, 5)), made.attempt(CASE, uncounted)], None)
    assert found.reasoning_tokens is None


@pytest.mark.parametrize(("costs", "sum_"), [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None)])
def test_a_cost_is_known_only_when_all_of_it_is(costs, sum_):
    assert spent([attempt(Usage(1, 2), cost_usd=cost) for cost in costs], PRICE).cost_usd == sum_


def test_a_failure_without_a_reply_costs_nothing_and_one_after_a_reply_its_reply():
    failed = made.failed(CASE)
    late = made.failed(CASE, replies=(made.reply(),), cost_usd=0.5)
    assert spent([attempt(Usage(1, 2), cost_usd=0.5), failed, late], PRICE).cost_usd == 1.0
    assert spent([failed], PRICE).cost_usd is None


def test_a_call_that_the_server_could_not_parse_is_an_error_and_nobody_bills_it():
    broken = made.reply(finish="malformed", usage=Usage())
    found = spent([made.attempt(CASE, broken, cost_usd=0.0)], PRICE)
    assert (found.replies, found.uncounted, found.cost_usd) == (0, 0, 0.0)


def test_who_counted_is_noted_unless_it_was_the_usage():
    timings, usage = Usage(1, 2, source="timings"), Usage(1, 2, source="usage")
    assert list(count_notes([attempt(timings, timings)])) == ["tokens counted by timings"]
    assert list(count_notes([attempt(timings, timings, usage)])) == ["tokens of 2 replies counted by timings"]
    assert list(count_notes([attempt(usage)])) == []


def test_doubts_are_noted_with_how_many_replies_they_are_about():
    doubtful = Usage(1, 2, source="usage", doubts=("one short of the limit",))
    assert list(count_notes([attempt(doubtful, doubtful, doubtful)])) == ["usage one short of the limit in 3 replies"]
