import asyncio

import made
import pytest

from crucibleforge.run.slots import Range, Slots, allowed, is_local
from crucibleforge.types import Served

HOSTED = "https://api.example.com/v1"


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://localhost:1234/v1", True),
        ("http://192.168.1.20:11434/v1", True),
        ("http://10.0.0.3/v1", True),
        ("http://ollama:11434/v1", True),
        ("http://studio.local:1234/v1", True),
        ("http://host.docker.internal:1234/v1", True),
        ("http://8.8.8.8/v1", False),
        (HOSTED, False),
        ("http://localhost.example.com/v1", False),
    ],
)
def test_where_a_server_runs_is_read_from_its_address(url, local):
    assert is_local(made.target(base_url=url)) == local


def test_the_embedded_server_is_local():
    assert is_local(made.target(kind="llamacpp", base_url=""))


@pytest.mark.parametrize(
    ("concurrency", "slots", "expected"),
    [
        (None, None, Range(1, 1)),
        (None, 4, Range(4, 4)),
        (3, None, Range(3, 3)),
        (3, 4, Range(3, 3)),
        (4, 2, Range(2, 2, "2 requests at once, not 4: the server has no more slots")),
        (2, 1, Range(1, 1, "1 request at once, not 2: the server has no more slots")),
    ],
)
def test_a_local_server_gets_what_it_has_slots_for(concurrency, slots, expected):
    assert allowed(made.target(concurrency=concurrency), Served("s", slots=slots)) == expected


def test_a_hosted_server_is_found_out_up_to_the_configured_number():
    assert allowed(made.target(base_url=HOSTED), Served("s")) == Range(1, 8)
    assert allowed(made.target(base_url=HOSTED, concurrency=20), Served("s")) == Range(1, 20)


def run(steps, span=Range(1, 8), accepted_s=60.0):  # noqa: B008 - frozen
    said = []

    async def go():
        slots = Slots(span, said.append, accepted_s)
        await steps(slots)
        return slots.now

    return asyncio.run(go()), said


def window(slots):
    """A full window of requests that go well."""
    held = [slots.take() for _ in range(slots.now)]
    for slot in held:
        with slot:
            slot.accepted()


def test_the_start_is_slow_and_doubles_up_to_the_most():
    seen = []

    async def steps(slots):
        for _ in range(5):
            seen.append(slots.now)
            window(slots)

    assert run(steps) == (8, [])
    assert seen == [1, 2, 4, 8, 8]


def test_after_the_first_refusal_it_grows_one_by_one():
    seen = []

    async def steps(slots):
        for _ in range(3):
            window(slots)
        slots.overloaded()
        for _ in range(3):
            seen.append(slots.now)
            window(slots)

    assert run(steps) == (7, ["4 requests at once after HTTP 429"])
    assert seen == [4, 5, 6]


def test_one_wave_of_refusals_halves_once_and_the_next_wave_again():
    seen = []

    async def steps(slots):
        for _ in range(3):
            window(slots)
        held = [slots.take() for _ in range(8)]
        for _ in range(8):
            slots.overloaded()
        seen.append(slots.now)
        for slot in held:
            slot.__exit__()
        slots.overloaded()

    assert run(steps) == (2, ["4 requests at once after HTTP 429", "2 requests at once after HTTP 429"])
    assert seen == [4]


def test_it_never_falls_below_one_and_never_repeats_itself():
    async def steps(slots):
        window(slots)
        for _ in range(20):
            slots.overloaded()
            window(slots)
            slots.overloaded()

    assert run(steps) == (1, ["1 request at once after HTTP 429"])


def test_a_fixed_number_stays_whatever_happens():
    async def steps(slots):
        window(slots)
        slots.overloaded()

    assert run(steps, Range(3, 3)) == (3, [])


def test_why_the_number_is_not_the_wanted_one_is_told_at_once():
    async def steps(_slots):
        pass

    assert run(steps, Range(2, 2, "2, not 4")) == (2, ["2, not 4"])


def test_a_long_request_that_was_not_refused_counts_as_accepted_once():
    async def steps(slots):
        with slots.take() as slot:
            await slots.change()
            assert slots.now == 2
            slot.accepted()
            assert slots.now == 2

    assert run(steps, accepted_s=0.001) == (2, [])


def test_after_a_refusal_running_on_proves_nothing():
    async def steps(slots):
        with slots.take():
            slots.overloaded()
            await asyncio.sleep(0.01)

    assert run(steps, accepted_s=0.001) == (1, ["1 request at once after HTTP 429"])


def test_a_freed_slot_wakes_who_waits():
    async def steps(slots):
        slot = slots.take()
        asyncio.get_running_loop().call_soon(slot.__exit__)
        async with asyncio.timeout(5):
            await slots.change()
        assert slots.in_flight == 0

    run(steps)
