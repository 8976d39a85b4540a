"""Ask a server on this machine for JSON: loopback only, no redirect, no proxy, bounded bytes and time.

What such a server answers is as little trusted as anything else: the readers at the end are total.
"""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from msgspec import Struct

from crucibleforge.errors import Trouble
from crucibleforge.gguf import printable

_BODY_BYTES = 8 * 1024 * 1024
"""A listing of ten thousand models fits."""
_NAME_CHARACTERS = 512
_SHOWN_CHARACTERS = 200
_MOST = 2**63
_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that a terminal or an encoder may stumble over; no model is called so."""
_HTTP_PORT = 80
_OK = 200


class Answer(Struct, frozen=True):
    """A status and the JSON value of the body, None where it is not JSON."""

    status: int
    value: Any

    @property
    def refusal(self) -> str:
        """Why it is no success, in the server's words; "" when it is one.

        LM Studio answers 200 with an `error` where it does not know an endpoint.
        """
        error = field(self.value, "error")
        words = field(error, "message") if isinstance(error, dict) else error
        if self.status == _OK and error is None:
            return ""
        return shown(words) or f"HTTP {self.status}"


class Peer:
    """One server; `root` is its address without a path."""

    def __init__(self, client: aiohttp.ClientSession, root: str) -> None:
        self._client = client
        self.root = root

    async def get(self, path: str, limit_s: float) -> Any:
        """The JSON value of a plain success, None for any other answer.

        Raises:
            Trouble: there was no whole answer within `limit_s`.
        """
        answer = await self.ask("GET", path, None, limit_s)
        return None if answer.refusal else answer.value

    async def post(self, path: str, body: dict[str, Any], limit_s: float) -> Answer:
        """Send JSON.

        Raises:
            Trouble: as `get`.
        """
        return await self.ask("POST", path, body, limit_s)

    async def ask(self, method: str, path: str, body: dict[str, Any] | None, limit_s: float) -> Answer:
        """One request, one answer.

        Raises:
            Trouble: as `get`.
        """
        data = None if body is None else json.dumps(body).encode()
        try:
            async with (
                asyncio.timeout(limit_s),
                self._client.request(method, self.root + path, data=data, allow_redirects=False) as response,
            ):
                return Answer(response.status, _decoded(await _bounded(response.content)))
        except TimeoutError:
            raise Trouble("timeout", f"{self.root}{path} did not answer within {limit_s:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = shown(str(error)) or type(error).__name__
            raise Trouble("transport", f"{self.root}{path}: {reason}") from None


@asynccontextmanager
async def peer(url: str) -> AsyncIterator[Peer]:
    """A server of this machine, ready to be asked.

    Raises:
        Trouble: `url` is not an http address on loopback.
    """
    root = loopback_root(url)
    if root is None:
        raise Trouble("rejected", f"{shown(url)} is not an address on this machine")
    # Unpacking is switched off: a small packed body may be a huge one, and nothing here asks for packing.
    async with aiohttp.ClientSession(
        headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    ) as client:
        yield Peer(client, root)


def loopback_root(url: str) -> str | None:
    """`http://host:port` of an address on loopback, None for any other."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _HTTP_PORT
    except ValueError:
        return None
    if parts.scheme != "http" or not is_loopback(host):
        return None
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """True for `localhost` (RFC 6761, section 6.3: always this machine) and for loopback addresses."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def field(value: Any, *keys: str) -> Any:
    """What stands at a path of keys, None where the path breaks off."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def entries(value: Any, key: str) -> list[dict[str, Any]] | None:
    """The objects of an array, without whatever else it holds; None when there is no array."""
    array = field(value, key)
    return [entry for entry in array if isinstance(entry, dict)] if isinstance(array, list) else None


def name(value: Any) -> str | None:
    """A string that can be sent back to the server as it is and printed, None for any other."""
    if not isinstance(value, str) or not 0 < len(value) <= _NAME_CHARACTERS:
        return None
    return None if _OBEYED & {unicodedata.category(character) for character in value} else value


def shown(value: Any) -> str:
    """Words for people, "" for anything but a string."""
    return printable(" ".join(value.split()), _SHOWN_CHARACTERS) if isinstance(value, str) else ""


def count(value: Any, *, least: int = 1) -> int | None:
    """A whole number from `least`, None for anything else: servers write 0 for what they do not know."""
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value < _MOST else None


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    body = bytearray()
    async for chunk in content.iter_any():
        body += chunk
        if len(body) > _BODY_BYTES:
            raise ValueError(f"the answer is longer than {_BODY_BYTES:,} bytes")
    return bytes(body)


def _decoded(body: bytes) -> Any:
    # The standard reader, for it takes a lone surrogate: one odd name must not hide the other models.
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
