"""How long a request may take, from what the model has shown so far. Pure."""

from __future__ import annotations

from crucibleforge.chat import Reply, Request
from crucibleforge.stats.rates import decode_rate

_SAMPLES = 3
_MARGIN = 4.0
"""A request may be this many times slower than the slowest one seen: caches, batches and heat account for less."""
_LEAST_S = 60.0
_CHARACTERS_PER_TOKEN = 2.5


class Pace:
    """Sizes deadlines. Until `_SAMPLES` replies have been timed it is `most_s`, and it is never more than that.

    A fixed limit is wrong both ways: it lets a dead server hold a slot for a quarter of an hour, and it fails a slow
    machine on its longest cases. After a deadline was missed they are twice as long.
    """

    def __init__(self, most_s: float) -> None:
        self._most_s = most_s
        self._decode: list[float] = []
        self._prefill: list[float] = []
        self._factor = 1.0

    def look(self, reply: Reply) -> None:
        """Learn from a reply."""
        rate, first = decode_rate(reply), reply.timing.first_token_s
        if rate is None or first is None:
            return
        self._decode.append(rate)
        uncached = (reply.usage.prompt_tokens or 0) - (reply.usage.cached_tokens or 0)
        self._prefill.append(max(uncached, 1) / max(first, 1e-3))

    def was_late(self) -> None:
        """A deadline was missed; perhaps it was too short."""
        self._factor *= 2

    def deadline_s(self, request: Request) -> float:
        """Seconds for this request, its whole budget of tokens used."""
        if len(self._decode) < _SAMPLES:
            return self._most_s
        prompt = sum(len(message.content) for message in request.messages) / _CHARACTERS_PER_TOKEN
        seconds = request.max_tokens / min(self._decode) + prompt / min(self._prefill)
        return min(self._most_s, max(_LEAST_S, _MARGIN * seconds) * self._factor)
