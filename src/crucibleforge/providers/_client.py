"""The HTTP client of providers that ask a server: headers, secrets, and the moments that lie below a reply's bytes."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import aiohttp

from crucibleforge.errors import InputError
from crucibleforge.redact import Redactor
from crucibleforge.types import Target

CONNECT_S = 4.0
# Servers built on uvicorn or llama.cpp drop an idle connection after 5 s; we let go of it first.
_KEEPALIVE_S = 4.0
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass
class Stamps:
    """Moments of one request, in nanoseconds of the monotonic clock; None until they have come."""

    sent_ns: int = field(default_factory=perf_counter_ns)
    headers_ns: int | None = None
    connect_from_ns: int | None = None
    connect_s: float | None = None


@asynccontextmanager
async def client(target: Target, secret: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A client with the target's headers that tells the moments of each request which brings a `Stamps`.

    Raises:
        InputError: a header would hold a character that none can carry.
    """
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    headers |= {name: _expanded(value) for name, value in target.headers.items()}
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    for name, value in headers.items():
        # What is sent of such a value differs from what is known here, and could then not be taken out of an echo.
        if not value.isprintable():
            raise InputError(
                f"the header {name} of provider '{target.provider}' would hold a character that none can carry",
                hint="look for a line break in the variable that it is made of",
            )
    # No limit of the session: each request brings its own deadline.
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S)
    async with aiohttp.ClientSession(
        headers=headers, timeout=timeout, connector=connector, trace_configs=[_tracing()]
    ) as session:
        yield session


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
    tracing.on_request_chunk_sent.append(sent)
    tracing.on_connection_create_start.append(connecting)
    tracing.on_connection_create_end.append(connected)
    return tracing


def key(target: Target) -> str:
    """The API key out of the environment; empty where the target needs none.

    Raises:
        InputError: the variable is not set.
    """
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


def redactor(target: Target) -> Redactor:
    """Knows the values of all environment variables that go into a request's headers."""
    names = {target.api_key_env, *(name for value in target.headers.values() for name in _VARIABLE.findall(value))}
    return Redactor(os.environ.get(name, "") for name in names)
