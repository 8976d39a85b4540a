from itertools import pairwise

import pytest

from crucibleforge.bench.protocol import (
    LENGTHS,
    Guess,
    Options,
    Planned,
    extra,
    further,
    nonce,
    order,
    plan,
    request,
    seconds,
    sent_characters,
    too_deep,
)

QUICK, DEFAULT, FULL = (Options("r", mode) for mode in ("quick", "default", "full"))


def cells(options, *speeds, **facts):
    return {cell.name: cell for cell in plan(options, Guess(*(speeds or (50.0, 500.0)), **facts))}


@pytest.mark.parametrize(
    ("per_s", "reps", "tokens"),
    [(300.0, 2, 256), (64.0, 2, 256), (30.0, 2, 120), (13.2, 2, 52), (12.0, 2, 48), (11.0, 1, 48), (4.0, 1, 48)],
)
def test_quick_decodes_for_at_most_24_seconds_or_once_each(per_s, reps, tokens):
    lengths = [cell for cell in cells(QUICK, per_s, 500.0).values() if cell.kind == "length"]
    assert [(cell.reps, cell.max_tokens) for cell in lengths] == [(reps, tokens)] * 3
    assert reps == 1 or 6 * tokens / per_s <= 24


@pytest.mark.parametrize(("per_s", "tokens"), [(3.9, 48), (2.0, 48), (1.0, 25), (0.1, 16)])
def test_below_4_tokens_a_second_one_reply_is_indicative(per_s, tokens):
    lengths = [cell for cell in cells(QUICK, per_s, 50.0).values() if cell.kind == "length"]
    assert [(cell.name, cell.reps, cell.max_tokens, cell.is_indicative) for cell in lengths] == [("medium_200", 1, tokens, True)]


def test_the_lengths_are_those_that_users_know():
    assert LENGTHS == (("short_50", 50), ("medium_200", 200), ("long_800", 800))
    for name, characters in LENGTHS:
        cell = cells(DEFAULT)[name]
        assert cell.reps == 6
        for number in range(30):
            said = request(cell, "r", number).messages[-1].content
            assert characters * 0.72 <= len(said) <= characters


def test_cells_of_a_turn_are_measured_in_rotation():
    two = [Planned("a", "length", 2, 2, 8), Planned("b", "length", 2, 1, 8), Planned("z", "prefill", 1, 1, 8)]
    assert [(cell.name, rep) for cell, rep in order(two)] == [("z", 0), ("a", 0), ("b", 0), ("a", 1)]


def test_the_first_cell_is_measured_again_last_of_all():
    for options in (QUICK, DEFAULT, FULL):
        planned = list(order(plan(options, Guess(50.0, 500.0))))
        again = planned[-1][0]
        assert (again.kind, again.characters, again.max_tokens) == ("again", 200, cells(options)["medium_200"].max_tokens)


@pytest.mark.parametrize("options", [QUICK, DEFAULT, FULL])
@pytest.mark.parametrize("window", [1024, 4096, 32_768, None])
def test_prompts_fit_the_window_and_reading_is_measured_at_lengths_four_times_apart(options, window):
    found = cells(options, 50.0, 500.0, context_tokens=window).values()
    for cell in found:
        assert window is None or cell.characters / 4 + cell.context_tokens + cell.max_tokens < window
    lengths = [cell.characters for cell in found if cell.kind == "prefill"]
    assert all(b >= 4 * a for a, b in pairwise(lengths))
    assert len(lengths) == (3 if options is FULL and window in {32_768, None} else 2)


def test_quick_reads_for_at_most_16_seconds():
    guess = Guess(20.0, 100.0)
    spent = [cell.reps * cell.characters / 4 / guess.prefill_per_s for cell in plan(QUICK, guess) if cell.kind == "prefill"]
    assert sum(spent) <= 16


def test_full_sweeps_depths_and_streams_as_far_as_window_and_slots_allow():
    found = cells(FULL, 50.0, 500.0, context_tokens=10_000, slots=3)
    assert [name for name in found if name.startswith("depth")] == ["depth 2048", "depth 8192"]
    assert [cell.streams for cell in found.values() if cell.kind == "load"] == [1, 2, 4]
    assert {cell.text for cell in found.values() if cell.kind == "text"} == {"prose", "code", "extraction"}
    assert found["soak"].reps * found["soak"].max_tokens / 50.0 >= 180


def test_depths_and_streams_are_what_was_asked_for_and_one_stream_for_comparison():
    options = Options("r", "default", depths=(4096, 512, 99_999), concurrency=(8, 2))
    found = cells(options, 50.0, 500.0, context_tokens=8192)
    assert [cell.context_tokens for cell in found.values() if cell.kind == "depth"] == [512, 4096]
    assert [cell.streams for cell in found.values() if cell.kind == "load"] == [1, 2, 8]
    assert too_deep(options, Guess(50.0, 500.0, context_tokens=8192)) == (99_999,)


def test_the_nonce_stands_first_and_is_of_its_place_alone():
    cell = cells(DEFAULT)["medium_200"]
    opening = request(cell, "r", 0).messages[0]
    assert (opening.role, opening.content[:16]) == ("system", nonce("r", "medium_200", 0))
    places = {nonce(run, name, number) for run in ("r", "s") for name in ("a", "b") for number in range(50)}
    assert len(places) == 200
    assert all(len(place) == 16 and place.isalnum() for place in places)


def test_the_same_run_id_sends_the_same_and_no_two_requests_are_alike():
    cell = cells(DEFAULT)["long_800"]
    assert request(cell, "r", 3) == request(cell, "r", 3)
    said = {request(cell, run, number).messages[-1].content for run in ("r", "s") for number in range(40)}
    assert len(said) == 80


def test_a_depth_is_a_conversation_of_about_that_many_tokens():
    cell = Planned("depth 4000", "depth", 1, 1, 8, 200, 4000)
    asked = request(cell, "r", 0, characters_per_token=3.5)
    assert sent_characters(asked) == pytest.approx(14_200, rel=0.03)
    assert [message.role for message in asked.messages[:4]] == ["system", "user", "assistant", "user"]
    assert asked.messages[-1].role == "user"
    texts = [message.content for message in asked.messages]
    assert len(set(texts)) == len(texts)


def test_a_conversation_that_goes_on_begins_as_it_did():
    asked = request(Planned("cached 500", "cached", 1, 1, 16, 200, 500), "r", 0)
    later = further(asked, "so it was")
    assert later.messages[: len(asked.messages)] == asked.messages
    assert [message.role for message in later.messages[-2:]] == ["assistant", "user"]
    assert later.extra["cache_prompt"] is True


def test_the_users_own_sampling_is_left_alone_where_it_is_measured():
    assert "temperature" not in extra(Planned("own", "sampling", 1, 1, 8))
    assert extra(Planned("x", "length", 1, 1, 8)) == {"cache_prompt": False, "ignore_eos": True, "temperature": 0.0}


def test_a_request_takes_its_prompt_and_its_reply():
    guess = Guess(50.0, 500.0)
    assert seconds(Planned("x", "depth", 1, 1, 100, 400, 900), guess) == pytest.approx(4.0)
    assert seconds(Planned("x", "load", 1, 1, 100, 400, least_s=20.0), guess) == 20.0
