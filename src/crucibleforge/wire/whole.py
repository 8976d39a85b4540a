"""A reply that came in one piece: a `chat.completion` body, as batch services write it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from crucibleforge.chat import Reply, Timing
from crucibleforge.errors import Trouble
from crucibleforge.wire.collect import Collector


def reply(body: dict[str, Any]) -> Reply:
    """The reply in a body. It is read as a stream of one event, so both ways know the same dialects.

    Nobody measured when its tokens came: it has no times, and the server's own are not kept.

    Raises:
        Trouble: the body holds no reply, or more than one.
        Malformed: the server could not parse the model's tool call.
    """
    choices = body.get("choices")
    whole = choices if isinstance(choices, list) else []
    if not any(isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in whole):
        raise Trouble("protocol", "the body holds no message")
    streamed = [choice | {"delta": choice.get("message")} if isinstance(choice, dict) else choice for choice in whole]
    # An `object` says nothing here that the choices do not; an error has its own place in a batch.
    event = {key: body[key] for key in ("model", "usage") if key in body} | {"choices": streamed}
    try:
        data = json.dumps(event)
    except (ValueError, RecursionError):
        raise Trouble("protocol", "the body nests deeper, or has longer numbers, than can be read") from None
    collector = Collector(0)
    collector.feed(0, f"data: {data}\n\ndata: [DONE]\n\n".encode())
    return msgspec.structs.replace(collector.reply(0), timing=Timing(total_s=0.0), server_timings=None)
