"""What to send next in a dialogue, given the replies so far. Pure."""

from __future__ import annotations

import msgspec

from crucibleforge.chat import Dialogue, Message, Reply, Request, ToolCall

NOT_EXECUTED = '{"error": "no result for a call with these arguments"}'
"""The world's answer to a call that the script does not know."""


def next_request(dialogue: Dialogue, replies: tuple[Reply, ...]) -> Request | None:
    """The next request, or None when the dialogue is over.

    It is over after a reply that was cut off or that the server threw away, after a call that nobody answers, when
    every turn has its reply, and after `max_rounds` requests.
    """
    if len(replies) >= dialogue.max_rounds:
        return None
    messages = list(dialogue.messages)
    turns = list(dialogue.turns)
    for reply in replies:
        if reply.finish in {"length", "malformed"}:
            return None
        handed_back = reply.reasoning if reply.tool_calls else ""
        messages.append(Message("assistant", reply.text, reply.tool_calls, reasoning=handed_back))
        if reply.tool_calls and dialogue.answers:
            messages.extend(_answered(dialogue, call) for call in reply.tool_calls)
        elif reply.tool_calls or not turns:
            return None
        else:
            messages.append(Message("user", turns.pop(0)))
    return Request(tuple(messages), dialogue.tools, dialogue.max_tokens)


def _answered(dialogue: Dialogue, call: ToolCall) -> Message:
    try:
        arguments = msgspec.json.decode(call.arguments or "{}")
    except msgspec.DecodeError:
        return Message("tool", '{"error": "the arguments are not JSON"}', tool_call_id=call.id)
    for answer in dialogue.answers:
        if answer.name == call.name and answer.arguments == arguments:
            return Message("tool", answer.result, tool_call_id=call.id)
    return Message("tool", NOT_EXECUTED, tool_call_id=call.id)
