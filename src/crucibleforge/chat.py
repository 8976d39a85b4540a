"""What is sent to a model and what comes back: messages, tools, dialogues, requests, replies with their times."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Finish = Literal["stop", "length", "tool_calls", "content_filter", "malformed", "unknown"]
"""`malformed`: the server could not parse the tool call that the model wrote; its words stand in the text."""


class ToolCall(Struct, frozen=True):
    """A call as the model wrote it; `arguments` is JSON text that may be broken."""

    id: str
    name: str
    arguments: str


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a chat; `tool_call_id` is set on role `tool` only.

    `reasoning` goes back with a model's own tool calls: some servers refuse the next turn without it.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    reasoning: str = ""


class Tool(Struct, frozen=True):
    """A function that the model may call; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolAnswer(Struct, frozen=True):
    """What the scripted world says to a call with just these arguments."""

    name: str
    arguments: dict[str, Any]
    result: str


class Dialogue(Struct, frozen=True, omit_defaults=True):
    """Everything that is sent to the model for one case.

    `messages` opens; each of `turns` is a further user message, sent after a reply without tool calls. With
    `answers` the calls of a reply are answered and the model goes on; without them a call ends the dialogue.
    `max_rounds` bounds the number of requests, `max_tokens` each reply.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    turns: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()
    max_rounds: int = 1


class Request(Struct, frozen=True, omit_defaults=True):
    """One request to a model, before any provider's dialect.

    `deadline_s` bounds it, in seconds from its start; None: the target's `timeout_s`. `thinking` False asks the
    server's chat template to leave reasoning out. `case` (as id#hash), `repeat` (from 1) and `round` (from 0) say
    whose request this is, for providers that look replies up; they are never sent. `extra` are further fields of the
    body, such as `cache_prompt`, which a server may refuse without refusing the request. `is_traced`: the reply's
    `Timing` shall keep its `Trace`.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    max_tokens: int
    deadline_s: float | None = None
    thinking: bool | None = None
    case: str = ""
    repeat: int = 1
    round: int = 0
    extra: dict[str, Any] = {}
    is_traced: bool = False


CountSource = Literal["usage", "timings", "stats", "none"]
"""Who counted: the reply's `usage`, llama.cpp's or Ollama's timings, LM Studio's stats, nobody."""


class Usage(Struct, frozen=True, omit_defaults=True):
    """Token counts by the server's own account; None where it gave none. Never a guess, never a count of events.

    `doubts` say what in the counts cannot be right, such as `one short of the limit`.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    source: CountSource = "none"
    doubts: tuple[str, ...] = ()


class ServerTimings(Struct, frozen=True, omit_defaults=True):
    """A server's own counts and milliseconds. Rate fields are not kept: their meaning changes between builds.

    `prompt_n` tokens were read in `prompt_ms` (those out of a cache not among them), `predicted_n` written in
    `predicted_ms`, of which some builds begin before the first token and some at it. Of `draft_n` tokens guessed ahead
    `draft_n_accepted` were right; None where the server does not say.
    """

    prompt_n: int
    prompt_ms: float
    predicted_n: int
    predicted_ms: float
    cache_n: int = 0
    load_ms: float | None = None
    source: Literal["llama.cpp", "ollama", "lmstudio"] = "llama.cpp"
    draft_n: int | None = None
    draft_n_accepted: int | None = None


class Trace(Struct, frozen=True, omit_defaults=True):
    """Every moment of a reply, from which all its times can be derived again; seconds as in `Timing`, to a microsecond.

    `sent_ns` is the moment from which they count, on this process's monotonic clock. `stamps_s` has one entry for each
    event that brought text, `counts` the tokens that the server had counted by then (None: it did not say), empty where
    it never counted as it went. `reads` are time and size, in bytes, of what was read off the socket. `resent` is how
    often a kept connection turned out closed and the request was sent anew.
    """

    sent_ns: int
    headers_s: float | None = None
    stamps_s: tuple[float, ...] = ()
    counts: tuple[int | None, ...] = ()
    reads: tuple[tuple[float, int], ...] = ()
    resent: int = 0


class Timing(Struct, frozen=True, omit_defaults=True):
    """Seconds since the request was handed to the socket; None where there was no such moment.

    `connect_s` is the time to make the connection, before the clock starts; None when one was reused. `token_events`
    is the number of events that brought text, `first_event_tokens` how many tokens the first of them held, None where
    the server does not count as it goes. `trace` is kept where the request asked for it.
    """

    total_s: float
    first_event_s: float | None = None
    first_reasoning_s: float | None = None
    first_content_s: float | None = None
    last_token_s: float | None = None
    connect_s: float | None = None
    token_events: int = 0
    first_event_tokens: int | None = None
    trace: Trace | None = None

    @property
    def first_token_s(self) -> float | None:
        """First token of any kind: reasoning, content or tool call."""
        stamps = [s for s in (self.first_reasoning_s, self.first_content_s) if s is not None]
        return min(stamps) if stamps else None


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reply as received, whole."""

    text: str
    finish: Finish
    usage: Usage
    timing: Timing
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    served_model: str | None = None
    server_timings: ServerTimings | None = None
