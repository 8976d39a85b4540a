import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_streams import read, streams

from crucibleforge.chat import ServerTimings, ToolCall, Usage
from crucibleforge.errors import Trouble
from crucibleforge.wire.collect import MAX_EVENTS, Collector

MS = 1_000_000


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: object) -> bytes:
    return event({"model": "served", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def collected(*timed: tuple[int, bytes]):
    collector = Collector(0)
    for at_ms, data in timed:
        collector.feed(at_ms * MS, data)
    return collector.reply(timed[-1][0] * MS, connect_s=0.01)


def test_each_stamp_is_that_of_its_own_event():
    reply = collected(
        (10, delta(role="assistant", content=None)),
        (20, delta(content="")),
        (30, delta(reasoning_content="hm")),
        (40, delta(content="a")),
        (50, delta(content="b", reasoning=None)),
        (60, delta("stop")),
        (70, b"data: [DONE]\n\n"),
    )
    timing = reply.timing
    assert (reply.text, reply.reasoning, reply.finish, reply.served_model) == ("ab", "hm", "stop", "served")
    stamps = (timing.first_event_s, timing.first_reasoning_s, timing.first_content_s, timing.last_token_s, timing.total_s)
    assert stamps == pytest.approx((0.01, 0.03, 0.04, 0.05, 0.07))
    assert (timing.connect_s, timing.token_events) == (0.01, 3)


def test_an_absent_moment_is_none_and_never_nought():
    timing = collected((5, delta("stop", role="assistant"))).timing
    assert (timing.first_content_s, timing.first_reasoning_s, timing.last_token_s) == (None, None, None)


def test_usage_comes_from_the_last_event_without_choices():
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 2},
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    reply = collected((1, delta("length", content="x")), (2, event({"choices": [], "usage": usage})))
    assert (reply.usage, reply.finish) == (Usage(7, 5, 2, 3, "usage"), "length")


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": -1}, {"prompt_tokens": True}, "x"])
def test_a_count_that_the_server_did_not_give_stays_unknown(usage):
    assert collected((1, event({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}))).usage == Usage()


def test_calls_are_put_together_by_index():
    def part(index: int, **fields: object) -> bytes:
        return delta(tool_calls=[{"index": index} | fields])

    reply = collected(
        (1, part(1, id="b", function={"name": "second", "arguments": "{"})),
        (2, part(0, id="a", function={"name": "first", "arguments": ""})),
        (3, part(1, function={"arguments": '"x": 1}'})),
        (4, part(0, function={"arguments": "{}"})),
        (5, delta("tool_calls")),
    )
    assert reply.tool_calls == (ToolCall("a", "first", "{}"), ToolCall("b", "second", '{"x": 1}'))
    assert (reply.timing.first_content_s, reply.finish) == (0.001, "tool_calls")


def test_the_servers_own_timings_are_kept_as_counts_and_durations():
    timings = {"cache_n": 1, "prompt_n": 2, "prompt_ms": 3.5, "predicted_n": 4, "predicted_ms": 5, "predicted_per_second": 9}
    reply = collected((1, event({"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": timings})))
    assert reply.server_timings == ServerTimings(2, 3.5, 4, 5.0, 1)


def test_an_early_end_is_trouble_and_no_answer():
    with pytest.raises(Trouble, match="ended before the reply was complete") as caught:
        collected((1, delta(content="half an ans")))
    assert caught.value.kind == "transport"


def test_a_finish_without_done_and_done_without_a_finish_are_complete():
    assert collected((1, delta("stop", content="x"))).text == "x"
    assert collected((1, delta(content="x")), (2, b"data: [DONE]\n\n")).finish == "unknown"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"data: {broken\n\n", "protocol"),
        (b"data: 3\n\n", "protocol"),
        (b"", "protocol"),
        (b'data: {"error": {"message": "oom", "code": 500}}\n\n', "transport"),
    ],
)
def test_what_is_no_reply_is_trouble_of_its_kind(data, kind):
    with pytest.raises(Trouble) as caught:
        collected((1, data))
    assert caught.value.kind == kind


def test_what_follows_done_is_not_read():
    assert collected((1, delta("stop", content="x")), (2, b"data: [DONE]\n\ndata: {nonsense\n\n")).text == "x"


def test_a_reply_longer_than_any_may_be_is_given_up():
    for data in (delta(content="x" * 60), delta(reasoning="x" * 60), delta(tool_calls=[{"function": {"arguments": "x"}}])):
        collector = Collector(0, max_text=100)
        collector.feed(1, data)
        with pytest.raises(Trouble) as caught:
            collector.feed(2, data)
        assert caught.value.kind == "runaway"


def test_the_old_form_of_a_call_is_a_call():
    reply = collected((1, delta(function_call={"name": "f", "arguments": "{"})), (2, delta("function_call", function_call={"arguments": "}"})))
    assert (reply.tool_calls, reply.finish) == ((ToolCall("call_0", "f", "{}"),), "tool_calls")


def test_only_choice_nought_is_read():
    other = event({"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]})
    assert collected((1, other), (2, b"data: [DONE]\n\n" * 2)).text == ""


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(streams(), st.integers(1, 9))
def test_any_stream_gives_a_reply_or_an_error_of_ours_the_same_in_any_cut(stream, size):
    made, whole = read(stream), b"".join(stream)
    assert read([whole[at : at + size] for at in range(0, len(whole), size)]) == made
    assert msgspec.json.encode(made)


def test_deep_json_is_trouble():
    with pytest.raises(Trouble):
        collected((1, b"data: " + b"[" * 100_000 + b"\n\n"))


def test_more_events_than_any_budget_makes_are_a_runaway():
    collector = Collector(0)
    with pytest.raises(Trouble) as caught:
        collector.feed(1, b"data: {}\n\n" * (MAX_EVENTS + 1))
    assert (caught.value.kind, caught.value.message) == ("runaway", "the reply has more than 200,000 events")


def said(content, **fields):
    return b"data: " + json.dumps({"choices": [{"delta": {"content": content}}], **fields}).encode() + b"\n\n"


ENDING = b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'


def test_a_trace_keeps_every_read_and_every_moment_of_a_token_and_is_left_out_unasked():
    def fed(**asked):
        collector = Collector(5_000, **asked)
        collector.feed(1_005_000, said(""))
        collector.feed(2_005_400, said("a") + said("b"))
        collector.feed(3_005_000, ENDING)
        return collector.reply(4_005_000).timing

    trace = fed(is_traced=True).trace
    assert (trace.sent_ns, trace.stamps_s, trace.counts) == (5_000, (0.002, 0.002), ())
    assert trace.reads == ((0.001, len(said(""))), (0.002, 2 * len(said("a"))), (0.003, len(ENDING)))
    assert fed().trace is None


@pytest.mark.parametrize(
    "counting",
    [
        lambda n: {"usage": {"prompt_tokens": 4, "completion_tokens": n}},
        lambda n: {"timings": {"prompt_n": 4, "prompt_ms": 1.0, "predicted_n": n, "predicted_ms": 1.0}},
    ],
)
def test_a_trace_holds_the_running_count_where_the_server_gives_one(counting):
    collector = Collector(0, is_traced=True)
    collector.feed(1, said("abcde", **counting(5)))
    collector.feed(2, said("a"))
    collector.feed(3, said("bc", **counting(8)) + ENDING)
    timing = collector.reply(4).timing
    assert (timing.trace.counts, timing.first_event_tokens) == ((5, None, 8), 5)
