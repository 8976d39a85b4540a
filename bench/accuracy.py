"""How true the times are that the client takes.

    python bench/accuracy.py               against an endpoint that sends the moment of each token inside it
    python bench/accuracy.py --embedded    against the embedded llama.cpp, whose own timings are the truth

The truth of a first token is the moment it was sent less the moment the whole request had arrived; of a rate, the
moments of the first and last token. Client and endpoint share one monotonic clock (Linux). Bars: error of the first
token median <= 0.5 ms, p99 <= 2 ms; decode rate within 1% for each reply; at 32 streams within 3% of the sum;
embedded: decode within 1% of its own, prompt counts equal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import socket
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from urllib.parse import urlsplit

import bed
import endpoint
import msgspec

from crucibleforge.chat import Message, Reply, Request
from crucibleforge.config import builtin_target
from crucibleforge.providers import Session, _builtin, llamacpp, openai
from crucibleforge.stats.rates import decode_rate, server_decode_rate
from crucibleforge.types import Thinking
from crucibleforge.wire.request import body

STREAMS = 32
LEAST_TOKENS = 64


class Bars:
    """Says how each figure stands to its bar, and whether all are met."""

    def __init__(self) -> None:
        self.are_met = True

    def said(self, name: str, value: float, most: float, unit: str) -> None:
        is_met = value <= most
        self.are_met = self.are_met and is_met
        print(f"{'pass' if is_met else 'FAIL'}  {name}: {value:.3f} {unit} (bar <= {most:g})", flush=True)


def asking(script: dict, max_tokens: int) -> Request:
    return Request((Message("user", json.dumps(script)),), (), max_tokens)


def timed(draw: random.Random, tokens: int, every_ms: tuple[float, float]) -> Request:
    script = {"first_ms": draw.uniform(5, 60), "every_ms": draw.uniform(*every_ms), "tokens": tokens}
    return asking(script, tokens)


def stamps(reply: Reply) -> tuple[int, list[int]]:
    """When the request had arrived and when each token was sent, in ns; the endpoint's own account."""
    assert reply.served_model
    return int(reply.served_model), [int(word) for word in reply.text.split()]


def first_error_ms(reply: Reply) -> float:
    arrived_ns, sent_ns = stamps(reply)
    assert reply.timing.first_content_s is not None
    return abs(reply.timing.first_content_s * 1e3 - (sent_ns[0] - arrived_ns) / 1e6)


def bare_error_ms(url: str, request: Request) -> float:
    """The same error of a bare blocking socket: what of it is the machine's and not ours."""
    data = body(bed.target(url, 1), request)
    address = urlsplit(url)
    with socket.create_connection((str(address.hostname), address.port or 0)) as client:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        client.sendall(head.encode() + data)
        began_ns, first_ns, got = perf_counter_ns(), 0, b""
        while not got.endswith(b"0\r\n\r\n"):
            got += client.recv(65536)
            if not first_ns and b'"content"' in got:
                first_ns = perf_counter_ns()
    sent, arrived = re.search(rb'"content": "(\d+) "', got), re.search(rb'"model": "(\d+)"', got)
    assert sent
    assert arrived
    arrived_ns, sent_ns = int(arrived[1]), int(sent[1])
    return abs((first_ns - began_ns) - (sent_ns - arrived_ns)) / 1e6


def rates(reply: Reply) -> tuple[float, float]:
    """Tokens per second as the client takes it and in truth."""
    _, sent_ns = stamps(reply)
    mine = decode_rate(reply)
    assert mine is not None
    return mine, (len(sent_ns) - 1) / (sent_ns[-1] - sent_ns[0]) * 1e9


def off(pair: tuple[float, float]) -> float:
    return abs(pair[0] / pair[1] - 1) * 100


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@contextmanager
def apart(endpoint_pid: int) -> Iterator[None]:
    """Client and endpoint on a core each, where there are two.

    The endpoint waits for its moments by spinning; a client that the kernel puts on the same core waits for the end of
    its time slice, 4 ms, which is the instrument's error and not the client's.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(cores) < 2:
        yield
        return
    os.sched_setaffinity(endpoint_pid, {cores[0]})
    os.sched_setaffinity(0, {cores[1]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


async def against_endpoint(replies: int, seed: int, bars: Bars) -> None:
    draw = random.Random(seed)
    with endpoint.serving() as (url, process), apart(process.pid):
        async with openai.PROVIDER.open(bed.target(url, STREAMS)) as session:
            await session.ask(timed(draw, 20, (1, 2)))
            alone = [await session.ask(timed(draw, 20, (0.5, 2))) for _ in range(replies)]
            bare = [bare_error_ms(url, timed(draw, 20, (0.5, 2))) for _ in range(replies)]
            # As long as replies worth timing are: a wake-up that is 5 ms late is 1% of half a second.
            long = [await session.ask(timed(draw, 150, (3, 8))) for _ in range(max(replies // 4, 1))]
            together = await asyncio.gather(*(session.ask(timed(draw, 200, (15, 25))) for _ in range(STREAMS)))
    errors = [first_error_ms(reply) for reply in alone]
    bars.said("first token, one client, median", statistics.median(errors), 0.5, "ms off")
    bars.said("first token, one client, p99", percentile(errors, 0.99), 2.0, "ms off")
    print(
        f"      a bare socket, beside it: median {statistics.median(bare):.3f}, p99 {percentile(bare, 0.99):.3f} ms off"
    )
    decode = [off(rates(reply)) for reply in long]
    bars.said("decode rate, one client, median", statistics.median(decode), 1.0, "% off")
    bars.said("decode rate, one client, worst", max(decode), 1.0, "% off")
    both = [rates(reply) for reply in together]
    total = (sum(mine for mine, _ in both), sum(true for _, true in both))
    bars.said(f"{STREAMS} streams, {total[1]:.0f} tok/s in all", off(total), 3.0, "% off")
    print(f"      first token there, median: {statistics.median(map(first_error_ms, together)):.3f} ms off")


async def against_embedded(replies: int, bars: Bars) -> None:
    target = msgspec.structs.replace(
        builtin_target(), path=str(_builtin.path(say=print)), thinking=Thinking(mode="off")
    )
    kept: list[Reply] = []
    async with llamacpp.PROVIDER.open(target) as session:
        for number in range(4 * replies):
            reply = await told(session, number)
            if (reply.usage.completion_tokens or 0) >= LEAST_TOKENS:
                kept.append(reply)
            if len(kept) == replies:
                break
    assert len(kept) == replies, f"only {len(kept)} replies had {LEAST_TOKENS} tokens"
    decode, unequal = [], 0
    for reply in kept:
        timings = reply.server_timings
        assert timings is not None
        mine, own = decode_rate(reply), server_decode_rate(timings)
        assert mine is not None
        assert own is not None
        decode.append(off((mine, own)))
        unequal += reply.usage.prompt_tokens != timings.prompt_n + timings.cache_n
    bars.said(f"decode rate, embedded, median of {replies}", statistics.median(decode), 1.0, "% off its own")
    bars.said("decode rate, embedded, worst", max(decode), 1.0, "% off its own")
    bars.said("prompt counts that differ", unequal, 0, "replies")


async def told(session: Session, number: int) -> Reply:
    text = f"Tell me a long story about {number + 2} ships and a lighthouse, with many details."
    return await session.ask(Request((Message("user", text),), (), 160))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--replies", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    bars = Bars()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.embedded:
        asyncio.run(against_embedded(options.replies or 20, bars))
    else:
        asyncio.run(against_endpoint(options.replies or 100, options.seed, bars))
    return 0 if bars.are_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
