"""Recorded shapes of streams whose answer is known: what servers really send, and what it means."""

from __future__ import annotations

import json

import pytest

from crucibleforge.chat import Reply, Request, ServerTimings, ToolCall, Usage
from crucibleforge.errors import Malformed, Trouble
from crucibleforge.stats.rates import decode_rate, server_decode_rate
from crucibleforge.types import Target
from crucibleforge.wire.collect import Collector
from crucibleforge.wire.fault import fault, refused_parameter
from crucibleforge.wire.request import body

MS = 1_000_000
DONE = b"data: [DONE]\n\n"


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def delta(finish: str | None = None, usage: object = None, **fields: object) -> bytes:
    extra = {} if usage is None else {"usage": usage}
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": finish}], **extra)


def counted(prompt: int, completion: int, **more: object) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": completion} | more


def collected(*timed: tuple[int, bytes], max_tokens: int | None = None) -> Reply:
    collector = Collector(0, max_tokens=max_tokens)
    for at_ms, data in timed:
        collector.feed(at_ms * MS, data)
    return collector.reply(timed[-1][0] * MS)


def stamps_ms(reply: Reply) -> tuple[float | None, ...]:
    """First event, first reasoning, first content, last token."""
    timing = reply.timing
    stamps = (timing.first_event_s, timing.first_reasoning_s, timing.first_content_s, timing.last_token_s)
    return tuple(None if stamp is None else round(stamp * 1e3, 6) for stamp in stamps)


def test_01_an_event_with_a_role_alone_is_no_token():
    reply = collected((5, delta(role="assistant")), (205, delta(content="a")), (215, delta("stop", content="b")))
    assert stamps_ms(reply) == (5, None, 205, 215)


def test_02_empty_null_and_missing_content_are_alike():
    reply = collected(
        (1, delta(role="assistant", content="")), (2, delta(content=None)), (3, delta()), (9, delta("stop", content="a"))
    )
    assert (stamps_ms(reply), reply.timing.token_events) == ((1, None, 9, 9), 1)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
@pytest.mark.parametrize("wrapped", [lambda text: text, lambda text: {"text": text}, lambda text: [{"text": text}], lambda text: [text]])
def test_03_04_reasoning_has_its_own_stamp_by_any_name(field, wrapped):
    reply = collected((10, delta(**{field: wrapped("hm")})), (20, delta(content="a")), (30, delta("stop")))
    assert (stamps_ms(reply), reply.reasoning, reply.text) == ((10, 10, 20, 20), "hm", "a")


def test_03_reasoning_said_under_two_names_counts_once():
    assert collected((1, delta("stop", reasoning="hm", reasoning_content="hm"))).reasoning == "hm"


def test_03_typed_parts_are_text_and_thinking():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}, {"type": "image"}, 3]
    reply = collected((7, delta("stop", content=parts)))
    assert (reply.reasoning, reply.text, stamps_ms(reply)) == ("hm", "a", (7, 7, 7, 7))


def test_05_a_think_tag_split_over_events_is_reasoning():
    pieces = ["<th", "ink>", "hm", "</", "think>", "\n\n", "a"]
    reply = collected(*((10 * n, delta(content=piece)) for n, piece in enumerate(pieces, 1)), (80, delta("stop")))
    assert (reply.reasoning, reply.text, stamps_ms(reply)) == ("hm", "a", (10, 30, 70, 70))


def test_05_a_closer_alone_turns_what_came_before_into_reasoning():
    reply = collected((10, delta(content="hm")), (20, delta(content="</think>")), (30, delta("stop", content="a")))
    assert (reply.reasoning, reply.text, stamps_ms(reply)) == ("hm", "a", (10, 10, 30, 30))


def test_06_reasoning_up_to_the_limit_leaves_no_content():
    reply = collected((10, delta(reasoning_content="hm")), (20, delta("length", reasoning_content="so", usage=counted(3, 2))), max_tokens=2)
    assert (stamps_ms(reply), reply.text, reply.reasoning, reply.finish, reply.usage.doubts) == ((10, 10, None, 20), "", "hmso", "length", ())


def test_06_an_unclosed_tag_at_the_limit_leaves_no_content():
    reply = collected((10, delta(content="<think>hm, ANSWER: 5")), (20, delta("length")))
    assert (reply.text, reply.reasoning, stamps_ms(reply)) == ("", "hm, ANSWER: 5", (10, 10, None, 10))


def test_07_three_tokens_an_event_are_counted_by_usage():
    events = [(100 + 30 * n, delta(content="abc")) for n in range(11)]
    reply = collected(*events, (500, delta("stop")), (500, event(choices=[], usage=counted(4, 33))))
    assert (reply.usage.completion_tokens, reply.timing.token_events) == (33, 11)
    assert decode_rate(reply) == pytest.approx(32 / 0.3)


def test_08_tokens_of_the_first_event_are_no_part_of_the_rate():
    events = [(100, delta(content="abcde", usage=counted(4, 5)))]
    events += [(100 + 10 * n, delta(content="a", usage=counted(4, 5 + n))) for n in range(1, 21)]
    reply = collected((50, delta(role="assistant", usage=counted(4, 0))), *events, (301, delta("stop", usage=counted(4, 25))))
    assert (reply.timing.first_event_tokens, reply.usage.completion_tokens, reply.usage.doubts) == (5, 25, ())
    assert decode_rate(reply) == pytest.approx(100.0)


def test_09_without_usage_there_is_no_count_and_no_rate():
    reply = collected(*((n, delta(content="a")) for n in range(1, 40)), (50, delta("stop", usage=None)))
    assert (reply.usage, decode_rate(reply), reply.timing.first_event_tokens) == (Usage(), None, None)


def test_10_usage_stands_in_a_last_event_without_choices():
    reply = collected((1, delta("stop", content="a")), (2, event(choices=[], usage=counted(4, 1))), (3, DONE))
    assert (reply.usage, stamps_ms(reply)[3]) == (Usage(4, 1, source="usage"), 1)


@pytest.mark.parametrize(("completion", "finish", "doubts"), [(63, "length", ("one short of the limit",)), (64, "length", ()), (63, "stop", ())])
def test_11_a_count_one_short_of_the_limit_is_doubted(completion, finish, doubts):
    reply = collected((1, delta(finish, content="a", usage=counted(4, completion))), max_tokens=64)
    assert (reply.usage.completion_tokens, reply.usage.doubts) == (completion, doubts)


def test_12_more_reasoning_than_tokens_is_not_believed():
    usage = counted(4, 5, completion_tokens_details={"reasoning_tokens": 6})
    assert collected((1, delta("stop", content="a", usage=usage))).usage == Usage(
        4, 5, source="usage", doubts=("more reasoning than completion tokens",)
    )


def test_12_counts_that_contradict_the_reply_are_doubted():
    usage = counted(4, 0, prompt_tokens_details={"cached_tokens": 5})
    assert collected((1, delta("stop", content="a", usage=usage))).usage.doubts == (
        "no tokens counted for a reply with text",
        "cached tokens above prompt tokens",
    )


def test_12_a_running_count_that_falls_is_doubted():
    events = [(n, delta(content="a", usage=counted(4, tokens))) for n, tokens in enumerate((1, 3, 2), 1)]
    usage = collected(*events, (9, delta("stop"))).usage
    assert (usage.completion_tokens, usage.doubts) == (2, ("usage went down",))


def test_13_pings_are_neither_events_nor_tokens():
    pings = [(10 * n, b": ping\n\n") for n in range(1, 10)]
    assert stamps_ms(collected(*pings, (100, delta("stop", content="a")), (110, b":\n\n"))) == (100, None, 100, 100)


def test_14_line_ends_may_be_mixed_and_data_may_have_several_lines():
    data = b'data:{"choices": [{"index": 0,\r\ndata: "delta": {"content": "a"},\ndata:"finish_reason": "stop"}]}\r\n\r\ndata: [DONE]\n\n'
    assert collected((1, data)).text == "a"


def test_15_characters_and_events_may_be_cut_anywhere():
    data = event(choices=[{"index": 0, "delta": {"content": "é€😀"}}]).decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16").encode()
    assert "😀".encode() in data
    reply = collected(*((n, data[n : n + 1]) for n in range(len(data))), (999, delta("stop")))
    assert (reply.text, stamps_ms(reply)[2]) == ("é€😀", len(data) - 1)


def test_15_halves_of_a_surrogate_pair_in_two_events_are_one_character():
    reply = collected((1, b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n'), (2, b'data: {"choices":[{"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}\n\n'))
    assert reply.text == "😀"


def test_15_ten_events_in_one_read_share_its_stamp():
    reply = collected((40, b"".join(delta(content="a") for _ in range(10)) + delta("stop")))
    assert (stamps_ms(reply), reply.timing.token_events) == ((40, None, 40, 40), 10)


def test_15_bytes_that_are_no_utf8_are_replaced():
    assert collected((1, b'\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"a\xff"},"finish_reason":"stop"}]}\n\n')).text == "a�"


def test_20_loading_the_model_is_told_apart_from_its_first_token():
    last = event(choices=[], prompt_eval_count=5, eval_count=2, prompt_eval_duration=4e6, eval_duration=10_000_000, load_duration=3_000_000_000)
    reply = collected((3020, delta("stop", content="a")), (3030, last))
    assert reply.server_timings == ServerTimings(5, 4.0, 2, 10.0, load_ms=3000.0, source="ollama")
    assert (stamps_ms(reply)[2], reply.usage) == (3020, Usage(5, 2, cached_tokens=0, source="timings"))


def test_21_waiting_for_a_slot_is_part_of_the_first_token():
    timings = {"prompt_n": 5, "prompt_ms": 30.0, "predicted_n": 2, "predicted_ms": 10.0}
    reply = collected((2040, delta(role="assistant")), (2070, delta("stop", content="a")), (2080, event(choices=[], timings=timings)))
    assert (stamps_ms(reply), reply.server_timings.prompt_ms) == ((2040, None, 2070, 2070), 30.0)


def test_22_a_cached_prompt_is_told_apart_by_usage_and_by_timings():
    timings = {"cache_n": 224, "prompt_n": 36, "prompt_ms": 30.0, "predicted_n": 2, "predicted_ms": 10.0}
    by_usage = collected((1, delta("stop", content="a", usage=counted(260, 2, prompt_tokens_details={"cached_tokens": 224}))))
    by_timings = collected((1, delta("stop", content="a")), (2, event(choices=[], timings=timings)))
    assert by_usage.usage == Usage(260, 2, cached_tokens=224, source="usage")
    assert by_timings.usage == Usage(260, 2, cached_tokens=224, source="timings")


def test_23_a_prompt_that_was_cut_shows_in_the_servers_own_count():
    assert collected((1, delta("stop", content="a", usage=counted(2050, 1)))).usage.prompt_tokens == 2050


def test_24_a_refused_parameter_is_named_and_left_out():
    refusal = b'{"error": {"message": "Unrecognized request argument supplied: stream_options", "param": null}}'
    name = refused_parameter(refusal)
    target = Target(label="l", provider="p", kind="openai", model_id="m")
    sent = json.loads(body(target, Request((), (), 8), frozenset({name})))
    assert (name, fault(400, refusal).kind, "stream_options" in sent) == ("stream_options", "rejected", False)


def test_25_a_stream_without_events_is_no_chat_endpoint():
    with pytest.raises(Trouble) as caught:
        collected((1, b": ping\n\n"))
    assert caught.value.kind == "protocol"


def test_25_a_stream_without_done_is_whole_once_it_has_a_finish():
    assert collected((1, delta("stop", content="a"))).text == "a"
    with pytest.raises(Trouble) as caught:
        collected((1, delta(content="a")))
    assert caught.value.kind == "transport"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"error": {"code": 503, "message": "Loading model"}}, "overload"),
        ({"error": {"message": "slow down", "type": "rate_limit_error"}}, "overload"),
        ({"error": {"code": 400, "type": "exceed_context_size_error", "message": "no"}}, "context"),
        ({"error": {"code": 500, "message": "Unable to generate parser for this template. x"}}, "template"),
        ({"error": "it broke"}, "transport"),
        ({"object": "error", "message": "it broke", "code": 500}, "transport"),
    ],
)
def test_26_an_error_within_the_stream_is_of_its_kind(error, kind):
    with pytest.raises(Trouble) as caught:
        collected((1, delta(content="a")), (2, event(**error)))
    assert caught.value.kind == kind


def test_26_a_call_that_the_server_could_not_parse_is_the_models_reply():
    with pytest.raises(Malformed, match="at pos 12: </tool_call>"):
        collected((1, delta(content="a")), (2, event(error={"code": 500, "message": "Failed to parse input at pos 12: </tool_call>"})))


def test_27_overload_says_when_to_come_back():
    trouble = fault(429, b"{}", "7")
    assert (trouble.kind, trouble.retry_after_s) == ("overload", 7.0)


@pytest.mark.parametrize("stated", [15.1, 14.8, 0, 95_000, None])
def test_28_a_rate_that_the_server_states_changes_nothing(stated):
    timings = {"prompt_n": 10, "prompt_ms": 50.0, "predicted_n": 64, "predicted_ms": 630.0, "predicted_per_second": stated}
    reply = collected((1, delta("stop", content="a")), (2, event(choices=[], timings=timings)))
    assert reply.server_timings == ServerTimings(10, 50.0, 64, 630.0)
    assert server_decode_rate(reply.server_timings) == pytest.approx(100.0)


def test_29_ollamas_cached_tokens_are_no_part_of_what_was_read():
    last = event(choices=[], prompt_eval_count=332, prompt_eval_cached_count=331, eval_count=17, prompt_eval_duration=4_000_000, eval_duration=160_000_000)
    reply = collected((1, delta("stop", content="a")), (2, last))
    assert reply.server_timings == ServerTimings(1, 4.0, 17, 160.0, 331, source="ollama")
    assert (reply.usage.prompt_tokens, server_decode_rate(reply.server_timings)) == (332, pytest.approx(100.0))


def test_32_a_tool_call_alone_is_content():
    reply = collected((30, delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}])), (40, delta("tool_calls")))
    assert (stamps_ms(reply), reply.tool_calls) == ((30, None, 30, 30), (ToolCall("c", "f", "{}"),))


def test_33_two_choices_are_not_what_was_asked_for():
    second = event(choices=[{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}])
    for data in (delta(content="a") + second, event(choices=[{"delta": {"content": "a"}}, {"delta": {"content": "b"}}])):
        with pytest.raises(Trouble, match="several choices") as caught:
            collected((1, data))
        assert caught.value.kind == "protocol"
