"""A chat endpoint that costs next to nothing and keeps time; the benches start it as a process of its own.

It answers every request by what the first user message says, a JSON object:

    {}                                               at once, with `ANSWER: 42`
    {"rounds_ms": [20, 35]}                          after so many ms, one number a round of the dialogue
    {"first_ms": 50, "every_ms": 5, "tokens": 200}   token by token, each holding the moment it was sent

One thread, one selector: it sleeps until shortly before the next byte is due and spins the rest, so that it is late by
microseconds. Times are of `perf_counter`, which on Linux is one clock for all processes.
"""

from __future__ import annotations

import heapq
import json
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time

SPIN_S = 0.0015
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
MODELS = json.dumps({"object": "list", "data": [{"id": "fake", "object": "model"}]}).encode()


def chunk(event: object) -> bytes:
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    data = b"data: " + data + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def delta(fields: dict, finish: str | None = None) -> bytes:
    return chunk({"model": "fake", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def ending(tokens: int, model: str = "fake") -> bytes:
    usage = {"prompt_tokens": 10, "completion_tokens": tokens}
    closing = chunk({"model": model, "choices": [], "usage": usage}) + chunk(b"[DONE]") + b"0\r\n\r\n"
    return delta({}, "stop") + closing


def whole(data: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data)


ROLE = delta({"role": "assistant", "content": ""})
ANSWER = HEAD + ROLE + delta({"content": "ANSWER: 42"}) + ending(5)
PLAIN = whole(
    json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ANSWER: 42"}}
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    ).encode()
)
STAMP_DIGITS = 20
TOKEN = delta({"content": "#" * STAMP_DIGITS + " "})
PLACE = TOKEN.index(b"#")


def stamped(t_ns: int) -> bytes:
    return TOKEN[:PLACE] + b"%020d" % t_ns + TOKEN[PLACE + STAMP_DIGITS :]


class Server:
    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        self.inboxes: dict[socket.socket, bytearray] = {}
        self.due: list[tuple[float, int, socket.socket, bytes | None]] = []
        self.order = count()

    def run(self) -> None:
        while True:
            wait = max(self.due[0][0] - perf_counter() - SPIN_S, 0.0) if self.due else None
            for key, _ in self.selector.select(wait):
                if key.fileobj is sys.stdin:
                    return
                self.listen() if key.fileobj is self.listener else self.read(key.fileobj)
            while self.due and self.due[0][0] - perf_counter() < SPIN_S:
                at, _, client, data = heapq.heappop(self.due)
                while perf_counter() < at:
                    pass
                self.send(client, stamped(perf_counter_ns()) if data is None else data)

    def listen(self) -> None:
        client, _ = self.listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(client, selectors.EVENT_READ)
        self.inboxes[client] = bytearray()

    def read(self, client: socket.socket) -> None:
        got = client.recv(65536)
        if not got:
            self.selector.unregister(client)
            self.inboxes.pop(client).clear()
            client.close()
            return
        now_ns = perf_counter_ns()
        inbox = self.inboxes[client]
        inbox += got
        head, blank, body = inbox.partition(b"\r\n\r\n")
        if not blank:
            return
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line[15:])
        if len(body) >= length:
            inbox.clear()
            self.answer(client, now_ns, head.startswith(b"GET"), bytes(body))

    def answer(self, client: socket.socket, now_ns: int, is_listing: bool, body: bytes) -> None:
        if is_listing:
            self.send(client, whole(MODELS))
            return
        # The scripts stand in the body as JSON within JSON; most requests have none, and are not parsed.
        script = {}
        if b"_ms" in body:
            messages = json.loads(body)["messages"]
            script = json.loads(messages[0]["content"])
        if "rounds_ms" in script:
            wait_s = script["rounds_ms"][sum(message["role"] == "assistant" for message in messages)] / 1e3
            self.later(now_ns * 1e-9 + wait_s, client, ANSWER)
        elif "every_ms" in script:
            self.send(client, HEAD)
            at = now_ns * 1e-9 + script["first_ms"] / 1e3
            for index in range(script["tokens"]):
                self.later(at + index * script["every_ms"] / 1e3, client, None)
            end = at + (script["tokens"] - 1) * script["every_ms"] / 1e3 + 1e-5
            # The end names, as its model, the moment at which the request had arrived.
            self.later(end, client, ending(script["tokens"], str(now_ns)))
        else:
            self.send(client, ANSWER if b'"stream":true' in body.replace(b" ", b"") else PLAIN)

    def later(self, at: float, client: socket.socket, data: bytes | None) -> None:
        heapq.heappush(self.due, (at, next(self.order), client, data))

    def send(self, client: socket.socket, data: bytes) -> None:
        try:
            client.send(data)  # loopback buffers hold far more than any answer of ours
        except OSError:
            self.due = [entry for entry in self.due if entry[2] is not client]
            heapq.heapify(self.due)


@contextmanager
def serving() -> Iterator[tuple[str, subprocess.Popen]]:
    """The base URL of an endpoint in a process of its own, which says at its end how much CPU it took."""
    program = [sys.executable, str(Path(__file__).resolve())]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1", process
        finally:
            process.stdin.close()


def cpu_s(process: subprocess.Popen) -> float:
    """End an endpoint; its seconds of CPU."""
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    return float(process.stdout.readline())


if __name__ == "__main__":
    server = Server()
    print(server.listener.getsockname()[1], flush=True)
    server.run()
    with suppress(BrokenPipeError):
        print(process_time(), flush=True)
