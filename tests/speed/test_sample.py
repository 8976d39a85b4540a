import asyncio
from itertools import count

import endpoint
import made
import msgspec
import pytest
import timed

from crucibleforge.chat import Message, Reply, Request, Timing, Usage
from crucibleforge.providers.openai import PROVIDER
from crucibleforge.speed.sample import Sample, failed, sample
from crucibleforge.stats.rates import decode_rate


def test_a_rate_stands_beside_its_rule():
    found = sample(timed.replied(timed.every(0.01, 64)))
    assert (found.decode.per_s, found.decode.rule) == (pytest.approx(100.0), "(N - n1) / t = (64 - 1) / 0.630 s; N by usage, n1 the first event's, taken as 1")
    assert found.decode.per_s == decode_rate(found.reply)
    assert (found.tpot_s, found.e2e_per_s) == (pytest.approx(0.01), pytest.approx(64 / 0.73))


def test_08_tokens_of_the_first_event_are_no_part_of_the_rate():
    found = sample(timed.replied(timed.every(0.01, 21), tokens=25, n1=5))
    assert (found.decode.per_s, "taken as 1" in found.decode.rule) == (pytest.approx(100.0), False)


@pytest.mark.parametrize(("count", "gap_s"), [(15, 0.1), (40, 0.001)])
def test_too_few_tokens_or_too_short_a_time_give_no_rate(count, gap_s):
    assert sample(timed.replied(timed.every(gap_s, count))).decode is None


def test_09_without_a_count_there_is_no_rate_and_a_doubt():
    reply = timed.replied(timed.every(0.01, 40))
    found = sample(msgspec.structs.replace(reply, usage=Usage()))
    assert (found.decode, found.tokens, found.count_source, found.e2e_per_s) == (None, None, "none", None)
    assert found.doubts == ("the server counted no tokens: no rate",)


def test_07_several_tokens_an_event_are_doubted_where_the_first_is_not_counted():
    assert sample(timed.replied(timed.every(0.03, 11), tokens=33)).doubts == ("several tokens an event, and the first event's are not known",)
    assert sample(timed.replied(timed.every(0.03, 11), tokens=33, n1=3)).doubts == ()


def test_reasoning_and_content_have_first_tokens_and_rates_of_their_own():
    stamps = timed.every(0.01, 40) + timed.every(0.02, 40, first_s=0.8)
    found = sample(timed.replied(stamps, thought_s=0.1, spoke_s=0.8, thoughts=40))
    assert (found.ttft_any_s, found.ttft_reasoning_s, found.ttft_content_s) == (0.1, 0.1, 0.8)
    assert (found.reasoning.per_s, found.content.per_s) == (pytest.approx(100.0), pytest.approx(50.0))


@pytest.mark.parametrize("thoughts", [31, 50, None])
def test_short_or_uncounted_parts_have_no_rate_of_their_own(thoughts):
    stamps = timed.every(0.01, 80)
    found = sample(timed.replied(stamps, thought_s=0.1, spoke_s=stamps[40], thoughts=thoughts))
    assert (found.reasoning, found.content) == (None, None)


def test_06_reasoning_alone_leaves_the_first_content_absent_and_not_0():
    found = sample(timed.replied(timed.every(0.01, 40), thought_s=0.1, spoke_s=None))
    assert (found.ttft_any_s, found.ttft_content_s, found.is_whole) == (0.1, None, True)


@pytest.mark.parametrize(("cached", "is_warm"), [(37, False), (38, True), (0, False), (None, False)])
def test_22_a_prompt_is_warm_above_2_percent_and_32_tokens_of_cache(cached, is_warm):
    found = sample(timed.replied(timed.every(0.01, 20), prompt=260, cached=cached))
    assert (found.is_warm, found.cached_tokens) == (is_warm, cached)
    assert found.cached_share == (None if cached is None else pytest.approx(cached / 260))


def test_22_the_cache_is_known_from_timings_where_usage_does_not_say():
    found = sample(timed.replied(timed.every(0.01, 20), prompt=332, timings=timed.stated(prompt_n=1, cache_n=331)))
    assert (found.cached_tokens, found.is_warm, found.fresh_tokens) == (331, True, 1)


def test_29_ollama_that_does_not_say_what_was_cached_is_not_taken_for_cold():
    unsaid = timed.stated(source="ollama")
    assert sample(timed.replied(timed.every(0.01, 20), timings=unsaid)).cached_tokens is None
    told = timed.stated(source="ollama", prompt_n=10, cache_n=40)
    assert sample(timed.replied(timed.every(0.01, 20), timings=told)).cached_tokens == 40


def test_21_what_the_server_did_not_read_in_was_waiting():
    found = sample(timed.replied(timed.every(0.01, 20, first_s=2.07), headers_s=2.04, timings=timed.stated(prompt_ms=30.0)))
    assert (found.wait_s, found.headers_s) == (pytest.approx(2.04), 2.04)


def test_20_loading_is_no_waiting():
    found = sample(timed.replied(timed.every(0.01, 20, first_s=3.02), timings=timed.stated(prompt_ms=4.0, load_ms=3000.0, source="ollama")))
    assert found.wait_s == pytest.approx(0.016)


@pytest.mark.parametrize("timings", [None, timed.stated(source="lmstudio"), timed.stated(prompt_ms=0.0)])
def test_without_the_servers_own_reading_time_waiting_is_not_known(timings):
    assert sample(timed.replied(timed.every(0.01, 20), timings=timings)).wait_s is None


def test_25_a_reply_without_a_token_is_a_failure():
    found = sample(Reply(text="", finish="stop", usage=Usage(10, 0, source="usage"), timing=Timing(0.5)))
    assert (found.is_whole, found.ttft_any_s, found.failure) == (False, None, "the reply held no token")


def test_19_a_request_that_was_sent_twice_is_marked():
    found = sample(timed.replied(timed.every(0.01, 20), resent=1))
    assert (found.resent, found.doubts) == (1, ())


def test_a_failure_has_no_figures():
    assert failed("timeout: no reply") == Sample(failure="timeout: no reply")


def test_a_sample_survives_being_written():
    found = sample(timed.replied(timed.every(0.01, 64), timings=timed.stated()))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Sample) == found


@pytest.mark.slow
def test_21_four_requests_on_two_slots_show_two_late_headers_over_a_socket():
    turn = count()

    def answer(_):
        if next(turn) >= 2:
            yield endpoint.Wait, 0.3
        timings = {"prompt_n": 10, "prompt_ms": 1.0, "predicted_n": 2, "predicted_ms": 1.0}
        yield from endpoint.stream([*endpoint.chat([{"content": "a"}], "stop", 1, "fake"), {"choices": [], "timings": timings}])

    async def ask(url):
        async with PROVIDER.open(made.target(base_url=url, model_id="fake")) as session:
            request = Request((Message("user", "q"),), (), 8, is_traced=True)
            return [sample(reply) for reply in await asyncio.gather(*(session.ask(request) for _ in range(4)))]

    with endpoint.serving(answer) as server:
        found = asyncio.run(ask(server.url))
    late = [one for one in found if one.headers_s >= 0.299]
    assert len(late) == 2
    assert all(one.wait_s >= one.headers_s - 0.001 for one in late)
    assert min(one.wait_s for one in found) < 0.2
