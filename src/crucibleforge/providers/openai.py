"""Any server with an OpenAI-style `/chat/completions`, streamed.

Bytes are stamped as they are read and parsed afterwards; the clock starts when the request has been handed to the
socket, so making a connection is not part of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from time import monotonic, perf_counter_ns
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec
from msgspec.structs import replace

from crucibleforge.chat import Reply, Request
from crucibleforge.errors import EndpointDown, InputError, Malformed, Trouble
from crucibleforge.providers import Probe, Session
from crucibleforge.providers._client import CONNECT_S, Stamps, client, key, redactor
from crucibleforge.redact import Redactor
from crucibleforge.types import Served, Target
from crucibleforge.wire.collect import Collector
from crucibleforge.wire.fault import fault, refused_parameter
from crucibleforge.wire.request import body

_PROBE_S = 4.5
_REPLY_BYTES = 64 * 1024 * 1024
"""Decoded: far beyond any budget of tokens, and little enough to hold."""
_ERROR_BYTES = 64 * 1024
_ERROR_S = 5.0
_LISTING_BYTES = 16 * 1024 * 1024
_SHOWN_CHARACTERS = 300
_OK = 200
_REFUSALS = {400, 422}
_NO_LISTING = {404, 405, 501}
_DROPPABLE = ("stream_options", "max_tokens", "seed", "temperature", "top_p")


class OpenAI:
    """The provider for `type: openai`."""

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncIterator[Session]:
        """Check that the server answers and that a key is at hand, then yield a session."""
        secret = key(target)
        async with client(target, secret) as http:
            yield _Session(http, target, redactor(target).within(await _served(http, target, secret)))

    async def probe(self, target: Target) -> Probe:
        """Read the server's list of models."""
        secret = os.environ.get(target.api_key_env, "") if target.api_key_env else ""
        try:
            async with client(target, secret) as http:
                status, listing = await _listing(http, target)
        except InputError as error:
            return Probe("down", detail=error.message)
        if status in {401, 403}:
            return Probe("needs_key", detail=f"reachable, but it wants an API key (HTTP {status})")
        if status != _OK and status not in _NO_LISTING:
            return Probe("down", detail=f"the server answered HTTP {status} to a request for its models")
        ids = tuple(entry["id"] for entry in listing if isinstance(entry.get("id"), str))
        return Probe("up", models=redactor(target).within(ids))


PROVIDER = OpenAI()


class _RefusedError(Exception):
    """HTTP 400: `named` is the parameter that the server does not want, None where it does not say."""

    def __init__(self, trouble: Trouble | Malformed, named: str | None) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble
        self.named = named


class _Session:
    def __init__(self, http: aiohttp.ClientSession, target: Target, served: Served) -> None:
        self._http = http
        self._target = target
        self._redact = redactor(target)
        self._dropped: frozenset[str] = frozenset()
        self._may_search = True
        self._taken: set[str] = set()
        self._notices: list[str] = []
        self.served = served

    def notices(self) -> tuple[str, ...]:
        """Which parameters the server turned out not to take."""
        notices, self._notices = tuple(self._notices), []
        return notices

    async def ask(self, request: Request) -> Reply:
        """One streamed request; a parameter that the server refuses is left out from then on."""
        try:
            reply = await self._adapted(request)
        except Trouble as trouble:
            raise Trouble(
                trouble.kind,
                _shown(trouble.message, self._redact),
                status=trouble.status,
                retry_after_s=trouble.retry_after_s,
            ) from None
        except Malformed as malformed:
            raise Malformed(_shown(malformed.message, self._redact)) from None
        except TimeoutError:
            raise Trouble("timeout", f"no whole reply from {self._target.base_url} in time") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = _shown(str(error) or type(error).__name__, self._redact)
            raise Trouble("transport", f"connection to {self._target.base_url} failed: {reason}") from None
        self._may_search = False
        if self._target.verify_model and reply.served_model != self._target.model_id:
            answered = _shown(str(reply.served_model), self._redact)
            raise Trouble("wrong_model", f"asked for {self._target.model_id}, answered by {answered}")
        return self._redact.within(reply)

    async def _adapted(self, request: Request) -> Reply:
        """Ask; a 400 that names a parameter drops it, one that names none tries without each in turn.

        The latter once, and only before the server has answered: after that a 400 is about the request at hand.
        """
        while True:
            try:
                reply = await self._afresh(request, self._dropped)
            except _RefusedError as refused:
                known = {*_DROPPABLE, *request.extra}
                if refused.named is not None and refused.named in known - self._dropped:
                    self._drop(refused.named)
                    continue
                if refused.named is None and (found := await self._without(request)):
                    return found
                raise refused.trouble from None
            else:
                self._taken |= request.extra.keys()
                return reply

    async def _without(self, request: Request) -> Reply | None:
        """Try without each parameter that may be at fault in turn, then without all of `extra` that is new."""
        sent = self._target.sampling
        usual = [name for name in _DROPPABLE if getattr(sent, name, name) is not None] if self._may_search else []
        fresh = [name for name in request.extra if name not in self._taken]
        self._may_search = False
        self._taken |= set(fresh)
        guesses = [(name,) for name in (*fresh, *usual)] + ([tuple(fresh)] if len(fresh) > 1 else [])
        for guess in guesses:
            if self._dropped.issuperset(guess):
                continue
            try:
                reply = await self._afresh(request, self._dropped.union(guess))
            except _RefusedError:
                continue
            for name in guess:
                self._drop(name)
            return reply
        return None

    def _drop(self, parameter: str) -> None:
        self._dropped |= {parameter}
        instead = ", max_completion_tokens is sent instead" if parameter == "max_tokens" else ""
        self._notices.append(f"the server refuses {parameter}{instead}")

    async def _afresh(self, request: Request, dropped: frozenset[str]) -> Reply:
        """Ask; where the server had closed the kept connection before any byte came, ask on another one."""
        stamps, resent = Stamps(), 0
        while True:
            try:
                async with asyncio.timeout(request.deadline_s or self._target.timeout_s):
                    reply = await self._ask(request, dropped, stamps)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                # Each turn uses up one kept connection; on a fresh one it is real trouble.
                if stamps.headers_ns is not None or stamps.connect_from_ns is not None:
                    raise
                stamps, resent = Stamps(), resent + 1
            else:
                return _traced(reply, stamps, resent)

    async def _ask(self, request: Request, dropped: frozenset[str], stamps: Stamps) -> Reply:
        url = f"{self._target.base_url}/chat/completions"
        data = body(self._target, request, dropped)
        async with self._http.post(url, data=data, trace_request_ctx=stamps, allow_redirects=False) as response:
            stamps.headers_ns = perf_counter_ns()
            if response.status != _OK:
                words = self._redact.body(await _complaint(response.content))
                trouble = fault(response.status, words, response.headers.get("Retry-After"))
                if response.status in _REFUSALS and isinstance(trouble, Trouble) and trouble.kind == "rejected":
                    raise _RefusedError(trouble, refused_parameter(words, request.extra))
                raise trouble
            if response.content_type != "text/event-stream":
                raise Trouble(
                    "protocol",
                    f"{url} answered {response.content_type or 'without a content type'}, not a stream of events",
                )
            return await self._read(response, request, stamps)

    async def _read(self, response: aiohttp.ClientResponse, request: Request, stamps: Stamps) -> Reply:
        """Stamp the bytes as they come, parse them when all are there."""
        events: list[tuple[int, bytes]] = []
        size_bytes = 0
        with _watched(self._target.stall_s) as alive:
            async for chunk in response.content.iter_any():
                events.append((perf_counter_ns(), chunk))
                alive.at_s = monotonic()
                size_bytes += len(chunk)
                if size_bytes > _REPLY_BYTES:
                    raise Trouble("runaway", f"the reply is longer than {_REPLY_BYTES:,} bytes")
        ended_ns = perf_counter_ns()
        try:
            return _collected(events, ended_ns, stamps, request)
        except (Trouble, Malformed) as wrong:
            if getattr(wrong, "kind", "") != "runaway":
                # What it tells may be cut in the middle of a secret: told again of bytes without any.
                whole = self._redact.body(b"".join(chunk for _, chunk in events))
                _collected([(ended_ns, whole)], ended_ns, stamps, request)
            raise


def _collected(events: list[tuple[int, bytes]], ended_ns: int, stamps: Stamps, request: Request) -> Reply:
    collector = Collector(stamps.sent_ns, max_tokens=request.max_tokens, is_traced=request.is_traced)
    for t_ns, chunk in events:
        collector.feed(t_ns, chunk)
    return collector.reply(ended_ns, stamps.connect_s)


def _traced(reply: Reply, stamps: Stamps, resent: int) -> Reply:
    """The reply, with what only the client knows added to its trace."""
    trace = reply.timing.trace
    if trace is None or stamps.headers_ns is None:
        return reply
    headers_s = round((stamps.headers_ns - stamps.sent_ns) * 1e-9, 6)
    trace = replace(trace, headers_s=headers_s, resent=resent)
    return replace(reply, timing=replace(reply.timing, trace=trace))


@contextmanager
def _watched(stall_s: float) -> Iterator[SimpleNamespace]:
    """End the reading when `at_s` of what is yielded has not moved for `stall_s`; costs nothing per chunk.

    Raises:
        Trouble: the bytes stopped while the connection stayed open.
    """
    loop = asyncio.get_running_loop()
    reading = asyncio.current_task()
    assert reading is not None
    alive = SimpleNamespace(at_s=monotonic(), has_stalled=False)
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        left_s = alive.at_s + stall_s - monotonic()
        if left_s <= 0:
            alive.has_stalled = True
            reading.cancel()
        else:
            timer = loop.call_later(left_s, look)

    look()
    try:
        yield alive
    except asyncio.CancelledError:
        if not alive.has_stalled:
            raise
        reading.uncancel()
        raise Trouble("timeout", f"the reply stopped for {stall_s:g} s with the connection open") from None
    finally:
        if timer is not None:
            timer.cancel()


def _shown(text: str, redact: Redactor) -> str:
    """A server's words without the secrets that it may echo, then cut: a cut secret would not be found."""
    text = redact(text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} …"


async def _served(http: aiohttp.ClientSession, target: Target, secret: str) -> Served:
    status, listing = await _listing(http, target)
    if status in {401, 403}:
        wanted = f"${target.api_key_env}" if target.api_key_env else "`api_key_env` of the provider"
        state = "refuses the key in" if secret else "wants an API key; set"
        raise EndpointDown(
            f"{target.base_url} {state} {wanted} (HTTP {status})", hint="`crucibleforge status` shows every provider"
        )
    entry = next((entry for entry in listing if entry.get("id") == target.model_id), {})
    if not entry and len(listing) == 1:
        entry = listing[0]
    return Served(
        server=str(entry.get("owned_by") or "openai"),
        model=entry.get("id") if isinstance(entry.get("id"), str) else None,
        context_length=_context_length(entry),
    )


def _context_length(entry: dict[str, Any]) -> int | None:
    """The served window in tokens as vLLM, LM Studio, OpenRouter and llama.cpp state it."""
    meta = entry.get("meta")
    for holder, name in (
        (entry, "max_model_len"),
        (entry, "loaded_context_length"),
        (entry, "context_length"),
        (meta if isinstance(meta, dict) else {}, "n_ctx"),
    ):
        value = holder.get(name)
        if isinstance(value, int) and value > 0:
            return value
    return None


async def _listing(http: aiohttp.ClientSession, target: Target) -> tuple[int, list[dict[str, Any]]]:
    """HTTP status and entries of `/models`; no entries when the body is not such a list."""
    url = f"{target.base_url}/models"
    timeout = aiohttp.ClientTimeout(total=_PROBE_S, sock_connect=CONNECT_S)
    try:
        async with http.get(url, timeout=timeout, allow_redirects=False) as response:
            status, text = response.status, await _up_to(_LISTING_BYTES, response.content, bytearray())
    except (aiohttp.ClientError, OSError, ValueError) as error:
        reason = "it did not answer in time" if isinstance(error, TimeoutError) else _reason(error)
        raise EndpointDown(
            f"no server at {target.base_url} ({_shown(reason, redactor(target))})",
            hint="start the server or mend `base_url`; `crucibleforge status` shows every provider",
        ) from None
    try:
        listing = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return status, []
    entries = listing.get("data", []) if isinstance(listing, dict) else []
    return status, [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


async def _complaint(content: aiohttp.StreamReader) -> bytes:
    """The body of an error, as far as it comes: where it hangs or breaks off the status says enough."""
    begun = bytearray()
    with suppress(TimeoutError, aiohttp.ClientPayloadError):
        async with asyncio.timeout(_ERROR_S):
            await _up_to(_ERROR_BYTES, content, begun)
    return bytes(begun)


async def _up_to(size_bytes: int, content: aiohttp.StreamReader, begun: bytearray) -> bytes:
    """What a body begins with, also put into `begun` as it comes; the rest of a longer one is left unread."""
    while len(begun) < size_bytes and (chunk := await content.read(size_bytes - len(begun))):
        begun += chunk
    return bytes(begun)


def _reason(error: BaseException) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        return os.strerror(cause.errno).lower()
    return " ".join(str(cause).split()) or type(cause).__name__
