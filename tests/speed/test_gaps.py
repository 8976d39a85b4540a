import asyncio

import endpoint
import made
import pytest
import timed

from crucibleforge.chat import Message, Request
from crucibleforge.providers.openai import PROVIDER
from crucibleforge.speed.gaps import gaps


def bursts(pause_s, sizes, event_bytes=200):
    """Moments and reads of events that come in bursts of so many, 0.05 ms apart."""
    stamps = [0.1 + pause_s * turn + 0.00005 * at for turn, size in enumerate(sizes) for at in range(size)]
    return stamps, [(stamp, event_bytes) for stamp in stamps]


def found(stamps, reads=None, **fields):
    return gaps([timed.replied(stamps, reads=reads, **fields)])


def test_tokens_one_by_one_are_steady():
    seen = found(timed.every(0.01, 64))
    assert (seen.pattern, seen.tokens_per_event, seen.tiny_share, seen.shared_share, seen.events) == ("steady", 1.0, 0.0, 0.0, 64)
    assert seen.cv == pytest.approx(0.0, abs=1e-6)


def test_18_a_model_of_25_tokens_a_second_is_no_comb():
    seen = found(timed.every(0.04, 64))
    assert (seen.pattern, seen.ack_share) == ("steady", 1.0)


def test_18_bursts_40_ms_apart_are_nagles():
    assert found(*bursts(0.04, [3, 4] * 10)).pattern == "Nagle"


def test_17_bursts_of_one_size_with_pauses_are_a_proxys_buffer():
    seen = found(*bursts(0.11, [10, 11] * 6))
    assert (seen.pattern, 2000 <= seen.burst_bytes <= 2200, seen.tiny_share > 0.8) == ("buffering proxy", True, True)


def test_bursts_of_a_server_that_guesses_ahead_are_speculation():
    timings = timed.stated(draft_n=100, draft_n_accepted=70)
    seen = found(*bursts(0.03, [1, 4, 3, 2, 4, 1, 3, 4]), timings=timings)
    assert (seen.pattern, seen.accepted_share) == ("speculation", 0.7)


def test_07_several_tokens_an_event_are_told():
    assert found(timed.every(0.03, 22), tokens=44).pattern == "several tokens an event"
    assert found(timed.every(0.03, 22), tokens=44, timings=timed.stated(draft_n=9)).pattern == "speculation"


def test_uneven_bursts_for_no_known_reason_are_bursts():
    assert found(*bursts(0.03, [1, 4, 3, 2, 4, 1, 3, 4])).pattern == "bursts"


def test_15_events_of_one_read_share_its_stamp():
    stamps = [0.1 + 0.01 * (at // 2) for at in range(40)]
    assert found(stamps).shared_share == 1.0


@pytest.mark.parametrize("count", [0, 1, 15])
def test_few_events_show_no_pattern(count):
    assert found(timed.every(0.01, count)).pattern == "unknown"


def test_replies_that_nobody_traced_show_nothing():
    assert gaps([]).pattern == "unknown"


def asked(answer):
    """The rhythm of a reply that comes over a real socket."""

    async def ask(url):
        async with PROVIDER.open(made.target(base_url=url, model_id="fake")) as session:
            return await session.ask(Request((Message("user", "q"),), (), 128, is_traced=True))

    with endpoint.serving(answer) as server:
        return gaps([asyncio.run(ask(server.url))])


def words(count):
    return endpoint.chat([{"content": "x" * 120}] * count, "length", count, "fake")


@pytest.mark.slow
def test_17_a_proxy_that_holds_2_kib_is_found_out_over_a_socket():
    seen = asked(lambda _: endpoint.held(words(80), size_bytes=2048, delay_s=0.004))
    assert (seen.pattern, 2048 <= seen.burst_bytes < 2600) == ("buffering proxy", True)


@pytest.mark.slow
def test_18_a_comb_of_40_ms_is_found_out_over_a_socket():
    # A machine that is busy blurs the teeth; it does not make any.
    seen = [asked(lambda _: endpoint.combed(words(60), 4)).pattern for _ in range(3)]
    assert "Nagle" in seen
    assert set(seen) <= {"Nagle", "bursts"}


def test_a_plain_stream_over_a_socket_is_neither():
    seen = [asked(lambda _: endpoint.stream(words(24), delay_s=0.004)).pattern for _ in range(2)]
    assert "steady" in seen
