"""Which models a server holds in memory; load and unload them through its own interface. No process is ever signalled.

LM Studio: REST API v1 (LM Studio 0.4.0; github.com/lmstudio-ai/docs, 1_developer/2_rest/ list.md, load.md, unload.md;
`parallel` in a loaded instance's settings is shown by live servers, and refused as an unknown key by `load`:
lmstudio-bug-tracker#2024). Ollama: docs/api.md ("Load a model", "Unload a model", "List Running Models"); that an
empty `input` of `/api/embed` loads an embedding model was seen in a port of its code only. llama.cpp's router:
tools/server/README.md ("Using multiple models"). A llama-server with one model, and vLLM, have no such interface.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from math import inf
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct

from crucibleforge.errors import Trouble
from crucibleforge.providers._local import Found
from crucibleforge.providers._loopback import Answer, Peer, count, entries, field, name, peer

_ASK_S = 5.0
_UNLOAD_S = 30.0
_SETTLE_S = 30.0
_LOAD_S = 900.0
"""A hundred gigabytes off a hard disk."""
_POLL_S = 0.05
_FOREVER_S = 10 * 365 * 86400.0
"""Ollama writes "never" as a date some centuries away."""
_NS = 1e-9
_LOAD_SETTINGS = ("context_length", "eval_batch_size", "flash_attention", "num_experts", "offload_kv_cache_to_gpu")
"""What LM Studio's `load` takes besides the model; it refuses any other key."""

Setting = tuple[str, int]


class Resident(Struct, frozen=True, omit_defaults=True):
    """A model in memory; None where its server does not say.

    `id` is the model, `instance` the server's own name for this copy of it. `settings` are those that it was loaded
    with, as far as they can be given back. `expires_s` is in how many seconds the server would have unloaded it by
    itself, counted from when this was read; infinite: never.
    """

    id: str
    instance: str
    size_bytes: int | None = None
    size_vram: int | None = None
    context_length: int | None = None
    slots: int | None = None
    settings: tuple[Setting, ...] = ()
    expires_s: float | None = None

    def is_called(self, model: str) -> bool:
        """Whether a request for `model` may be answered by this one; Ollama's tag `latest` may be left out."""
        return model in {self.id, self.instance, self.id.removesuffix(":latest")}


class Loaded(Struct, frozen=True):
    """A model that is ready; `load_s` is how long its engine says that loading took, None when it did not say."""

    was_resident: bool
    load_s: float | None = None


class Holder(Protocol):
    """What is asked of a server about its memory. Everything may raise Trouble."""

    fixed: str
    """Why nothing can be unloaded; "" where it can."""
    loads_once: bool
    """Whether to load a model that is there changes nothing; elsewhere a second copy would join it."""

    async def residents(self) -> tuple[Resident, ...]:
        """What is in memory now."""
        ...

    async def unload(self, resident: Resident) -> None:
        """Ask for it to leave; it may still be there for a while."""
        ...

    async def load(self, model: str) -> float | None:
        """Load a model that is not there; seconds by the engine's account."""
        ...

    async def restore(self, resident: Resident) -> None:
        """Load what was there before, with the settings that it had."""
        ...

    def by_hand(self, resident: Resident, instead_of: str = "") -> str:
        """The command that does what `restore` does, an instance that is in the way being unloaded first."""
        ...


@asynccontextmanager
async def holder(found: Found) -> AsyncIterator[Holder]:
    """Open a server that was found.

    Raises:
        Trouble: its address is not on this machine.
    """
    async with peer(found.base_url) as server:
        match found.kind:
            case "lmstudio":
                yield _LMStudio(server)
            case "ollama":
                yield _Ollama(server)
            case "llama-server" if isinstance(await _role(server), str):
                yield _Router(server)
            case _:
                yield _Fixed(found, server)


async def residents(found: Found) -> tuple[Resident, ...]:
    """Which models the server holds in memory now.

    Raises:
        Trouble: it does not say.
    """
    async with holder(found) as held:
        return await held.residents()


async def load(found: Found, model: str) -> Loaded:
    """Have a model loaded, unless it is; nothing is left to the server's loading at the first request.

    Raises:
        Trouble: the server refuses, or does not list it afterwards.
    """
    async with holder(found) as held:
        if any(resident.is_called(model) for resident in await held.residents()):
            return Loaded(was_resident=True)
        load_s = await held.load(model)
        if not await settled(held, lambda now: any(one.is_called(model) for one in now), _SETTLE_S):
            raise Trouble("rejected", f"the server took the request to load {model} and does not list it as loaded")
        return Loaded(was_resident=False, load_s=load_s)


class Wanted(Protocol):
    """A claim about what is resident."""

    def __call__(self, now: tuple[Resident, ...], /) -> bool:
        """Whether it holds."""
        ...


async def settled(held: Holder, wanted: Wanted, limit_s: float) -> bool:
    """Read what is resident until it is as wanted; False when it was not within `limit_s`."""
    until = monotonic() + limit_s
    while not wanted(await held.residents()):
        if monotonic() >= until:
            return False
        await asyncio.sleep(_POLL_S)
    return True


class _LMStudio:
    fixed = ""
    loads_once = False

    def __init__(self, server: Peer) -> None:
        self._server = server

    async def residents(self) -> tuple[Resident, ...]:
        v1 = entries(await self._server.get("/api/v1/models", _ASK_S), "models")
        if v1 is not None:
            return tuple(one for entry in v1 for one in _instances(entry))
        self.fixed = "LM Studio before 0.4.0 unloads nothing through its REST interface; `lms unload` does"
        v0 = entries(await self._server.get("/api/v0/models", _ASK_S), "data")
        if v0 is None:
            raise Trouble("protocol", f"{self._server.root} does not say which models are loaded")
        return tuple(
            Resident(entry["id"], entry["id"], context_length=count(entry.get("loaded_context_length")))
            for entry in v0
            if entry.get("state") == "loaded" and name(entry.get("id"))
        )

    async def unload(self, resident: Resident) -> None:
        _accept(await self._server.post("/api/v1/models/unload", {"instance_id": resident.instance}, _UNLOAD_S))

    async def load(self, model: str) -> float | None:
        return _seconds(field(await self._load(model, ()), "load_time_seconds"))

    async def restore(self, resident: Resident) -> None:
        await self._load(resident.id, resident.settings)

    def by_hand(self, resident: Resident, instead_of: str = "") -> str:
        first = f"{shlex.join(['lms', 'unload', instead_of])} && " if instead_of else ""
        words = ["lms", "load", resident.id, "--yes", "--identifier", resident.instance]
        if resident.context_length:
            words += ["--context-length", str(resident.context_length)]
        if resident.slots:
            words += ["--parallel", str(resident.slots)]
        return first + shlex.join(words)

    async def _load(self, model: str, settings: tuple[Setting, ...]) -> Any:
        body = {"model": model, **dict(settings)}
        return _accept(await self._server.post("/api/v1/models/load", body, _LOAD_S))


def _instances(entry: dict[str, Any]) -> list[Resident]:
    key = name(entry.get("key"))
    loaded = entries(entry, "loaded_instances") or []
    return [
        Resident(
            id=key,
            instance=instance["id"],
            size_bytes=count(entry.get("size_bytes")),
            context_length=count(field(instance, "config", "context_length")),
            slots=count(field(instance, "config", "parallel")),
            settings=_settings(instance.get("config")),
        )
        for instance in loaded
        if key and name(instance.get("id"))
    ]


def _settings(config: Any) -> tuple[Setting, ...]:
    """What can be asked for again; a 0, as for the experts of a dense model, says that there is nothing to set."""
    stated = [(key, field(config, key)) for key in _LOAD_SETTINGS]
    return tuple((key, value) for key, value in stated if isinstance(value, bool) or count(value))


class _Ollama:
    fixed = ""
    # And it makes one stay that was told to leave and has not yet.
    loads_once = True

    def __init__(self, server: Peer) -> None:
        self._server = server

    async def residents(self) -> tuple[Resident, ...]:
        running = entries(await self._server.get("/api/ps", _ASK_S), "models")
        if running is None:
            raise Trouble("protocol", f"{self._server.root} does not say which models are loaded")
        return tuple(
            Resident(
                id=entry["name"],
                instance=entry["name"],
                size_bytes=count(entry.get("size")),
                size_vram=count(entry.get("size_vram"), least=0),
                context_length=count(entry.get("context_length")),
                expires_s=_left_s(entry.get("expires_at")),
            )
            for entry in running
            if name(entry.get("name"))
        )

    async def unload(self, resident: Resident) -> None:
        # No prompt and 0 seconds to stay: it answers at once, and lets a running request end first.
        body = {"model": resident.id, "keep_alive": 0, "stream": False}
        _accept(await self._server.post("/api/generate", body, _UNLOAD_S))

    async def load(self, model: str) -> float | None:
        # The answer to an empty prompt has no durations, so one token it must be.
        body = {"model": model, "prompt": "Hi", "stream": False, "options": {"num_predict": 1}}
        said = _accept(await self._server.post("/api/generate", body, _LOAD_S))
        load_ns = count(field(said, "load_duration"))
        return None if load_ns is None else load_ns * _NS

    async def restore(self, resident: Resident) -> None:
        body: dict[str, Any] = {"model": resident.id, "stream": False}
        if resident.expires_s is not None:
            body["keep_alive"] = _stay(resident.expires_s)
        if resident.context_length:
            body["options"] = {"num_ctx": resident.context_length}
        answer = await self._server.post("/api/generate", body, _LOAD_S)
        if answer.refusal and "generate" in answer.refusal:
            # A model for embeddings is loaded by its own path.
            answer = await self._server.post("/api/embed", body | {"input": ""}, _LOAD_S)
        _accept(answer)

    def by_hand(self, resident: Resident, instead_of: str = "") -> str:
        first = f"{shlex.join(['ollama', 'stop', instead_of])} && " if instead_of else ""
        stay = [] if resident.expires_s is None else [f"--keepalive={_stay(resident.expires_s)}s"]
        return first + shlex.join(["ollama", "run", resident.id, *stay, ""])


def _stay(expires_s: float) -> int:
    return -1 if expires_s == inf else max(1, round(expires_s))


def _left_s(value: Any) -> float | None:
    """Seconds until a date; None for one that is past, which is what a model has while it is loaded or leaves."""
    try:
        left_s = (datetime.fromisoformat(value) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError, OverflowError):
        return None
    if left_s <= 0:
        return None
    return inf if left_s > _FOREVER_S else left_s


class _Router:
    """llama.cpp's server without a model of its own: each model runs in a process that the router starts and ends."""

    fixed = ""
    loads_once = False

    def __init__(self, server: Peer) -> None:
        self._server = server

    async def residents(self) -> tuple[Resident, ...]:
        listing = entries(await self._server.get("/models", _ASK_S), "data")
        if listing is None:
            raise Trouble("protocol", f"{self._server.root} does not say which models are loaded")
        return tuple(
            Resident(
                entry["id"],
                entry["id"],
                size_bytes=count(field(entry, "meta", "size")),
                context_length=count(field(entry, "meta", "n_ctx")),
            )
            for entry in listing
            if field(entry, "status", "value") == "loaded" and name(entry.get("id"))
        )

    async def unload(self, resident: Resident) -> None:
        _accept(await self._server.post("/models/unload", {"model": resident.id}, _UNLOAD_S))

    async def load(self, model: str) -> float | None:
        _accept(await self._server.post("/models/load", {"model": model}, _LOAD_S))
        # It answers before the model is there.
        await settled(self, lambda now: any(one.id == model for one in now), _LOAD_S)
        return None

    async def restore(self, resident: Resident) -> None:
        await self.load(resident.id)

    def by_hand(self, resident: Resident, instead_of: str = "") -> str:  # noqa: ARG002 - its models have no settings
        body = json.dumps({"model": resident.id})
        return shlex.join(["curl", f"{self._server.root}/models/load", "-d", body])


class _Fixed:
    """A server whose models are in memory for as long as it runs."""

    loads_once = False

    def __init__(self, found: Found, server: Peer) -> None:
        self._found = found
        self._server = server
        self.fixed = f"{found.kind} at {server.root} has no interface for it"

    async def residents(self) -> tuple[Resident, ...]:
        if any(model.is_resident is None for model in self._found.models):
            raise Trouble("protocol", f"{self._server.root} does not say which models are loaded")
        return tuple(
            Resident(
                model.id,
                model.id,
                size_bytes=model.size_bytes,
                context_length=model.context_length,
                slots=model.slots,
            )
            for model in self._found.models
            if model.is_resident
        )

    async def unload(self, resident: Resident) -> None:
        raise Trouble("rejected", f"{resident.id} cannot be unloaded: {self.fixed}")

    async def load(self, model: str) -> float | None:
        raise Trouble("rejected", f"{model} cannot be loaded: {self.fixed}")

    async def restore(self, resident: Resident) -> None:
        await self.load(resident.id)

    def by_hand(self, resident: Resident, instead_of: str = "") -> str:  # noqa: ARG002 - a server has one model
        return f"start a server with {shlex.quote(resident.id)}"


def _accept(answer: Answer) -> Any:
    """The value of a success.

    Raises:
        Trouble: the server refused, in its own words.
    """
    if refusal := answer.refusal:
        raise Trouble("rejected", refusal, status=answer.status)
    return answer.value


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < _FOREVER_S else None


async def _role(server: Peer) -> Any:
    """What `/props` says of a router; nothing else has a role."""
    return field(await server.get("/props", _ASK_S), "role")
