"""Twenty-five ways in which a server can fail, each within a stream and at the level of HTTP, and what must come of it.

A `Fault` is a script for the scripted endpoint. Its steps get the words of the right answer and the address of another
server, to which nothing may ever be sent. What must come of it is the kind of the failure, or that the reply is whole.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

import endpoint
from endpoint import Away, Drop, End, Reset, Send, Step, Wait

from crucibleforge.chat import Reply
from crucibleforge.run.ask import Patience
from crucibleforge.stats.rates import decode_rate

KEY = "sk-canary/7+Jg0aPz=Q9~w"
"""The key of every faulty server, which echoes it wherever it can."""
QUICK = Patience(tries=2, first_wait_s=0.01, longest_wait_s=0.02)
_LASTING = Patience(tries=8, first_wait_s=0.05, longest_wait_s=0.3)
_MB = 1024 * 1024
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_UNCOUNTED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

Steps = Callable[[str, str], Iterable[Step]]


@dataclass(frozen=True)
class Fault:
    """One fault: what the server does, and what must come of it.

    `kind` is that of the failure, None where the reply is whole; it then passes unless `outcome` says otherwise, and
    `holds` is true of it. `requests` is how many the server gets for the one case that is struck. `once`: it strikes
    the first of these only. `gives_up`: no further case is asked. `tries` is what the failure says, 0: as `requests`.
    """

    mode: int
    name: str
    is_streamed: bool
    steps: Steps
    kind: str | None = None
    requests: int = 1
    once: bool = False
    gives_up: bool = False
    tries: int = 0
    outcome: str = "pass"
    holds: Callable[[Reply], bool] = lambda reply: True
    patience: Patience = QUICK
    settings: dict[str, float | bool] = field(default_factory=dict)
    first_requests: int | None = None

    def __str__(self) -> str:
        return f"{self.mode:02}-{'stream' if self.is_streamed else 'plain'}-{self.name}".replace(" ", "_")


def _error(code: int | None, words: str = "", **more: object) -> dict:
    return {"error": {"message": f"{words or 'cannot'} ({KEY})", **({"code": code} if code else {}), **more}}


def _http(code: int, body: object = None, **headers: str) -> Steps:
    return lambda _words, _other: endpoint.status(code, _error(None) if body is None else body, **headers)


def _events(words: str, **changes: object) -> list[dict]:
    """The events of a right reply; `changes` go into the delta that holds its text."""
    first, rest = words[: len(words) // 2], words[len(words) // 2 :]
    deltas = [{"content": first}, {"content": rest} | changes]
    return list(endpoint.chat(deltas, "stop", 40, "fake"))


def _sse(*events: object) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\n\n" for e in events)


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _inside(code: int | None, words: str = "", **more: object) -> Steps:
    """An error object as an event, after half of the reply."""
    return lambda right, _: endpoint.stream([*_events(right)[:2], _error(code, words, **more)], done=False)


def _streamed(change: Callable[[list[dict]], Iterable[object]], *, done: bool = True) -> Steps:
    return lambda words, _: endpoint.stream(change(_events(words)), done=done)


def _raw(build: Callable[[str], bytes]) -> Steps:
    """A chunked stream whose payload is given as bytes, in one chunk."""
    return lambda words, _: [(Send, _STREAM + _chunk(build(words)) + b"0\r\n\r\n")]


def _body(change: Callable[[dict], object]) -> Steps:
    """A reply that is no stream, as a server gives that ignores `stream`; `change` makes it odd."""

    def steps(words: str, _other: str) -> Iterator[Step]:
        message = {"role": "assistant", "content": words}
        whole = {"model": "fake", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        whole["usage"] = {"prompt_tokens": 10, "completion_tokens": 40}
        return endpoint.status(200, change(whole))

    return steps


def _without_stream(mode: int, *changes: tuple[str, Callable[[dict], object]]) -> list[Fault]:
    """We ask for a stream; anything else in its place is not taken for a reply, whatever it holds."""
    return [Fault(mode, name, False, _body(change), "protocol") for name, change in changes]


def _choice(whole: dict, **fields: object) -> dict:
    return whole | {"choices": [whole["choices"][0] | fields]}


def _overload() -> Iterator[Fault]:
    dates = {"past": "Fri, 31 Dec 1999 23:59:59 GMT", "future": "Tue, 31 Dec 2199 23:59:59 GMT"}
    for name, wait in {"0": "0", "-5": "-5", "1e9": "1e9", "inf": "inf", "soon": "soon", "": "", **dates}.items():
        yield Fault(1, f"wait {name}", False, _http(429, None, Retry_After=wait), "overload", 2)
    yield Fault(1, "once", False, _http(429, None, Retry_After="0"), None, 2, once=True)
    yield Fault(1, "inside", True, _inside(429), "overload", 2)
    yield Fault(1, "inside once", True, _inside(429), None, 2, once=True)


def _server_errors() -> Iterator[Fault]:
    for code in (500, 502, 503, 529):
        kind = "overload" if code in {503, 529} else "transport"
        yield Fault(2, f"{code}", False, _http(code), kind, 2)
        yield Fault(2, f"{code} once", False, _http(code), None, 2, once=True)
        yield Fault(2, f"{code} inside", True, _inside(code), kind, 2)
    yield Fault(2, "500 inside once", True, _inside(500), None, 2, once=True)


def _refusals() -> Iterator[Fault]:
    # Only a server that has not answered yet is asked without each parameter that it may have meant.
    yield Fault(3, "400", False, _http(400), "rejected", 1, first_requests=5, tries=1)
    for code in (401, 403):
        yield Fault(3, f"{code}", False, _http(code), "auth", gives_up=True)
        yield Fault(3, f"{code} inside", True, _inside(code), "auth", gives_up=True)
    for code in (404, 413):
        yield Fault(3, f"{code}", False, _http(code), "rejected")
    yield Fault(3, "422", False, _http(422), "rejected", 1, first_requests=5, tries=1)
    for code in (400, 404, 413, 422):
        yield Fault(3, f"{code} inside", True, _inside(code), "rejected")


def _connections() -> Iterator[Fault]:
    # A kept connection that breaks before the first byte is no try; the fresh one after it is.
    for name, step in (("closed", Drop), ("reset", Reset)):
        yield Fault(4, f"{name} at once", False, lambda _w, _o, step=step: [(step, None)], "transport", 3, tries=2)
        after_head = lambda _w, _o, step=step: [(Send, _STREAM), (Wait, 0.01), (step, None)]  # noqa: E731
        yield Fault(4, f"{name} after headers", True, after_head, "transport", 2)
    away = lambda _w, _o: [(Away, None)]  # noqa: E731
    yield Fault(4, "refused for good", False, away, "transport", 1, gives_up=True, tries=2)


def _silence() -> Iterator[Fault]:
    limits = {"timeout": 0.5, "stall_timeout_s": 0.3}
    yield Fault(5, "never answers", False, lambda _w, _o: [(Wait, 60.0)], "timeout", 2, settings=limits)
    yield Fault(5, "after headers", True, lambda _w, _o: [(Send, _STREAM), (Wait, 60.0)], "timeout", 2, settings=limits)
    half = lambda words, _: [*list(endpoint.stream(_events(words)))[:3], (Wait, 60.0)]  # noqa: E731
    yield Fault(5, "in the middle", True, half, "timeout", 2, settings=limits)


def _drips() -> Iterator[Fault]:
    limits = {"timeout": 0.5, "stall_timeout_s": 0.3}

    def drip(data: bytes) -> Iterator[Step]:
        for byte in itertools.cycle(data):
            yield from ((Send, bytes((byte,))), (Wait, 0.04))

    head = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 10_000
    yield Fault(6, "headers", False, lambda _w, _o: drip(head), "timeout", 2, settings=limits)
    events = lambda _w, _o: itertools.chain([(Send, _UNCOUNTED)], drip(b": still here\n"))  # noqa: E731
    yield Fault(6, "comments", True, events, "timeout", 2, settings=limits)
    words = lambda right, _: itertools.chain([(Send, _UNCOUNTED)], drip(_sse(_events(right)[1])))  # noqa: E731
    yield Fault(6, "text", True, words, "timeout", 2, settings=limits)


def _cuts() -> Iterator[Fault]:
    def cut(build: Callable[[bytes], bytes]) -> Steps:
        return lambda words, _: [(Send, _STREAM + build(_sse(*_events(words)[:3]))), (Wait, 0.01), (Drop, None)]

    yield Fault(7, "between events", True, cut(_chunk), "transport", 2)
    yield Fault(7, "in an event", True, cut(lambda data: _chunk(data[:-9])), "transport", 2)
    yield Fault(7, "in a character", True, cut(lambda data: _chunk(data[:-6] + "\u20ac".encode()[:2])), "transport", 2)
    yield Fault(7, "in a chunk size", True, cut(lambda data: _chunk(data) + b"1f"), "transport", 2)
    yield Fault(7, "in a chunk", True, cut(lambda data: _chunk(data)[:-20]), "transport", 2)
    short = b'HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"error": '
    yield Fault(7, "in an error", False, lambda _w, _o: [(Send, short), (Wait, 0.01), (Drop, None)], "transport", 2)
    body = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"choices": ['
    yield Fault(7, "in a body", False, lambda _w, _o: [(Send, body), (Drop, None)], "protocol")


def _ends() -> Iterator[Fault]:
    def closing(count: int, *more: bytes) -> Steps:
        return lambda words, _: [(Send, _UNCOUNTED + _sse(*_events(words)[:count], *more)), (End, None)]

    yield Fault(8, "finish and no done", True, closing(5))
    yield Fault(8, "done and no finish", True, closing(3, b"[DONE]"))
    yield Fault(8, "neither", True, closing(3), "transport", 2)
    yield Fault(8, "neither in chunks", True, _streamed(lambda e: e[:3], done=False), "transport", 2)
    for name, body in (("json", b'{"choices": []}'), ("nothing", b"")):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        steps = lambda _w, _o, sent=head + body: [(Send, sent), (End, None)]  # noqa: E731
        yield Fault(8, f"{name} until closed", False, steps, "protocol")


def _extras() -> Iterator[Fault]:
    late = {"choices": [{"index": 0, "delta": {"content": "ANSWER: 0"}, "finish_reason": "length"}]}
    yield Fault(9, "two dones", True, _streamed(lambda e: [*e, b"data: [DONE]\n\n"]))
    yield Fault(9, "text after done", True, _raw(lambda w: _sse(*_events(w), b"[DONE]", late)))
    yield Fault(9, "error after done", True, _raw(lambda w: _sse(*_events(w), b"[DONE]", _error(500))))
    def with_junk(words: str, _other: str) -> Iterator[Step]:
        yield Send, _STREAM + _chunk(_sse(*_events(words), b"[DONE]")) + b"0\r\n\r\nHTTP/1.1 junk\r\n\r\n"

    yield Fault(9, "bytes after the end", True, with_junk, "transport", 2)
    after = lambda _w, _o: [*endpoint.status(500, _error(None)), (Send, b"more of it")]  # noqa: E731
    yield Fault(9, "bytes after an error", False, after, None, 2, once=True)


def _bytes() -> Iterator[Fault]:
    def each(cut: Callable[[bytes], Iterable[bytes]]) -> Steps:
        return lambda words, _: [
            (Send, _STREAM),
            *((Send, _chunk(part)) for part in cut(_sse(*_events(words), b"[DONE]"))),
            (Send, b"0\r\n\r\n"),
        ]

    def mixed(data: bytes) -> bytes:
        # In this order no CR stands before an LF of another line end.
        ends = itertools.cycle([b"\r\n", b"\n", b"\r"])
        return b"".join(part + next(ends) for part in data.split(b"\n"))

    def invalid(words: str) -> bytes:
        broken = b'{"choices": [{"index": 0, "delta": {"content": "a \xff\xfe\x80 b\\n"}}]}'
        return _sse(broken, *_events(words), b"[DONE]")

    yield Fault(10, "each byte alone", True, each(lambda data: (data[i : i + 1] for i in range(len(data)))))
    yield Fault(10, "byte order mark", True, each(lambda data: [b"\xef\xbb", b"\xbf" + data]))
    yield Fault(10, "line ends", True, each(lambda data: [mixed(data)]))
    yield Fault(10, "not UTF-8", True, _raw(invalid), holds=lambda reply: "a \ufffd" in reply.text)
    yield Fault(10, "an error not UTF-8", False, _http(500, b"\xef\xbb\xbf\xff\xfe" + KEY.encode()), "transport", 2)
    yield from _without_stream(10, ("not UTF-8", lambda _: b'{"choices": "\xff\xfe"}'))


def _broken() -> Iterator[Fault]:
    for name, data in (
        ("half", b'{"choices": [{"delta": {"con'),
        ("deep", b"[" * 200_000),
        ("number", b'{"choices": ' + b"9" * 50_000 + b"}"),
        ("list", b"[1, 2]"),
        ("words", b"cannot " + KEY.encode()),
    ):
        yield Fault(11, name, True, _raw(lambda w, data=data: _sse(*_events(w)[:2], data, *_events(w)[2:])), "protocol")
        yield Fault(11, f"{name} as an error", False, _http(500, data), "transport", 2)


def _errors_in_200() -> Iterator[Fault]:
    yield Fault(12, "an object", True, _inside(None), "transport", 2)
    yield Fault(12, "a string", True, _streamed(lambda e: [e[0], {"error": f"oom {KEY}"}], done=False), "transport", 2)
    yield Fault(12, "alone", True, lambda _w, _o: endpoint.stream([_error(500)]), "transport", 2)
    yield Fault(12, "once", True, _inside(None), None, 2, once=True)
    yield from _without_stream(12, ("an object", lambda _: _error(500)), ("a string", lambda _: {"error": KEY}))


def _login() -> Iterator[Fault]:
    page = b"<html><form action=/login>" + KEY.encode() + b"</form></html>"
    html = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunked = lambda _w, _o: [(Send, html + _chunk(page) + b"0\r\n\r\n")]  # noqa: E731
    yield Fault(13, "in chunks", True, chunked, "protocol")
    untyped = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + _chunk(page) + b"0\r\n\r\n"
    yield Fault(13, "without a type", True, lambda _w, _o: [(Send, untyped)], "protocol")
    as_stream = lambda _w, _o: [(Send, _STREAM + _chunk(page) + b"0\r\n\r\n")]  # noqa: E731
    yield Fault(13, "called a stream", True, as_stream, "protocol")
    yield Fault(13, "whole", False, _http(200, page, Content_Type="text/html"), "protocol")


def _giants() -> Iterator[Fault]:
    block = b"x" * _MB

    def giant(words: str, _other: str) -> Iterator[Step]:
        head, tail = _sse(_events(words)[1]).split(b'"content": "')
        size = len(head) + 12 + 65 * _MB
        yield Send, _STREAM + f"{size:x}\r\n".encode() + head + b'"content": "'
        yield from ((Send, block) for _ in range(65))
        yield Send, b"\r\n" + _chunk(tail) + b"0\r\n\r\n"

    def endless(prefix: bytes, line: bytes) -> Steps:
        lot = line * (_MB // len(line))
        return lambda _w, _o: itertools.chain([(Send, prefix)], itertools.repeat((Send, lot)))

    yield Fault(14, "a chunk of 65 MB", True, giant, "runaway")
    yield Fault(14, "endless comments", True, endless(_UNCOUNTED, b": on and on\n\n"), "runaway")
    text = _sse({"choices": [{"index": 0, "delta": {"content": "on and on " * 400}}]})
    yield Fault(14, "endless text", True, endless(_UNCOUNTED, text), "runaway")
    yield Fault(14, "endless line", True, endless(_UNCOUNTED + b"data: ", b"x"), "runaway")
    much = lambda words, _: endpoint.stream([*_events(words)[:2], *[text] * (40 * _MB // len(text)), *_events(words)[2:]])  # noqa: E731
    yield Fault(14, "40 MB of text", True, much, "runaway")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Long: " + block + b"\r\n\r\n"
    yield Fault(14, "a header of 1 MB", False, lambda _w, _o: [(Send, head), (End, None)], "transport", 2)
    many = b"HTTP/1.1 200 OK\r\n" + b"X-One: more\r\n" * 100_000 + b"\r\n"
    yield Fault(14, "100,000 headers", False, lambda _w, _o: [(Send, many), (End, None)], "transport", 2)
    error = b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    yield Fault(14, "an endless error", False, endless(error, b"on and on "), "transport", 2)


@cache
def _bomb(start: bytes, unit: bytes, size_mb: int) -> bytes:
    """`start` and then so much of `unit`, as gzip."""
    press = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = unit * (_MB // len(unit))
    return b"".join((press.compress(start), *(press.compress(block) for _ in range(size_mb)), press.flush()))


def _bombs() -> Iterator[Fault]:
    def squeezed(head: bytes, start: bytes, unit: bytes) -> Steps:
        def steps(_words: str, _other: str) -> Iterator[Step]:
            bomb = _bomb(start, unit, 150)
            yield Send, head + f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode() + bomb

        return steps

    good = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    yield Fault(15, "text", True, squeezed(good, b'data: {"a": "', b"a"), "runaway")
    yield Fault(15, "comments", True, squeezed(good, b"", b":\n\n"), "runaway")
    bad = b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\n"
    yield Fault(15, "an error", False, squeezed(bad, b'{"error": "', b"a"), "transport", 2)
    json_body = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    yield Fault(15, "a body", False, squeezed(json_body, b'{"choices": "', b"a"), "protocol")
    junk = b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot a zip"
    yield Fault(15, "no gzip at all", True, lambda _w, _o: [(Send, good + junk)], "transport", 2)


def _no_counts(reply: Reply) -> bool:
    return reply.usage.completion_tokens is None


def _usages() -> Iterator[Fault]:
    yield Fault(16, "missing", True, _streamed(lambda e: e[:-1]), holds=_no_counts)
    yield Fault(16, "null", True, _streamed(lambda e: [*(x | {"usage": None} for x in e[:-1])]), holds=_no_counts)
    last = lambda reply: (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (10, 40)  # noqa: E731
    yield Fault(16, "last event alone", True, _streamed(lambda e: e), holds=last)
    for name, count in (("negative", -1), ("huge", 10**30), ("words", "many"), ("real", 1.5), ("true", True)):
        usage = {"prompt_tokens": count, "completion_tokens": count}
        steps = _streamed(lambda e, usage=usage: [*e[:-1], {"choices": [], "usage": usage}])
        yield Fault(16, name, True, steps, holds=_no_counts)
    yield from _without_stream(16, ("missing", lambda w: w | {"usage": None}), ("huge", lambda w: w | {"usage": 1e99}))


def _choices() -> Iterator[Fault]:
    no_text = {"outcome": "unanswered", "holds": lambda reply: reply.text == ""}
    yield Fault(17, "none", True, _streamed(lambda e: [x | {"choices": []} for x in e]), **no_text)
    yield Fault(17, "null", True, _streamed(lambda e: [x | {"choices": None} for x in e]), **no_text)
    yield Fault(17, "null among others", True, _streamed(lambda e: [{"choices": None}, e[0], {"choices": [None]}, *e[1:]]))
    second = {"index": 1, "delta": {"content": "ANSWER: 0"}}
    both = _streamed(lambda e: [*e[:2], {"choices": [e[2]["choices"][0], second]}, *e[3:]])
    yield Fault(17, "two", True, both, "protocol")
    other = _streamed(lambda e: [{"choices": [c | {"index": 1} for c in x.get("choices", [])]} for x in e])
    yield Fault(17, "another index", True, other, **no_text)
    yield from _without_stream(
        17, ("none", lambda w: w | {"choices": []}), ("two", lambda w: w | {"choices": w["choices"] * 2})
    )


def _fields() -> Iterator[Fault]:
    nulls = {"content": None, "reasoning_content": None, "tool_calls": None, "refusal": None, "role": None}
    extra = {"choices": [{"index": 0, "delta": nulls, "finish_reason": None, "logprobs": None}]}
    yield Fault(18, "nulls", True, _streamed(lambda e: [extra, {"choices": [{"delta": None}]}, *e, extra]))
    thought = lambda reply: reply.reasoning == "so: ANSWER: 0" and "ANSWER: 0" not in reply.text  # noqa: E731
    for key in ("reasoning_content", "reasoning"):
        event = {"choices": [{"index": 0, "delta": {key: "so: ANSWER: 0"}}]}
        yield Fault(18, key, True, _streamed(lambda e, event=event: [e[0], event, *e[1:]]), holds=thought)
    parts = ["<thi", "nk>so: ANS", "WER: 0</th", "ink>"]
    tags = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
    yield Fault(18, "tags", True, _streamed(lambda e: [e[0], *tags, *e[1:]]), holds=thought)
    yield from _without_stream(
        18,
        ("content null", lambda w: _choice(w, message={"role": "assistant", "content": None})),
        ("message null", lambda w: _choice(w, message=None)),
    )


def _calling(*pieces: dict) -> Steps:
    def steps(_words: str, _other: str) -> Iterator[Step]:
        return endpoint.stream(endpoint.chat([{"tool_calls": [piece]} for piece in pieces], "tool_calls", 40, "fake"))

    return steps


def _piece(index: int | None, name: str | None = None, arguments: str | None = None, call_id: str = "") -> dict:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return ({} if index is None else {"index": index}) | ({"id": call_id} if call_id else {}) | {"function": function}


def _tool_calls() -> Iterator[Fault]:
    def made(*calls: tuple[str, str]) -> Callable[[Reply], bool]:
        return lambda reply: [(call.name, call.arguments) for call in reply.tool_calls] == list(calls)

    two = made(("look", '{"at": "a"}'), ("take", '{"it": "b"}'))
    a, b = '{"at": "a"}', '{"it": "b"}'
    disorder = _calling(
        _piece(1, "take", "", "c1"), _piece(0, "look", "", "c0"), _piece(1, None, b[:5]), _piece(0, None, a), _piece(1, None, b[5:])
    )
    yield Fault(19, "out of order", True, disorder, outcome="unanswered", holds=two)
    nameless = lambda reply: two(reply) and len({call.id for call in reply.tool_calls}) == 2  # noqa: E731
    yield Fault(19, "without ids", True, _calling(_piece(0, "look", a), _piece(1, "take", b)), outcome="unanswered", holds=nameless)
    same = _calling(_piece(0, "look", a, "c0"), _piece(0, "take", b, "c1"))
    yield Fault(19, "one index for two", True, same, outcome="unanswered", holds=two)
    escape = '{"at": "\\u20ac\\""}'
    split = _calling(_piece(0, "look", "", "c0"), *(_piece(0, None, letter) for letter in escape))
    yield Fault(19, "cut in escapes", True, split, outcome="unanswered", holds=made(("look", escape)))
    open_end = _calling(_piece(0, "look", '{"at": ', "c0"))
    yield Fault(19, "arguments left open", True, open_end, outcome="unanswered", holds=made(("look", '{"at": ')))
    call = {"id": KEY, "type": "function", "function": {"name": "look", "arguments": "{"}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield from _without_stream(19, ("a call", lambda w: _choice(w, message=message, finish_reason="tool_calls")))


def _finishes() -> Iterator[Fault]:
    def finishing(reason: object) -> Steps:
        return _streamed(lambda e: [*e[:3], {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}, e[4]])

    for reason, known in (("content_filter", "content_filter"), ("paused", "unknown"), (None, "unknown")):
        is_it = lambda reply, known=known: reply.finish == known  # noqa: E731
        yield Fault(20, f"{reason}", True, finishing(reason), holds=is_it)
    # The last line of a cut reply may be cut as well: it answers nothing.
    yield Fault(20, "length", True, finishing("length"), outcome="truncated")
    cut = _streamed(lambda e: [e[0], {"choices": [{"index": 0, "delta": {"content": "so "}, "finish_reason": "length"}]}])
    yield Fault(20, "cut short", True, cut, outcome="truncated")
    filtered = _streamed(lambda e: [e[0], {"choices": [{"index": 0, "delta": {}, "finish_reason": "content_filter"}]}])
    yield Fault(20, "nothing but filtered", True, filtered, outcome="refused")
    yield from _without_stream(20, ("length", lambda w: _choice(w, finish_reason="length")))


def _impostors() -> Iterator[Fault]:
    steps = _streamed(lambda e: [x | {"model": f"other-{KEY}"} for x in e])
    is_stored = lambda reply: reply.served_model == "other-[key]"  # noqa: E731
    yield Fault(21, "noted", True, steps, holds=is_stored)
    yield Fault(21, "refused", True, steps, "wrong_model", gives_up=True, settings={"verify_model": True})
    yield from _without_stream(21, ("another", lambda w: w | {"model": "other"}))


def _redirects() -> Iterator[Fault]:
    for code in (301, 302, 307, 308):

        def steps(_words: str, other: str, code: int = code) -> Iterator[Step]:
            return endpoint.status(code, b"", Location=f"{other}/chat/completions?key={KEY}")

        def with_stream(words: str, other: str, code: int = code) -> Iterator[Step]:
            head = f"HTTP/1.1 {code} Moved\r\nLocation: {other}/chat/completions\r\n".encode()
            data = _sse(*_events(words), b"[DONE]")
            yield Send, _STREAM.replace(b"HTTP/1.1 200 OK\r\n", head) + _chunk(data) + b"0\r\n\r\n"

        yield Fault(22, f"{code}", False, steps, "rejected")
        yield Fault(22, f"{code} with a reply", True, with_stream, "rejected")


def _restarts() -> Iterator[Fault]:
    between = lambda _w, _o: [(Away, 0.25)]  # noqa: E731
    yield Fault(23, "before a byte", False, between, None, 2, once=True, patience=_LASTING)
    within = lambda words, _: [*list(endpoint.stream(_events(words)))[:3], (Wait, 0.01), (Away, 0.25)]  # noqa: E731
    yield Fault(23, "within a reply", True, within, None, 2, once=True, patience=_LASTING)


def _kept() -> Iterator[Fault]:
    # No try is used up: one is all that there is.
    yield Fault(24, "closed", True, lambda _w, _o: [(End, None)], None, 2, once=True, patience=Patience(tries=1))
    yield Fault(24, "reset", False, lambda _w, _o: [(Reset, None)], None, 2, once=True, patience=Patience(tries=1))


def _clocks() -> Iterator[Fault]:
    no_rate = lambda reply: decode_rate(reply) is None  # noqa: E731
    yield Fault(25, "all in one packet", True, _raw(lambda w: _sse(*_events(w), b"[DONE]")), holds=no_rate)
    date = b"HTTP/1.1 200 OK\r\nDate: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
    dated = lambda words, _: [(Send, _STREAM.replace(b"HTTP/1.1 200 OK\r\n", date)), *list(endpoint.stream(_events(words)))[1:]]  # noqa: E731
    yield Fault(25, "another century", True, dated)
    wrong = {"prompt_n": 10, "prompt_ms": -5, "predicted_n": 40, "predicted_ms": -1e9, "predicted_per_second": 1e6}
    negative = _streamed(lambda e: [*e[:-1], e[-1] | {"timings": wrong}])
    yield Fault(25, "negative times", True, negative, holds=lambda reply: reply.server_timings is None)
    skewed = {"Retry_After": "Fri, 31 Dec 1999 23:59:59 GMT", "Date": "Fri, 31 Dec 1999 23:59:58 GMT"}
    yield Fault(25, "a wait in another century", False, _http(429, None, **skewed), "overload", 2)


_MODES = (
    _overload, _server_errors, _refusals, _connections, _silence, _drips, _cuts, _ends, _extras, _bytes, _broken,
    _errors_in_200, _login, _giants, _bombs, _usages, _choices, _fields, _tool_calls, _finishes, _impostors, _redirects,
    _restarts, _kept, _clocks,
)  # fmt: skip

FAULTS: tuple[Fault, ...] = tuple(fault for mode in _MODES for fault in mode())
