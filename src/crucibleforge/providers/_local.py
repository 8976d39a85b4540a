"""Find model servers on this machine, by what they answer and never by their port alone.

A port's usual server is tried first and the rest only where it is another one, because LM Studio writes an error into
its user's log for each path that it does not know. Fields are those of the LM Studio REST API v1 (LM Studio 0.4.0;
github.com/lmstudio-ai/docs, 1_developer/2_rest/list.md) and v0 (0.3.6, endpoints.md), of the Ollama API
(github.com/ollama/ollama, docs/api.md and docs/openapi.yaml), of llama.cpp's server (github.com/ggml-org/llama.cpp,
tools/server/README.md, `/props`, `/models`; the meanings of `meta` as build 11549 answers) and of vLLM's OpenAI server.

Not covered: servers elsewhere, servers that want a key, and servers that speak https.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from crucibleforge.errors import Trouble
from crucibleforge.providers._loopback import (
    Peer,
    count,
    entries,
    field,
    is_loopback,
    loopback_root,
    name,
    peer,
    shown,
)

LIMIT_S = 1.5
"""A server that is there answers within milliseconds; this is what nobody minds waiting."""
_OLLAMA_PORT = 11434
_MOST_PORT = 65535

Kind = Literal["lmstudio", "ollama", "llama-server", "vllm", "openai"]
"""Which program answers; `openai`: some other one with an OpenAI-style list of models."""


class Place(Struct, frozen=True):
    """A root to look at, as `http://127.0.0.1:8080`, and who usually answers there."""

    root: str
    kind: Kind


PLACES = (
    Place("http://127.0.0.1:1234", "lmstudio"),
    Place(f"http://127.0.0.1:{_OLLAMA_PORT}", "ollama"),
    Place("http://127.0.0.1:8080", "llama-server"),
    Place("http://127.0.0.1:8000", "vllm"),
)
"""Where the four listen unless told otherwise."""


class Offered(Struct, frozen=True, omit_defaults=True):
    """A model by its server's account; None where it does not say.

    `id` is what a request names; it holds no character that a terminal would obey. `size_bytes` is that of the file
    or its tensors. `params` is text such as `26B-A4B`. `context_length` is in tokens: the window of one request where
    the model is resident, else the largest possible. `size_vram` is in bytes. `slots` is how many requests it answers
    at once. `is_remote`: this server only passes requests on to another machine.
    """

    id: str
    size_bytes: int | None = None
    quant: str | None = None
    params: str | None = None
    context_length: int | None = None
    is_resident: bool | None = None
    size_vram: int | None = None
    slots: int | None = None
    is_remote: bool = False


class Found(Struct, frozen=True, omit_defaults=True):
    """A server that answers; `base_url` is what OpenAI-style clients want, with `/v1`. `version` None: not said."""

    kind: Kind
    base_url: str
    version: str | None = None
    models: tuple[Offered, ...] = ()


class Looked(Struct, frozen=True):
    """The servers in the order of the places, and what the user should know about where was not looked."""

    found: tuple[Found, ...]
    notices: tuple[str, ...] = ()


async def look(places: Iterable[Place] | None = None, *, limit_s: float = LIMIT_S) -> Looked:
    """Look at all places at once, within `limit_s`; without any given, at `PLACES` and where $OLLAMA_HOST points."""
    notices: tuple[str, ...] = ()
    if places is None:
        extra, notices = ollama_place(os.environ.get("OLLAMA_HOST", ""))
        places = (*PLACES, *extra)
    wanted = {place.root: place for place in reversed(tuple(places))}
    seen = await asyncio.gather(*(at(place.root, place.kind, limit_s=limit_s) for place in reversed(wanted.values())))
    return Looked(tuple(found for found in seen if found), notices)


async def at(url: str, usual: Kind = "openai", *, limit_s: float = LIMIT_S) -> Found | None:
    """Who answers at this address, the `usual` one being tried first; None: nobody known, or it is not loopback."""
    # `openai` is what all of them look like, so it comes last.
    kinds = sorted(get_args(Kind), key=lambda kind: (kind == "openai", kind != usual))
    with suppress(Trouble, TimeoutError):
        async with asyncio.timeout(limit_s), peer(url) as server:
            for kind in kinds:
                # A server may hang up on a path that only another one has.
                with suppress(Trouble):
                    if found := await _IDENTIFY[kind](server, limit_s):
                        return found
    return None


def ollama_place(value: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """Where $OLLAMA_HOST points, if that is on this machine, else a notice; read as Ollama's own `envconfig` does."""
    value = value.strip().strip("\"'")
    if not value:
        return (), ()
    scheme, mark, rest = value.rpartition("://")
    default = {"http": 80, "https": 443}.get(scheme, _OLLAMA_PORT) if mark else _OLLAMA_PORT
    try:
        parts = urlsplit(f"//{_bracketed(rest)}")
        host, port = parts.hostname or "127.0.0.1", parts.port or default
    except ValueError:
        host, port = "", default
    if _is_everywhere(host):
        # An address to listen on; it is reached on loopback.
        host = "127.0.0.1"
    if scheme == "https" or not is_loopback(host) or port > _MOST_PORT:
        where = shown(value)
        return (), (f"OLLAMA_HOST={where} is not plain http on this machine: not looked at; `--url` asks it",)
    root = loopback_root(f"http://{_bracketed(host)}:{port}")
    return ((Place(root, "ollama"),) if root else ()), ()


def _bracketed(host: str) -> str:
    """An IPv6 address alone gets the brackets that it has in a URL."""
    try:
        return f"[{host}]" if ip_address(host).version == 6 else host  # noqa: PLR2004 - IPv6
    except ValueError:
        return host


def _is_everywhere(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


async def _lmstudio(server: Peer, limit_s: float) -> Found | None:
    v1 = entries(await server.get("/api/v1/models", limit_s), "models")
    if v1 is not None and all(isinstance(entry.get("key"), str) for entry in v1):
        return _found(server, "lmstudio", (_of_lmstudio(entry) for entry in v1))
    v0 = entries(await server.get("/api/v0/models", limit_s), "data")
    if v0 and all(isinstance(entry.get("state"), str) for entry in v0):
        return _found(server, "lmstudio", (_of_lmstudio_v0(entry) for entry in v0))
    return None


def _of_lmstudio(entry: dict[str, Any]) -> Offered:
    loaded = entries(entry, "loaded_instances") or []
    config = loaded[0].get("config") if loaded else None
    return Offered(
        id=entry["key"],
        size_bytes=count(entry.get("size_bytes")),
        quant=shown(field(entry, "quantization", "name")) or None,
        params=shown(entry.get("params_string")) or None,
        context_length=count(field(config, "context_length")) or count(entry.get("max_context_length")),
        is_resident=bool(loaded),
        slots=count(field(config, "parallel")),
    )


def _of_lmstudio_v0(entry: dict[str, Any]) -> Offered:
    return Offered(
        id=entry.get("id", ""),
        quant=shown(entry.get("quantization")) or None,
        context_length=count(entry.get("loaded_context_length")) or count(entry.get("max_context_length")),
        is_resident=entry["state"] == "loaded",
    )


async def _ollama(server: Peer, limit_s: float) -> Found | None:
    version = name(field(await server.get("/api/version", limit_s), "version"))
    tags = entries(await server.get("/api/tags", limit_s), "models") if version else None
    if tags is None:
        return None
    running = entries(await server.get("/api/ps", limit_s), "models")
    resident = None if running is None else {str(entry.get("name")): entry for entry in running}
    return _found(server, "ollama", (_of_ollama(entry, resident) for entry in tags), version)


def _of_ollama(entry: dict[str, Any], resident: dict[str, dict[str, Any]] | None) -> Offered:
    here = (resident or {}).get(str(entry.get("name")))
    return Offered(
        id=entry.get("name", ""),
        size_bytes=count(entry.get("size")),
        quant=shown(field(entry, "details", "quantization_level")) or None,
        params=shown(field(entry, "details", "parameter_size")) or None,
        context_length=count(field(here, "context_length")),
        is_resident=None if resident is None else here is not None,
        size_vram=count(field(here, "size_vram"), least=0),
        is_remote=bool(entry.get("remote_host")),
    )


async def _llama_server(server: Peer, limit_s: float) -> Found | None:
    props = await server.get("/props", limit_s)
    if not isinstance(field(props, "default_generation_settings"), dict):
        props = None
    listing = entries(await server.get("/v1/models", limit_s), "data")
    # With a key set `/props` is closed and the list of models is not.
    if listing is None or not (props or any(entry.get("owned_by") == "llamacpp" for entry in listing)):
        return None
    models = (_of_llama_server(entry, props) for entry in listing)
    return _found(server, "llama-server", models, name(field(props, "build_info")))


def _of_llama_server(entry: dict[str, Any], props: Any) -> Offered:
    params = count(field(entry, "meta", "n_params"))
    status = field(entry, "status", "value")
    # A router has no slots of its own; its models say themselves whether they are loaded.
    alone = props if status is None else None
    window = count(field(alone, "default_generation_settings", "n_ctx")) or count(field(entry, "meta", "n_ctx"))
    return Offered(
        id=entry.get("id", ""),
        size_bytes=count(field(entry, "meta", "size")),
        quant=shown(field(entry, "meta", "ftype")) or shown(field(alone, "model_ftype")) or None,
        params=None if params is None else f"{params:,}",
        context_length=window or count(field(entry, "meta", "n_ctx_train")),
        is_resident=status == "loaded" if status else field(props, "is_sleeping") is not True,
        slots=count(field(alone, "total_slots")),
    )


async def _vllm(server: Peer, limit_s: float) -> Found | None:
    listing = entries(await server.get("/v1/models", limit_s), "data")
    if not listing or not all(entry.get("owned_by") == "vllm" for entry in listing):
        return None
    version = name(field(await server.get("/version", limit_s), "version"))
    models = (
        Offered(id=entry.get("id", ""), context_length=count(entry.get("max_model_len")), is_resident=True)
        for entry in listing
    )
    return _found(server, "vllm", models, version)


async def _openai(server: Peer, limit_s: float) -> Found | None:
    listing = entries(await server.get("/v1/models", limit_s), "data")
    models = tuple(Offered(id=entry["id"]) for entry in listing or [] if name(entry.get("id")))
    return _found(server, "openai", models) if models else None


def _found(server: Peer, kind: Kind, models: Iterable[Offered], version: str | None = None) -> Found:
    """Leaves out models whose name cannot be sent back or printed, and what is named twice."""
    named = {model.id: model for model in models if name(model.id)}
    return Found(kind, f"{server.root}/v1", version, tuple(named.values()))


_IDENTIFY: dict[Kind, Callable[[Peer, float], Awaitable[Found | None]]] = {
    "lmstudio": _lmstudio,
    "ollama": _ollama,
    "llama-server": _llama_server,
    "vllm": _vllm,
    "openai": _openai,
}
