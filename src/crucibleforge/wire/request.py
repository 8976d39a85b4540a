"""A request in the dialect of `/chat/completions`."""

from __future__ import annotations

from typing import Any

import msgspec

from crucibleforge.chat import Message, Request, Tool
from crucibleforge.types import Target


def body(target: Target, request: Request, dropped: frozenset[str] = frozenset()) -> bytes:
    """The JSON body of a streamed request.

    `extra_body` of the target, and over it `extra` of the request, are laid under the fields that we set, object into
    object, so they can add but never redirect a request. `extra` wins over the target's sampling.

    Args:
        target: Whom to ask, and how.
        request: What to ask.
        dropped: Parameters that the server refuses and that are left out; without `max_tokens` the limit is sent as
            `max_completion_tokens`.
    """
    core: dict[str, Any] = {
        "model": target.model_id,
        "messages": [_message(message) for message in request.messages],
        "max_completion_tokens" if "max_tokens" in dropped else "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    sampling = {key: value for key, value in msgspec.structs.asdict(target.sampling).items() if value is not None}
    if request.tools:
        core["tools"] = [_tool(tool) for tool in request.tools]
    if request.thinking is False:
        core["chat_template_kwargs"] = {"enable_thinking": False}
    whole = _merged(_merged(_merged(target.extra_body, sampling), request.extra), core)
    return msgspec.json.encode({key: value for key, value in whole.items() if key not in dropped})


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Both, `over` winning; an object on both sides is merged in its turn."""
    merged = under | over
    for key in under.keys() & over.keys():
        if isinstance(under[key], dict) and isinstance(over[key], dict):
            merged[key] = _merged(under[key], over[key])
    return merged


def _message(message: Message) -> dict[str, Any]:
    wired: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wired["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.reasoning:
        wired["reasoning_content"] = message.reasoning
    if message.tool_call_id:
        wired["tool_call_id"] = message.tool_call_id
    return wired


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": msgspec.structs.asdict(tool)}
