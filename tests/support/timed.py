"""Replies with known moments and counts, for tests of what follows from them."""

from crucibleforge.chat import Reply, ServerTimings, Timing, Trace, Usage


def replied(stamps_s, tokens=None, **fields):
    """A reply whose tokens came at `stamps_s`. Fields: reads, counts, prompt, cached, timings, sent_ns, reasoning ..."""
    tokens = len(stamps_s) if tokens is None else tokens
    reads = fields.get("reads") or tuple((stamp_s, 200) for stamp_s in stamps_s)
    trace = Trace(
        fields.get("sent_ns", 0),
        headers_s=fields.get("headers_s", 0.001),
        stamps_s=tuple(stamps_s),
        counts=fields.get("counts", ()),
        reads=tuple(reads),
        resent=fields.get("resent", 0),
    )
    thought_s, spoke_s = fields.get("thought_s"), fields.get("spoke_s", stamps_s[0] if stamps_s else None)
    timing = Timing(
        total_s=(stamps_s[-1] if stamps_s else 0.0) + 0.001,
        first_event_s=stamps_s[0] if stamps_s else None,
        first_reasoning_s=thought_s,
        first_content_s=spoke_s,
        last_token_s=stamps_s[-1] if stamps_s else None,
        token_events=len(stamps_s),
        first_event_tokens=fields.get("n1"),
        trace=trace,
    )
    usage = Usage(
        fields.get("prompt", 50), tokens, fields.get("thoughts"), fields.get("cached"), source=fields.get("source", "usage")
    )
    return Reply(text="x", finish="length", usage=usage, timing=timing, server_timings=fields.get("timings"))


def every(gap_s, count, first_s=0.1):
    """Moments of tokens that come one by one."""
    return [round(first_s + gap_s * at, 6) for at in range(count)]


def stated(predicted_n=64, predicted_ms=630.0, **fields):
    """llama.cpp's own account."""
    return ServerTimings(fields.pop("prompt_n", 50), fields.pop("prompt_ms", 90.0), predicted_n, predicted_ms, **fields)
