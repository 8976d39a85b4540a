"""`bench-llm --list`, `--check` and `--schema`: what there is, and whether everything is in place. Nothing is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import psutil
from msgspec import Struct

from crucibleforge import plugins
from crucibleforge.bench.record import Record
from crucibleforge.bench.weighed import weighed
from crucibleforge.cli._bench import Want, clean, configuration, hardware_of, servers
from crucibleforge.cli._bench_targets import Chosen, choose
from crucibleforge.cli._sandboxed import sandbox_here
from crucibleforge.cli._screen import print_json, say, table
from crucibleforge.errors import CrucibleError
from crucibleforge.gguf import facts


class Looked(Struct, frozen=True):
    """One thing that must be in place. `is_ok` None: it cannot be told."""

    what: str
    is_ok: bool | None
    detail: str


def listing(want: Want) -> int:
    """Show the servers of this machine and what they offer."""
    found, _ = servers(want)
    if want.as_json:
        print_json(found)
        return 0
    rows: list[tuple[str, ...]] = [
        (
            model.id,
            server.kind,
            f"{model.size_bytes / 1e9:.2f} GB" if model.size_bytes else "-",
            model.quant or "-",
            f"{model.context_length:,}" if model.context_length else "-",
            {True: "yes", False: "no"}.get(model.is_resident, "-") if model.is_resident is not None else "-",
        )
        for server in found
        for model in server.models
    ]
    rows += [
        (entry.name, f"models.yaml ({entry.provider})", "-", "-", "-", "-") for entry in configuration(want).models
    ]
    rows.append(("builtin", "embedded llama.cpp", "0.10 GB", "Q4_1", "8,192", "-"))
    click.echo(clean(table(("Model", "Server", "Size", "Quant", "Window", "In memory"), rows)))
    for server in found:
        say(f"{server.kind} {server.version or ''} at {server.base_url}")
    if not found:
        say("no server found on the usual ports: LM Studio 1234, Ollama 11434, llama-server 8080, vLLM 8000")
    return 0


def schema() -> str:
    """The JSON schema of a record."""
    return json.dumps(msgspec.json.schema(Record), indent=1, sort_keys=True)


def checked(want: Want) -> int:
    """Look at server, model, file, memory and sandbox; 1 when something is missing.

    Raises:
        InputError: a model that is named is not there.
    """
    found, _ = servers(want)
    seen = [one for chosen in choose(configuration(want), want.models, found, want.url) for one in _model(want, chosen)]
    if not want.speed_only:
        seen.append(_sandbox(want))
    if want.as_json:
        print_json(seen)
    else:
        words = {True: "ok", False: "MISSING", None: "unknown"}
        click.echo(
            clean(table(("Check", "State", "Detail"), [(one.what, words[one.is_ok], one.detail) for one in seen]))
        )
    return 1 if any(one.is_ok is False for one in seen) else 0


def _model(want: Want, chosen: Chosen) -> Iterator[Looked]:
    target, offered = chosen.target, chosen.offered
    probe = asyncio.run(plugins.find("providers", target.kind).probe(target))
    where = target.base_url or "embedded llama.cpp"
    yield Looked(f"server of {target.label}", probe.state == "up", probe.detail or f"{where} answers")
    if target.path:
        try:
            gguf = facts(Path(target.path))
        except CrucibleError as error:
            yield Looked("file", is_ok=False, detail=error.message)
            return
        yield Looked("file", is_ok=True, detail=f"{gguf.size_bytes / 1e9:.2f} GB, {gguf.quant or 'quant not known'}")
        yield _memory(gguf.size_bytes)
        return
    if target.kind == "openai":
        is_there = target.model_id in probe.models if probe.models else None
        state = (
            {True: "in memory", False: "on disk, not in memory"}.get(offered.is_resident or False) if offered else ""
        )
        yield Looked("model", is_there, f"{target.model_id} {state or ''}".strip())
    hardware = want.hardware or hardware_of(chosen)
    if target.kind == "openai":
        known = weighed(target.model_id, None, offered, hardware)
        yield Looked("size", known.size_bytes is not None or None, _size(known.size_bytes, known.quant))
    yield Looked(
        "hardware", hardware is not None or None, hardware.name if hardware else "not known: `--hardware` says it"
    )


def _memory(size_bytes: int) -> Looked:
    free = psutil.virtual_memory().available
    return Looked("memory", size_bytes < free, f"{free / 1e9:.1f} GB free, the weights take {size_bytes / 1e9:.2f} GB")


def _sandbox(want: Want) -> Looked:
    try:
        with sandbox_here(want.allow_unsandboxed, want.config_path) as sandbox:
            return Looked("sandbox", is_ok=True, detail=f"{sandbox.isolation} works here")
    except CrucibleError as error:
        return Looked(
            "sandbox", is_ok=False, detail=f"{error.message}" + (f" (hint: {error.hint})" if error.hint else "")
        )


def _size(size_bytes: int | None, quant: str | None) -> str:
    if size_bytes is None:
        return "the server does not say: no plausibility without it"
    return f"{size_bytes / 1e9:.2f} GB, {quant or 'quant not known'}"
