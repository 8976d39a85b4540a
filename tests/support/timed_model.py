"""A session whose model has known speeds and whose time passes only when it is asked."""

import asyncio

import timed

from crucibleforge.chat import ServerTimings
from crucibleforge.errors import Trouble
from crucibleforge.types import Served

CHARACTERS_PER_TOKEN = 4


class TimedModel:
    """`speed(n)` is tokens a second of the nth reply, from 0; `lose(n)` True, or a kind of trouble, loses it. `now_s` is its clock."""

    def __init__(self, *, speed=lambda _: 100.0, reading=1000.0, slots=2, window=4096, lose=lambda _: False, cut=None):
        self.served = Served("fake", "m", window, slots)
        self.requests, self.now_s = [], 100.0
        self._speed, self._reading, self._lose, self._cut = speed, reading, lose, cut
        self._running = 0

    def clock(self):
        return self.now_s

    def notices(self):
        return ("the server refuses min_p",)

    async def ask(self, request):
        number, sent_s = len(self.requests), self.now_s
        self.requests.append(request)
        if kind := self._lose(number):
            raise Trouble("transport" if kind is True else kind, "gone")
        self._running += 1
        queue_s = 1.0 if self._running > self.served.slots else 0.0
        await asyncio.sleep(0)
        prompt = sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN
        prompt = min(prompt, self._cut or prompt)
        cached = sum(len(message.content) for message in request.messages[:-1]) // CHARACTERS_PER_TOKEN
        # Only a conversation that goes on has been seen before.
        is_seen = request.extra.get("cache_prompt") and len(request.messages) > 3 and request.messages[-1].content.startswith("Go on")
        cached = min(cached, prompt) if is_seen else 0
        read_s = (prompt - cached) / self._reading
        stamps = timed.every(1 / self._speed(number), request.max_tokens, queue_s + 0.01 + read_s)
        own_ms = (request.max_tokens - 1) / self._speed(number) * 1e3
        timings = ServerTimings(prompt - cached, read_s * 1e3, request.max_tokens, own_ms, cached)
        reply = timed.replied(stamps, prompt=prompt, cached=cached, timings=timings, sent_ns=int(sent_s * 1e9))
        self.now_s = max(self.now_s, sent_s + reply.timing.total_s)
        self._running -= 1
        return reply
