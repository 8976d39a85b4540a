"""Small model servers that keep a memory of their own and speak as LM Studio, Ollama, llama.cpp's router do.

They run on a free loopback port in the loop of the test, and remember every change that was asked of them.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from aiohttp import web

MB = 1024 * 1024
LOAD_KEYS = {"context_length", "eval_batch_size", "flash_attention", "num_experts", "offload_kv_cache_to_gpu"}


class _Server:
    """`before` is awaited before each change is made; `refuse` names what is answered with an error."""

    def __init__(self):
        self.asked = []
        self.changes = []
        self.refuse = set()
        self.before = None

    async def _change(self, what, model):
        self.changes.append((what, model))
        if self.before is not None:
            await self.before(what, model)

    @web.middleware
    async def note(self, request, handler):
        self.asked.append(request.path)
        return await handler(request)

    def unknown(self):
        return web.json_response({"error": {"message": "File Not Found", "code": 404}}, status=404)


class LMStudio(_Server):
    """`loaded` maps an instance to its key and settings."""

    def __init__(self, *keys, loaded=None, v1=True, forced=None):
        super().__init__()
        self.keys = keys
        self.loaded = loaded or {}
        self.v1 = v1
        self.bodies = []
        self.forced = forced or {}

    def entry(self, key):
        instances = [{"id": name, "config": config} for name, (of, config) in self.loaded.items() if of == key]
        return {
            "type": "llm",
            "key": key,
            "quantization": {"name": "Q4_0", "bits_per_weight": 4},
            "size_bytes": 241 * MB,
            "params_string": "26B-A4B",
            "loaded_instances": instances,
            "max_context_length": 32768,
        }

    def entry_v0(self, key):
        state = "loaded" if key in self.loaded else "not-loaded"
        return {"id": key, "state": state, "quantization": "Q4_K_M", "max_context_length": 32768}

    async def handle(self, request):
        path = request.path
        if path == "/api/v1/models" and self.v1:
            return web.json_response({"models": [self.entry(key) for key in self.keys]})
        if path == "/api/v0/models" and not self.v1:
            return web.json_response({"object": "list", "data": [self.entry_v0(key) for key in self.keys]})
        if path == "/v1/models":
            return web.json_response({"data": [{"id": key, "owned_by": "organization_owner"} for key in self.keys]})
        if path == "/api/v1/models/unload" and self.v1:
            return await self.unload(await request.json())
        if path == "/api/v1/models/load" and self.v1:
            return await self.load(await request.json())
        return web.json_response({"error": f"Unexpected endpoint or method. ({request.method} {path})"})

    async def unload(self, body):
        await self._change("unload", body["instance_id"])
        if "unload" in self.refuse or body["instance_id"] not in self.loaded:
            return web.json_response({"error": {"message": "no such instance", "type": "not_found"}}, status=404)
        del self.loaded[body["instance_id"]]
        return web.json_response({"instance_id": body["instance_id"]})

    async def load(self, body):
        await self._change("load", body["model"])
        self.bodies.append(body)
        key, settings = body["model"], {name: value for name, value in body.items() if name != "model"}
        if set(settings) - LOAD_KEYS:
            return web.json_response({"error": {"message": "Unrecognized key(s) in object"}}, status=400)
        if "load" in self.refuse or key not in self.keys:
            return web.json_response({"error": {"message": "failed to load: out of memory"}}, status=500)
        instance = key if key not in self.loaded else f"{key}:2"
        self.loaded[instance] = (key, {"context_length": 4096, "parallel": 4} | settings | self.forced)
        return web.json_response(
            {"type": "llm", "instance_id": instance, "load_time_seconds": 9.099, "status": "loaded"}
        )


class Ollama(_Server):
    """`loaded` maps a model to the seconds that it is still to stay, and `window` to its context."""

    def __init__(self, *names, loaded=None, embedders=(), lingers=False):
        super().__init__()
        self.names = names
        self.loaded = loaded or {}
        self.embedders = embedders
        self.lingers = lingers
        self.bodies = []
        self.cloud = ()

    async def handle(self, request):
        match request.path:
            case "/api/version":
                return web.json_response({"version": "0.40.12"})
            case "/api/tags":
                return web.json_response({"models": [self.tag(name) for name in self.names]})
            case "/api/ps":
                return web.json_response({"models": [self.running(name) for name in self.loaded]})
            case "/api/generate" | "/api/embed":
                return await self.change(request.path, await request.json())
        return web.Response(text="404 page not found", status=404)

    def tag(self, name):
        details = {"parameter_size": "4.3B", "quantization_level": "Q4_K_M"}
        remote = {"remote_host": "https://example.invalid:443"} if name in self.cloud else {}
        return {"name": name, "model": name, "size": 3000 * MB, "details": details, **remote}

    def running(self, name):
        stay_s = self.loaded[name]
        until = datetime.now(UTC) + timedelta(seconds=stay_s) if stay_s >= 0 else datetime(2318, 9, 12, tzinfo=UTC)
        expires = f"{until:%Y-%m-%dT%H:%M:%S}.{until.microsecond:06d}123Z"
        return self.tag(name) | {"size": 6000 * MB, "size_vram": 0, "context_length": 8192, "expires_at": expires}

    async def change(self, path, body):
        name = body["model"] if ":" in body["model"] else f"{body['model']}:latest"
        self.bodies.append((path, body))
        if body.get("keep_alive") == 0:
            await self._change("unload", name)
            if not self.lingers:
                self.loaded.pop(name, None)
            return web.json_response({"model": name, "done": True, "done_reason": "unload"})
        await self._change("load", name)
        if "load" in self.refuse or name not in self.names:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        if path == "/api/generate" and name in self.embedders:
            return web.json_response({"error": f'"{name}" does not support generate'}, status=400)
        was_there = name in self.loaded
        self.loaded[name] = body.get("keep_alive", 300)
        said = {"model": name, "done": True, "done_reason": "load"}
        if body.get("prompt"):
            said |= {"done_reason": "length", "load_duration": 50_000 if was_there else 6_338_219_291}
        return web.json_response(said)


class LlamaServer(_Server):
    """One model, for as long as it runs."""

    def __init__(self, *, sleeping=False, key=False):
        super().__init__()
        self.sleeping = sleeping
        self.key = key

    async def handle(self, request):
        if request.path == "/props" and self.key:
            return web.json_response({"error": {"message": "Invalid API Key"}}, status=401)
        if request.path == "/props":
            settings = {"params": {}, "n_ctx": 1024}
            facts = {"total_slots": 2, "model_ftype": "Q4_1", "build_info": "b11549-abc", "is_sleeping": self.sleeping}
            return web.json_response({"default_generation_settings": settings, **facts})
        if request.path == "/v1/models":
            meta = {"n_ctx": 1024, "n_ctx_train": 8192, "n_params": 134515008, "size": 96576768, "ftype": "Q4_1"}
            return web.json_response({"data": [{"id": "smol", "owned_by": "llamacpp", "meta": meta}]})
        return self.unknown()


class Router(_Server):
    """llama.cpp's server without a model; a load is under way for one more look at the list."""

    def __init__(self, *names, loaded=()):
        super().__init__()
        self.status = {name: "loaded" if name in loaded else "unloaded" for name in names}

    async def handle(self, request):
        path = request.path
        if path == "/props":
            settings = {"params": None, "n_ctx": 0}
            return web.json_response({"role": "router", "default_generation_settings": settings, "build_info": "b9"})
        if path in {"/models", "/v1/models"}:
            data = [{"id": name, "status": {"value": value}} for name, value in self.status.items()]
            self.status = {name: value.replace("loading", "loaded") for name, value in self.status.items()}
            return web.json_response({"data": data})
        if path in {"/models/load", "/models/unload"}:
            what, name = path.removeprefix("/models/"), (await request.json())["model"]
            await self._change(what, name)
            self.status[name] = "loading" if what == "load" else "unloaded"
            return web.json_response({"success": True})
        return self.unknown()


class VLLM(_Server):
    """One model, for as long as it runs."""

    async def handle(self, request):
        if request.path == "/version":
            return web.json_response({"version": "0.28.0"})
        if request.path == "/v1/models":
            entry = {"id": "org/model", "object": "model", "owned_by": "vllm", "max_model_len": 32768}
            return web.json_response({"object": "list", "data": [entry]})
        return web.json_response({"detail": "Not Found"}, status=404)


class Fixed(_Server):
    """Answers from a table of path to JSON value, `web.Response` or bytes; 404 elsewhere."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    async def handle(self, request):
        value = self.table.get(request.path, self.table.get("*"))
        if value is None:
            return web.Response(status=404)
        if callable(value):
            return await value(request)
        if isinstance(value, bytes):
            return web.Response(body=value, content_type="application/json")
        return web.json_response(value)


@asynccontextmanager
async def serving(server):
    """The root address of a running server."""
    app = web.Application(middlewares=[server.note])
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, handler_cancellation=False, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def run(coroutine, limit_s=20.0):
    """Run a test's coroutine; one that hangs fails."""
    return asyncio.run(asyncio.wait_for(coroutine, limit_s))
