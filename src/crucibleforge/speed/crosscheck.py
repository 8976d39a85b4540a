"""What the client measured beside what the server says of itself, as a difference.

Servers disagree with each other and with their own past on what their durations span, so their rates are worked out
anew from counts and milliseconds, and a difference is information before it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from crucibleforge.chat import ServerTimings
from crucibleforge.speed.median import median
from crucibleforge.speed.sample import MIN_TOKENS, Sample
from crucibleforge.speed.slope import Prefill, prefill

_DECODE = 0.01
_PREFILL = 0.05
_LMSTUDIO_DECODE, _LMSTUDIO_TTFT_S = 0.03, 0.030


class Check(Struct, frozen=True, omit_defaults=True):
    """One quantity by both accounts, medians over `n` requests.

    `difference` is a share of the server's figure for rates, else client less server in `unit`. `most` is how far apart
    they may be, None where any difference is information; `agrees` follows. `rule` says what was compared.
    """

    what: str
    unit: Literal["tok/s", "tokens", "s"]
    client: float
    server: float
    difference: float
    rule: str
    n: int
    most: float | None = None
    agrees: bool | None = None


def crosscheck(samples: Sequence[Sample]) -> tuple[Check, ...]:
    """Every comparison that the server's own figures allow; none where it states none."""
    pairs = [
        (sample, sample.reply.server_timings)
        for sample in samples
        if sample.is_whole and sample.reply is not None and sample.reply.server_timings is not None
    ]
    if not pairs:
        return ()
    source = pairs[0][1].source
    checks = [_decode(pairs), _counts(pairs), _ttft(pairs) if source == "lmstudio" else _before(pairs)]
    return tuple(check for check in checks if check is not None)


def crosscheck_prefill(mine: Prefill, points: Sequence[Sequence[tuple[int, float]]]) -> Check | None:
    """The reading speed by slope, from the client's times and from the server's own.

    Args:
        mine: By the client's times.
        points: As for `prefill`, with the server's tokens and seconds.
    """
    own = prefill(points)
    if own is None or own.per_s is None or mine.per_s is None:
        return None
    n = sum(len(repeats) for repeats in points)
    off = mine.per_s / own.per_s - 1
    rule = "slope of the time to the first token against slope of the server's prompt time"
    return Check("prefill", "tok/s", mine.per_s, own.per_s, off, rule, n, _PREFILL, abs(off) <= _PREFILL)


_Pairs = Sequence[tuple[Sample, ServerTimings]]
_Convention = tuple[str, Callable[[ServerTimings], float]]
_FROM_FIRST: _Convention = ("(N - 1) / time, which begins at the first token", lambda own: own.predicted_n - 1)
_FROM_BEFORE: _Convention = ("N / time, which begins before the first token", lambda own: own.predicted_n)


def _decode(pairs: _Pairs) -> Check | None:
    """By the reading of the server's duration that fits: builds of llama.cpp differ in where it begins."""
    rated = [
        (sample.decode.per_s, own)
        for sample, own in pairs
        if sample.decode is not None and own.predicted_n >= MIN_TOKENS and own.predicted_ms > 0
    ]
    if not rated:
        return None
    source = rated[0][1].source
    known = {"ollama": (_FROM_FIRST,), "lmstudio": (_FROM_BEFORE, _FROM_FIRST)}
    checks = []
    for rule, tokens in known.get(source, (_FROM_FIRST, _FROM_BEFORE)):
        servers = [tokens(own) / own.predicted_ms * 1e3 for _, own in rated]
        off = median([mine / server - 1 for (mine, _), server in zip(rated, servers, strict=True)])
        most = _LMSTUDIO_DECODE if source == "lmstudio" else _DECODE
        mine = median([mine for mine, _ in rated])
        checks.append(Check("decode", "tok/s", mine, median(servers), off, rule, len(rated), most, abs(off) <= most))
    return min(checks, key=lambda check: abs(check.difference))


def _counts(pairs: _Pairs) -> Check | None:
    """Prompt tokens by usage against those read and those out of the cache."""
    counted = [
        (sample.prompt_tokens, own.prompt_n + own.cache_n)
        for sample, own in pairs
        if sample.prompt_tokens is not None and sample.count_source == "usage"
    ]
    if not counted:
        return None
    worst = max((mine - own for mine, own in counted), key=abs)
    mine, own = (median([float(pair[at]) for pair in counted]) for at in (0, 1))
    rule = "usage against tokens read and tokens out of the cache; the worst reply"
    return Check("prompt tokens", "tokens", mine, own, worst, rule, len(counted), 0.0, worst == 0)


def _before(pairs: _Pairs) -> Check | None:
    """Time to the first token less what the server spent on reading: queue, HTTP, template. Never below nothing."""
    waits = [(sample.ttft_any_s, sample.wait_s) for sample, _ in pairs if sample.wait_s is not None]
    known = [(first, wait) for first, wait in waits if first is not None]
    if not known:
        return None
    first, wait = median([first for first, _ in known]), median([wait for _, wait in known])
    rule = "time to the first token against the server's prompt and load time; the rest is queue, template, HTTP"
    return Check("first token", "s", first, first - wait, wait, rule, len(known), agrees=wait >= 0)


def _ttft(pairs: _Pairs) -> Check | None:
    known = [(sample.ttft_any_s, own.prompt_ms / 1e3) for sample, own in pairs if sample.ttft_any_s is not None]
    if not known:
        return None
    mine, own = (median([pair[at] for pair in known]) for at in (0, 1))
    rule = "time to the first token by both"
    is_near = abs(mine - own) <= _LMSTUDIO_TTFT_S
    return Check("first token", "s", mine, own, mine - own, rule, len(known), _LMSTUDIO_TTFT_S, is_near)
