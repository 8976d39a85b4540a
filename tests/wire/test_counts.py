from __future__ import annotations

import pytest

from crucibleforge.chat import ServerTimings, Usage
from crucibleforge.wire.counts import Counts


def counted(*events: dict[str, object], max_tokens: int | None = None) -> Counts:
    counts = Counts()
    for t_ns, event in enumerate(events, 1):
        counts.feed(t_ns, event, brought_text=True)
    return counts


def usage(*events: dict[str, object]) -> Usage:
    return counted(*events).usage("stop", None, has_text=True)


@pytest.mark.parametrize("absurd", [-1, True, "7", 1.5, 2**31, 10**400, 1e300, None, [], {}])
def test_an_absurd_count_is_none(absurd):
    assert usage({"usage": {"prompt_tokens": absurd, "completion_tokens": 3}}) == Usage(None, 3, source="usage")
    assert usage({"usage": {"prompt_tokens": absurd, "completion_tokens": absurd}}) == Usage()


def test_the_last_usage_that_says_something_counts():
    first, last = ({"usage": {"prompt_tokens": 4, "completion_tokens": n}} for n in (1, 2))
    assert usage(first, last, {"usage": None}, {"usage": {}}) == Usage(4, 2, source="usage")


def test_usage_comes_before_timings_and_timings_before_stats():
    stats = {"stats": {"input_tokens": 1, "total_output_tokens": 2, "reasoning_output_tokens": 1}}
    timings = {"timings": {"prompt_n": 3, "prompt_ms": 1, "predicted_n": 4, "predicted_ms": 1, "cache_n": 5}}
    whole = {"usage": {"prompt_tokens": 8, "completion_tokens": 9}}
    assert usage(stats) == Usage(1, 2, 1, source="stats")
    assert usage(stats, timings) == Usage(8, 4, cached_tokens=5, source="timings")
    assert usage(stats, timings, whole) == Usage(8, 9, source="usage")


def test_lm_studio_gives_durations_and_its_rate_is_not_read():
    stats = {"tokens_per_second": 51.4, "time_to_first_token": 0.1, "generation_time": 0.5, "stop_reason": "eosFound"}
    counts = counted({"usage": {"prompt_tokens": 4, "completion_tokens": 26}, "stats": stats})
    assert counts.server_timings() == ServerTimings(4, 100.0, 26, 500.0, source="lmstudio")
    assert counted({"stats": stats}).server_timings() is None


@pytest.mark.parametrize("bad", [-1.0, "1", True, float("inf"), float("nan"), 10**400, None])
def test_an_absurd_duration_leaves_no_timings(bad):
    assert counted({"timings": {"prompt_n": 1, "prompt_ms": 1.0, "predicted_n": 1, "predicted_ms": bad}}).server_timings() is None
    assert counted({"prompt_eval_count": 1, "eval_count": 1, "eval_duration": bad}).server_timings() is None
    assert counted({"stats": {"input_tokens": 1, "total_output_tokens": 1, "time_to_first_token": bad, "generation_time": 1}}).server_timings() is None


def test_the_tokens_of_the_first_event_are_those_that_had_come_by_its_time():
    counts = Counts()
    for t_ns, tokens, brought in ((1, 0, False), (5, 2, True), (5, 3, True), (9, 4, True)):
        counts.feed(t_ns, {"usage": {"completion_tokens": tokens}}, brought_text=brought)
    assert [counts.first_event_tokens(t_ns) for t_ns in (None, 1, 5, 9)] == [None, None, 3, 4]


def test_guessed_tokens_and_those_that_were_right_are_kept():
    counts = Counts()
    timings = {"prompt_n": 1, "prompt_ms": 1, "predicted_n": 9, "predicted_ms": 1, "draft_n": 8, "draft_n_accepted": 6}
    counts.feed(0, {"timings": timings}, brought_text=False)
    kept = counts.server_timings()
    assert (kept.draft_n, kept.draft_n_accepted) == (8, 6)
