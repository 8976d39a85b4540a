"""A scripted chat endpoint: real sockets, raw HTTP, so that it can also do what no HTTP library would.

It runs in a thread of its own, on a free loopback port, and remembers every request.
"""

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Send, Wait, Drop = "send", "wait", "drop"
# As Drop, but in an orderly way, what was sent being read; by a TCP reset; and with the whole server going away for so
# many seconds, or until it is told to come `back`.
End, Reset, Away = "end", "reset", "away"
Step = tuple[str, object]


@dataclass
class Endpoint:
    """What a test sees of a running endpoint."""

    url: str
    requests: list[dict] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    connections: int = 0
    back: Callable[[], None] = lambda: None


def stream(events: Iterable[object], *, done: bool = True, delay_s: float = 0.0) -> Iterator[Step]:
    """A 200 reply whose events are given as objects (JSON) or bytes (sent as they are)."""
    yield Send, b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    for event in events:
        if delay_s:
            yield Wait, delay_s
        data = event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n"
        yield Send, _chunk(data)
    if done:
        yield Send, _chunk(b"data: [DONE]\n\n")
    yield Send, b"0\r\n\r\n"


def held(events: Iterable[dict], *, size_bytes: int, delay_s: float) -> Iterator[Step]:
    """A reply through a proxy that lets nothing pass until it has so many bytes; an event is made every `delay_s`."""
    steps, waiting = stream(events, delay_s=delay_s), b""
    yield next(steps)
    for kind, value in steps:
        if kind != Send:
            yield kind, value
        elif len(waiting := waiting + value) >= size_bytes:
            yield Send, waiting
            waiting = b""
    yield Send, waiting


def combed(events: Iterable[dict], together: int) -> Iterator[Step]:
    """A reply whose small packets wait for the acknowledgement of the one before: several events every 40 ms."""
    steps = [value for _, value in stream(events)]
    yield Send, steps[0]
    for at in range(1, len(steps), together):
        yield Wait, 0.040
        yield Send, b"".join(steps[at : at + together])


def text(words: str, *, finish: str = "stop", tokens: int | None = None, model: str = "fake") -> Iterator[Step]:
    """A whole reply of plain text, a word an event, with usage."""
    parts = words.split(" ")
    deltas = [{"content": part if index == 0 else " " + part} for index, part in enumerate(parts)]
    return stream(chat(deltas, finish, tokens or len(parts), model))


def calls(made: Iterable[tuple[str, str]], words: str = "") -> Iterator[Step]:
    """A reply with tool calls, each a name and the JSON text of its arguments."""
    deltas: list[dict] = [{"content": words}] if words else []
    for index, (name, arguments) in enumerate(made):
        call = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [call]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
    return stream(chat(deltas, "tool_calls", len(deltas), "fake"))


def chat(deltas: Iterable[dict], finish: str, tokens: int, model: str) -> Iterator[dict]:
    """The events of a reply as servers send them: role first, usage last in an event without choices."""
    yield {"model": model, "choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}
    for delta in deltas:
        yield {"model": model, "choices": [{"index": 0, "delta": delta}]}
    yield {"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    yield {"model": model, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": tokens}}


def status(code: int, body: object, **headers: str) -> Iterator[Step]:
    """A reply with this status, a JSON body and no stream."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    kind = "" if "Content_Type" in headers else "Content-Type: application/json\r\n"
    head = f"HTTP/1.1 {code} Whatever\r\n{kind}{extra}Content-Length: {len(data)}\r\n\r\n"
    yield Send, head.encode() + data


def listing(*ids: str, **facts: object) -> Iterator[Step]:
    """The answer to `/models`."""
    return status(200, {"object": "list", "data": [{"id": name, **facts} for name in ids]})


@contextmanager
def serving(
    answer: Callable[[dict], Iterable[Step]], models: Callable[[], Iterable[Step]] = lambda: listing("fake")
) -> Iterator[Endpoint]:
    """Serve until the context is left. `answer` turns the body of a chat request into steps."""
    ready, box = threading.Event(), {}

    async def serve() -> None:
        stop = asyncio.Event()
        listener = _Listener(lambda r, w: _connection(listener, answer, models, r, w))
        await listener.listen()
        loop = asyncio.get_running_loop()
        url = f"http://127.0.0.1:{listener.port}/v1"
        back = lambda: asyncio.run_coroutine_threadsafe(listener.listen(), loop).result(5)  # noqa: E731
        listener.endpoint = Endpoint(url, back=back)
        box.update(loop=loop, stop=stop, endpoint=listener.endpoint)
        ready.set()
        await stop.wait()
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    ready.wait(5)
    try:
        yield box["endpoint"]
    finally:
        box["loop"].call_soon_threadsafe(box["stop"].set)
        thread.join(5)


class _Listener:
    """A port that is listened to or refuses, and stays ours in either state."""

    def __init__(self, connected) -> None:
        self._connected = connected
        self._server = None
        self._held = _bound(0)
        self.port = self._held.getsockname()[1]

    async def listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, sock=self._held, backlog=1024)

    def refuse(self) -> None:
        self._server.close()
        self._server = None
        self._held = _bound(self.port)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._held.close()


def _bound(port: int) -> socket.socket:
    # asyncio switches Nagle's algorithm off for sockets that say that they are TCP.
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", port))
    return held


async def _connection(listener, answer, models, reader, writer) -> None:
    listener.endpoint.connections += 1
    try:
        while await _exchange(listener, answer, models, reader, writer):
            pass
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        pass  # the other side has gone, or the test has ended; asyncio would print what else it gets to see
    finally:
        writer.close()


async def _exchange(listener, answer, models, reader, writer) -> bool:
    endpoint = listener.endpoint
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    endpoint.headers.append(head)
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")), 0)
    body = await reader.readexactly(length)
    if head.startswith("GET"):
        steps = models()
    else:
        request = json.loads(body)
        endpoint.requests.append(request)
        steps = answer(request)
    for kind, value in steps:
        if kind == Wait:
            await asyncio.sleep(value)
        elif kind == Drop:
            writer.transport.abort()
            return False
        elif kind == End:
            return False
        elif kind == Reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        elif kind == Away:
            writer.transport.abort()
            listener.refuse()
            if value is not None:
                await asyncio.sleep(value)
                await listener.listen()
            return False
        else:
            writer.write(value)
            await writer.drain()
    return True


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
