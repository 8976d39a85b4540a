"""What the client measures of a real server, against that server's own counts and durations."""

import asyncio

import msgspec
import pytest

from crucibleforge.bench.protocol import Planned, further, request
from crucibleforge.config import builtin_target
from crucibleforge.providers import llamacpp
from crucibleforge.speed.crosscheck import crosscheck
from crucibleforge.speed.load import load
from crucibleforge.speed.sample import sample

SLOTS, STREAMS = 2, 4


async def measured(path):
    """Replies one by one, a conversation and its next turn, and one request of each of four streams."""
    target = msgspec.structs.replace(builtin_target(), path=str(path), concurrency=SLOTS)
    async with llamacpp.PROVIDER.open(target) as session:

        async def ask(asked):
            return sample(await session.ask(asked))

        cell = Planned("medium_200", "length", 1, 2, 48)
        alone = [await ask(request(cell, "t", number)) for number in range(2)]
        first = request(Planned("cached 300", "cached", 1, 1, 16, 100, 300), "t", 0)
        talk = [await ask(first)]
        talk.append(await ask(further(first, talk[0].reply.text)))
        busy = Planned("load 4", "load", 1, 1, 32, 200, streams=STREAMS)
        return alone, talk, await asyncio.gather(*(ask(request(busy, "t", number)) for number in range(STREAMS)))


@pytest.fixture(scope="module")
def found(builtin_gguf):
    with pytest.MonkeyPatch.context() as patch:
        # Threads that spin for a core which another process has make a shared machine a hundred times slower.
        patch.setenv("OMP_WAIT_POLICY", "PASSIVE")
        return asyncio.run(measured(builtin_gguf))


@pytest.mark.slow
def test_decode_is_within_1_percent_and_counts_are_equal(found):
    checks = {check.what: check for check in crosscheck(found[0])}
    assert abs(checks["decode"].difference) <= 0.01
    assert checks["prompt tokens"].difference == 0
    assert checks["first token"].agrees
    assert [one.tokens for one in found[0]] == [48, 48]


@pytest.mark.slow
def test_22_the_next_turn_of_a_conversation_is_found_in_the_cache_and_a_new_prompt_is_not(found):
    alone, talk, _ = found
    assert talk[1].cached_share > 0.8
    assert talk[1].is_warm
    assert not any(one.is_warm for one in (*alone, talk[0]))
    assert talk[1].ttft_any_s < talk[0].ttft_any_s


@pytest.mark.slow
def test_21_four_requests_on_two_slots_show_a_queue(found):
    alone, _, together = found
    one = load([[alone[0]]])
    row = load([[taken] for taken in together], one)
    waits = sorted(taken.wait_s for taken in together)
    assert row.failures == 0
    # Two were served at once; the other two waited for a whole reply, and got no headers before.
    assert waits[2] > 2 * waits[1]
    assert sorted(taken.headers_s for taken in together)[2] > waits[1]
    assert row.queue_s > 0
