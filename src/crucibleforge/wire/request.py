"""A request in the dialect of `/chat/completions`."""

from __future__ import annotations

from typing import Any

import msgspec

from crucibleforge.types import Message, Request, Target, Tool


def body(target: Target, request: Request) -> bytes:
    """The JSON body of a streamed request.

    `extra_body` of the target is laid under the fields that we set, so it can add but never redirect a request.
    """
    core: dict[str, Any] = {
        "model": target.model_id,
        "messages": [_message(message) for message in request.messages],
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    core |= {key: value for key, value in msgspec.structs.asdict(target.sampling).items() if value is not None}
    if request.tools:
        core["tools"] = [_tool(tool) for tool in request.tools]
    return msgspec.json.encode(target.extra_body | core)


def _message(message: Message) -> dict[str, Any]:
    wired: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wired["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        wired["tool_call_id"] = message.tool_call_id
    return wired


def _tool(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": msgspec.structs.asdict(tool)}
