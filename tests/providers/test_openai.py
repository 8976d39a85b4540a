import asyncio
import gzip
import socket
from time import monotonic

import endpoint
import made
import pytest

from crucibleforge.chat import Message, Request, Usage
from crucibleforge.errors import EndpointDown, InputError, Malformed, Trouble
from crucibleforge.providers.openai import PROVIDER

REQUEST = Request((Message("user", "q"),), (), 16)


def asked(answer, times=1, models=lambda: endpoint.listing("fake"), request=None, *, notices=False, **fields):
    """Ask one scripted server; the replies, what was opened or learnt, and what the server saw."""

    async def ask(url):
        async with PROVIDER.open(made.target(base_url=url, model_id="fake", **fields)) as session:
            replies = [await session.ask(request or REQUEST) for _ in range(times)]
            return replies, session.notices() if notices else session.served

    with endpoint.serving(answer, models) as server:
        return (*asyncio.run(ask(server.url)), server)


def trouble(answer, **fields):
    with pytest.raises(Trouble) as caught:
        asked(answer, **fields)
    return caught.value


def refused_url():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}/v1"


def test_a_streamed_reply_comes_whole_with_usage_and_times():
    replies, _, server = asked(lambda _: endpoint.text("one two three", tokens=3))
    reply = replies[0]
    assert (reply.text, reply.finish, reply.usage, reply.served_model) == ("one two three", "stop", Usage(10, 3, source="usage"), "fake")
    assert 0 < reply.timing.first_event_s <= reply.timing.first_content_s <= reply.timing.last_token_s <= reply.timing.total_s
    assert server.requests[0]["messages"] == [{"role": "user", "content": "q"}]


def test_the_clock_starts_when_the_request_is_sent_and_runs_between_events():
    replies, _, _ = asked(lambda _: endpoint.stream(endpoint.chat([{"content": "a"}, {"content": "b"}], "stop", 2, "m"), delay_s=0.02))
    timing = replies[0].timing
    # Events leave at 20 (role), 40 (a) and 60 ms (b) after the request; a busy machine may be late, never early.
    assert timing.first_event_s >= 0.019
    assert timing.last_token_s - timing.first_content_s >= 0.015
    assert timing.first_content_s - timing.first_event_s >= 0.015


def test_a_connection_is_kept_and_its_making_is_told_apart():
    replies, _, server = asked(lambda _: endpoint.text("x"), times=3)
    assert server.connections == 1
    assert [reply.timing.connect_s for reply in replies] == [None, None, None]  # the listing made it


def test_a_kept_connection_that_the_server_closed_is_made_anew_without_a_try():
    closing = iter([True, False])

    def answer(_):
        yield from endpoint.text("x")
        if next(closing):
            yield endpoint.Drop, None

    replies, _, server = asked(answer, times=2)
    assert ([reply.text for reply in replies], len(server.requests)) == (["x", "x"], 2)
    assert replies[1].timing.connect_s > 0


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        (lambda: endpoint.status(429, {"error": {"message": "slow down"}}, Retry_After="7"), "overload"),
        (lambda: endpoint.status(401, {}), "auth"),
        (lambda: endpoint.status(400, {"error": {"message": "bad"}}), "rejected"),
        (lambda: endpoint.status(400, {"error": {"message": "x", "type": "exceed_context_size_error"}}), "context"),
        (lambda: endpoint.status(500, b"<html>oops"), "transport"),
        (lambda: endpoint.status(302, b"", Location="http://127.0.0.1:9/"), "rejected"),
        (lambda: endpoint.status(200, {"choices": []}), "protocol"),
        (lambda: endpoint.status(200, b"<html>log in</html>", Content_Type="text/html"), "protocol"),
        (lambda: endpoint.stream([b"data: {broken\n\n"]), "protocol"),
        (lambda: endpoint.stream([{"error": {"message": "oom", "code": 500}}]), "transport"),
        (lambda: endpoint.stream([{"choices": [{"delta": {"content": "half"}}]}], done=False), "transport"),
        (lambda: [(endpoint.Drop, None)], "transport"),
        (lambda: [*list(endpoint.text("a b c"))[:3], (endpoint.Drop, None)], "transport"),
    ],
)
def test_each_fault_of_a_server_is_trouble_of_its_kind(steps, kind):
    assert trouble(lambda _: steps()).kind == kind


def test_the_servers_wish_to_wait_is_handed_on():
    assert trouble(lambda _: endpoint.status(429, {}, Retry_After="7")).retry_after_s == 7.0


def test_a_reply_that_never_comes_ends_at_the_time_limit():
    began = monotonic()
    found = trouble(lambda _: [(endpoint.Wait, 30.0)], timeout_s=0.3)
    assert found.kind == "timeout"
    assert monotonic() - began < 5


def test_a_request_keeps_its_own_deadline_before_the_targets():
    began = monotonic()
    with pytest.raises(Trouble) as caught:
        asked(lambda _: [(endpoint.Wait, 30.0)], request=Request(REQUEST.messages, (), 16, deadline_s=0.3))
    assert caught.value.kind == "timeout"
    assert monotonic() - began < 5


def test_a_reply_that_stops_with_the_connection_open_ends_at_the_stall_limit():
    def stalling(_):
        yield from list(endpoint.text("one two three"))[:3]
        yield endpoint.Wait, 30.0

    began = monotonic()
    found = trouble(stalling, stall_s=0.3)
    assert (found.kind, found.message) == ("timeout", "the reply stopped for 0.3 s with the connection open")
    assert monotonic() - began < 5


def test_a_slow_reply_that_keeps_coming_does_not_stall():
    slow = endpoint.chat([{"content": "x"}] * 8, "stop", 8, "m")
    replies, _, _ = asked(lambda _: endpoint.stream(slow, delay_s=0.1), stall_s=0.5)
    assert replies[0].text == "x" * 8


def test_a_reply_without_end_is_cut_off_as_runaway():
    def endless(_):
        yield from list(endpoint.text("x"))[:1]
        block = b"data: " + b"x" * (1 << 20) + b"\n\n"
        while True:
            yield endpoint.Send, f"{len(block):x}\r\n".encode() + block + b"\r\n"

    assert trouble(endless).kind == "runaway"


def test_a_reply_that_comes_compressed_all_the_same_is_read():
    def compressed(_):
        plain = b"".join(bytes(value) for _, value in endpoint.text("one two"))
        events = plain.split(b"\r\n\r\n", 1)[1]
        body = gzip.compress(b"".join(events.split(b"\r\n")[1::2]))
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
        yield endpoint.Send, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    assert asked(compressed)[0][0].text == "one two"


def test_a_prompt_of_a_hundred_thousand_tokens_arrives_whole():
    prompt = "word " * 100_000
    replies, _, server = asked(lambda _: endpoint.text("x"), request=Request((Message("user", prompt),), (), 16))
    assert (replies[0].text, server.requests[0]["messages"][0]["content"] == prompt) == ("x", True)


def refusing(*names, says=True):
    """A server that answers 400 to some parameters, naming the first of them or not."""

    def answer(request):
        wrong = next((name for name in names if name in request), None)
        if wrong is None:
            return endpoint.text("x")
        words = f"Unsupported parameter: '{wrong}'" if says else "bad request"
        return endpoint.status(400, {"error": {"message": words}})

    return answer


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize("name", ["stream_options", "seed", "temperature"])
def test_a_parameter_that_the_server_refuses_is_left_out_from_then_on(name, says):
    replies, _, server = asked(refusing(name, says=says), times=2)
    assert [reply.text for reply in replies] == ["x", "x"]
    assert name not in server.requests[-1]
    assert len([request for request in server.requests if name not in request]) == 2


def test_several_refused_parameters_go_one_at_a_time_and_are_told_once():
    replies, notices, server = asked(refusing("stream_options", "seed"), times=2, notices=True)
    assert (len(replies), len(server.requests)) == (2, 4)
    assert notices == ("the server refuses stream_options", "the server refuses seed")


def test_a_server_of_the_newer_kind_gets_max_completion_tokens():
    replies, notices, server = asked(refusing("max_tokens"), notices=True)
    assert (replies[0].text, server.requests[-1]["max_completion_tokens"]) == ("x", 16)
    assert notices == ("the server refuses max_tokens, max_completion_tokens is sent instead",)


def test_a_bad_request_that_is_none_of_this_stays_one():
    found = trouble(lambda _: endpoint.status(400, {"error": {"message": "no"}}))
    assert (found.kind, found.message) == ("rejected", "the server answered HTTP 400: no")


def test_after_an_answer_a_400_is_about_the_request_at_hand():
    turn = iter([endpoint.text("x"), endpoint.status(400, {"error": {"message": "no"}})])
    with pytest.raises(Trouble, match="HTTP 400"):
        asked(lambda _: next(turn), times=2)


def test_a_tool_call_that_the_server_could_not_parse_is_the_models_doing():
    with pytest.raises(Malformed):
        asked(lambda _: endpoint.status(500, {"error": {"message": "Failed to parse tool call arguments as JSON: x"}}))


def test_another_model_than_the_one_asked_for_is_refused_where_that_was_asked():
    assert trouble(lambda _: endpoint.text("x", model="other"), verify_model=True).kind == "wrong_model"
    assert asked(lambda _: endpoint.text("x", model="fake"), verify_model=True)[0][0].text == "x"


def test_a_server_that_is_not_there_is_said_at_once_in_one_line():
    url = refused_url()
    began = monotonic()
    with pytest.raises(EndpointDown) as caught:
        asyncio.run(opened(made.target(base_url=url)))
    assert monotonic() - began < 5
    assert caught.value.message == f"no server at {url} (connection refused)"
    assert caught.value.exit_code == 2


async def opened(target):
    async with PROVIDER.open(target) as session:
        return session.served


def test_a_key_goes_in_the_header_and_nowhere_else(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-123")
    replies, _, server = asked(lambda _: endpoint.text("x"), api_key_env="SOME_KEY")
    assert all("Authorization: Bearer canary-123" in head for head in server.headers)
    assert "canary-123" not in str(server.requests) + str(replies)


def test_a_key_that_the_server_echoes_is_taken_out_of_the_message(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-123")
    found = trouble(lambda _: endpoint.status(400, {"error": "no such key canary-123"}), api_key_env="SOME_KEY")
    assert found.message == "the server answered HTTP 400: no such key [key]"


def test_a_key_that_would_be_cut_in_two_is_taken_out_before_the_cut(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-" + "x" * 40)
    echo = "y" * 260 + " " + "canary-" + "x" * 40
    found = trouble(lambda _: endpoint.status(400, {"error": echo}), api_key_env="SOME_KEY")
    assert "canary" not in found.message
    assert len(found.message) < 320


def test_a_secret_of_a_header_is_taken_out_as_well(monkeypatch):
    monkeypatch.setenv("PROJECT", "canary-9")
    found = trouble(lambda _: endpoint.status(400, {"error": "bad canary-9"}), headers={"X-P": "p ${PROJECT}"})
    assert found.message == "the server answered HTTP 400: bad [key]"


def test_a_missing_key_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(InputError, match=r"\$SOME_KEY is not set"):
        asyncio.run(opened(made.target(base_url=refused_url(), api_key_env="SOME_KEY")))


def test_a_refused_key_is_said_when_the_target_is_opened(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "canary-123")
    with pytest.raises(EndpointDown, match=r"refuses the key in \$SOME_KEY \(HTTP 401\)"):
        asked(lambda _: endpoint.text("x"), models=lambda: endpoint.status(401, {}), api_key_env="SOME_KEY")


def test_headers_take_environment_variables(monkeypatch):
    monkeypatch.setenv("PROJECT", "p1")
    _, _, server = asked(lambda _: endpoint.text("x"), headers={"X-Project": "${PROJECT}"})
    assert "X-Project: p1" in server.headers[-1]


@pytest.mark.parametrize(
    "facts", [{"max_model_len": 4096}, {"context_length": 4096}, {"loaded_context_length": 4096}, {"meta": {"n_ctx": 4096}}]
)
def test_the_served_window_is_read_as_each_server_states_it(facts):
    _, served, _ = asked(lambda _: endpoint.text("x"), models=lambda: endpoint.listing("fake", "other", **facts))
    assert (served.model, served.context_length) == ("fake", 4096)


@pytest.mark.parametrize("models", [lambda: endpoint.status(404, {}), lambda: endpoint.status(200, b"not json"), endpoint.listing])
def test_a_server_without_a_listing_is_asked_all_the_same(models):
    replies, served, _ = asked(lambda _: endpoint.text("x"), models=models)
    assert (replies[0].text, served.context_length) == ("x", None)


def probed(models, **fields):
    with endpoint.serving(lambda _: [], models) as server:
        return asyncio.run(PROVIDER.probe(made.target(base_url=server.url, **fields)))


def test_a_probe_tells_up_needs_key_and_down_apart():
    up = probed(lambda: endpoint.listing("a", "b"))
    assert (up.state, up.models) == ("up", ("a", "b"))
    assert probed(lambda: endpoint.status(401, {})).state == "needs_key"
    assert probed(lambda: endpoint.status(404, {})).state == "up"
    assert probed(lambda: endpoint.status(500, {})).state == "down"
    assert asyncio.run(PROVIDER.probe(made.target(base_url=refused_url()))).state == "down"


EXTRA = {"cache_prompt": False, "ignore_eos": True}


def test_extra_fields_are_sent_and_dropped_for_good_where_they_are_refused():
    request = Request((Message("user", "q"),), (), 16, extra=EXTRA)
    _, notices, server = asked(refusing("cache_prompt"), times=2, notices=True, request=request)
    assert [sorted(EXTRA.keys() & sent.keys()) for sent in server.requests] == [sorted(EXTRA), ["ignore_eos"], ["ignore_eos"]]
    assert notices == ("the server refuses cache_prompt",)


def test_extra_fields_that_are_all_refused_without_a_name_are_all_dropped():
    request = Request((Message("user", "q"),), (), 16, extra=EXTRA)
    replies, notices, server = asked(refusing(*EXTRA, says=False), times=2, notices=True, request=request)
    assert [reply.text for reply in replies] == ["x", "x"]
    assert not EXTRA.keys() & server.requests[-1].keys()
    assert notices == ("the server refuses cache_prompt", "the server refuses ignore_eos")


def test_extra_fields_are_looked_into_even_after_the_server_has_answered_without_them():
    async def ask(url):
        async with PROVIDER.open(made.target(base_url=url, model_id="fake")) as session:
            await session.ask(REQUEST)
            return await session.ask(Request((Message("user", "q"),), (), 16, extra=EXTRA))

    with endpoint.serving(refusing("ignore_eos", says=False)) as server:
        assert asyncio.run(ask(server.url)).text == "x"
        assert "cache_prompt" in server.requests[-1]


def test_a_traced_reply_tells_when_headers_came_and_that_it_was_sent_twice():
    turn = iter([list(endpoint.text("x")), [(endpoint.End, None)], list(endpoint.text("x"))])
    traced = Request((Message("user", "q"),), (), 16, is_traced=True)
    replies, _, _ = asked(lambda _: next(turn), times=2, request=traced)
    traces = [reply.timing.trace for reply in replies]
    assert [trace.resent for trace in traces] == [0, 1]
    assert all(0 < trace.headers_s <= trace.stamps_s[0] for trace in traces)
    assert asked(lambda _: endpoint.text("x"))[0][0].timing.trace is None
