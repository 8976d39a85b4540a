import asyncio
import gc
from time import perf_counter

from crucibleforge.bench._lag import watched


def seen(work):
    async def watch():
        async with watched() as lag:
            frozen = gc.get_freeze_count()
            await work()
            return lag.client(), frozen

    return asyncio.run(watch())


async def idle():
    await asyncio.sleep(0.1)


async def busy():
    await asyncio.sleep(0)
    until_s = perf_counter() + 0.1
    while perf_counter() < until_s:
        pass
    await asyncio.sleep(0.03)


def test_a_loop_that_is_held_up_is_seen():
    client, _ = seen(busy)
    assert client.is_limited
    assert client.lag_p99_s > 0.05


def test_probes_are_taken_and_stop_with_the_context():
    client, frozen = seen(idle)
    assert 1 <= client.probes <= 5
    assert frozen > 0
    assert gc.get_freeze_count() == 0
