"""Any server with an OpenAI-style `/chat/completions`, streamed.

Bytes are stamped as they are read and parsed afterwards; the clock starts when the request has been handed to the
socket, so making a connection is not part of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import aiohttp
import msgspec

from crucibleforge.errors import EndpointDown, InputError, Trouble
from crucibleforge.providers import Probe, Session
from crucibleforge.types import Reply, Request, Served, Target
from crucibleforge.wire.collect import Collector
from crucibleforge.wire.fault import fault
from crucibleforge.wire.request import body

_CONNECT_S = 4.0
_PROBE_S = 4.5
# Servers built on uvicorn or llama.cpp drop an idle connection after 5 s; we let go of it first.
_KEEPALIVE_S = 4.0
_STALL_S = 300.0
_ERROR_BYTES = 64 * 1024
_SHOWN_CHARACTERS = 300
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_OK = 200
_NO_LISTING = {404, 405, 501}


class OpenAI:
    """The provider for `type: openai`."""

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncIterator[Session]:
        """Check that the server answers and that a key is at hand, then yield a session."""
        secret = _key(target)
        async with _client(target, secret) as client:
            yield _Session(client, target, await _served(client, target, secret))

    async def probe(self, target: Target) -> Probe:
        """Read the server's list of models."""
        secret = os.environ.get(target.api_key_env, "") if target.api_key_env else ""
        async with _client(target, secret) as client:
            try:
                status, listing = await _listing(client, target)
            except EndpointDown as error:
                return Probe("down", detail=_shown(error.message, _secrets(target)))
        if status in {401, 403}:
            return Probe("needs_key", detail=f"reachable, but it wants an API key (HTTP {status})")
        if status != _OK and status not in _NO_LISTING:
            return Probe("down", detail=f"the server answered HTTP {status} to a request for its models")
        return Probe("up", models=tuple(entry["id"] for entry in listing if isinstance(entry.get("id"), str)))


PROVIDER = OpenAI()


class _Session:
    def __init__(self, client: aiohttp.ClientSession, target: Target, served: Served) -> None:
        self._client = client
        self._target = target
        self._secrets = _secrets(target)
        self.served = served

    async def ask(self, request: Request) -> Reply:
        """One streamed request."""
        try:
            return await self._afresh(request)
        except Trouble as trouble:
            raise Trouble(
                trouble.kind,
                _shown(trouble.message, self._secrets),
                status=trouble.status,
                retry_after_s=trouble.retry_after_s,
            ) from None
        except TimeoutError:
            raise Trouble("timeout", f"no reply from {self._target.base_url} in time") from None
        except (aiohttp.ClientError, OSError) as error:
            reason = _shown(str(error) or type(error).__name__, self._secrets)
            raise Trouble("transport", f"connection to {self._target.base_url} failed: {reason}") from None

    async def _afresh(self, request: Request) -> Reply:
        """Ask; where the server had closed the kept connection before any byte came, ask on another one."""
        while True:
            stamps = SimpleNamespace(sent_ns=perf_counter_ns(), connect_from_ns=None, connect_s=None, is_answered=False)
            try:
                return await self._ask(request, stamps)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                # Each turn uses up one kept connection; on a fresh one it is real trouble.
                if stamps.is_answered or stamps.connect_from_ns is not None:
                    raise

    async def _ask(self, request: Request, stamps: SimpleNamespace) -> Reply:
        url = f"{self._target.base_url}/chat/completions"
        data = body(self._target, request)
        async with self._client.post(url, data=data, trace_request_ctx=stamps, allow_redirects=False) as response:
            stamps.is_answered = True
            if response.status != _OK:
                words = await response.content.read(_ERROR_BYTES)
                raise fault(response.status, words, response.headers.get("Retry-After"))
            if response.content_type != "text/event-stream":
                raise Trouble(
                    "protocol",
                    f"{url} answered {response.content_type or 'without a content type'}, not a stream of events",
                )
            events: list[tuple[int, bytes]] = []
            async for chunk in response.content.iter_any():
                # Stamped here and now; a comprehension would hide that nothing else happens in between.
                events.append((perf_counter_ns(), chunk))  # noqa: PERF401
            ended_ns = perf_counter_ns()
        collector = Collector(stamps.sent_ns)
        for t_ns, chunk in events:
            collector.feed(t_ns, chunk)
        return collector.reply(ended_ns, stamps.connect_s)


@asynccontextmanager
async def _client(target: Target, secret: str) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    headers |= {name: _expanded(value) for name, value in target.headers.items()}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    timeout = aiohttp.ClientTimeout(
        total=target.timeout_s, sock_connect=_CONNECT_S, connect=None, sock_read=min(_STALL_S, target.timeout_s)
    )
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S)
    async with aiohttp.ClientSession(
        headers=headers, timeout=timeout, connector=connector, trace_configs=[_tracing()]
    ) as client:
        yield client


def _tracing() -> aiohttp.TraceConfig:
    async def sent(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.sent_ns = perf_counter_ns()

    async def connecting(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        if context.trace_request_ctx is not None:
            context.trace_request_ctx.connect_from_ns = perf_counter_ns()

    async def connected(_session: Any, context: SimpleNamespace, _params: Any) -> None:
        stamps = context.trace_request_ctx
        if stamps is not None and stamps.connect_from_ns is not None:
            stamps.connect_s = (perf_counter_ns() - stamps.connect_from_ns) * 1e-9

    tracing = aiohttp.TraceConfig()
    tracing.on_request_headers_sent.append(sent)
    tracing.on_connection_create_start.append(connecting)
    tracing.on_connection_create_end.append(connected)
    return tracing


def _key(target: Target) -> str:
    if not target.api_key_env:
        return ""
    secret = os.environ.get(target.api_key_env, "")
    if not secret:
        raise InputError(
            f"provider '{target.provider}' needs an API key and ${target.api_key_env} is not set",
            hint=f"`export {target.api_key_env}=...`",
        )
    return secret


def _expanded(value: str) -> str:
    """Put environment variables in place of `${NAME}`; an unset one becomes nothing."""
    return _VARIABLE.sub(lambda match: os.environ.get(match[1], ""), value)


def _secrets(target: Target) -> tuple[str, ...]:
    """Values of all environment variables that go into a request's headers, longest first."""
    names = {target.api_key_env, *(name for value in target.headers.values() for name in _VARIABLE.findall(value))}
    return tuple(sorted(filter(None, (os.environ.get(name) for name in names)), key=len, reverse=True))


def _shown(text: str, secrets: tuple[str, ...]) -> str:
    """A server's words without the secrets that it may echo, then cut: a cut secret would not be found."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]} …"


async def _served(client: aiohttp.ClientSession, target: Target, secret: str) -> Served:
    status, listing = await _listing(client, target)
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
    for holder, key in (
        (entry, "max_model_len"),
        (entry, "loaded_context_length"),
        (entry, "context_length"),
        (meta if isinstance(meta, dict) else {}, "n_ctx"),
    ):
        value = holder.get(key)
        if isinstance(value, int) and value > 0:
            return value
    return None


async def _listing(client: aiohttp.ClientSession, target: Target) -> tuple[int, list[dict[str, Any]]]:
    """HTTP status and entries of `/models`; no entries when the body is not such a list."""
    url = f"{target.base_url}/models"
    timeout = aiohttp.ClientTimeout(total=_PROBE_S, sock_connect=_CONNECT_S)
    try:
        async with client.get(url, timeout=timeout, allow_redirects=False) as response:
            status, text = response.status, await response.read()
    except (aiohttp.ClientError, OSError, ValueError) as error:
        reason = "it did not answer in time" if isinstance(error, TimeoutError) else _reason(error)
        raise EndpointDown(
            f"no server at {target.base_url} ({reason})",
            hint="start the server or mend `base_url`; `crucibleforge status` shows every provider",
        ) from None
    try:
        listing = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return status, []
    entries = listing.get("data", []) if isinstance(listing, dict) else []
    return status, [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _reason(error: BaseException) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        return os.strerror(cause.errno).lower()
    return " ".join(str(cause).split()) or type(cause).__name__
