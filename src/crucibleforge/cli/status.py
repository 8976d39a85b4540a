"""`crucibleforge status`."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

import click
from msgspec import Struct

from crucibleforge import plugins
from crucibleforge.cli._options import config_option, json_option, results_option, verbose_option
from crucibleforge.cli._screen import print_json
from crucibleforge.config import Config, load, locate, provider_target, results_folder
from crucibleforge.providers import Probe
from crucibleforge.report.markdown import plain
from crucibleforge.sandbox import describe
from crucibleforge.suite.expand import revision, suite


class ProviderState(Struct, frozen=True):
    """A configured provider and how its server is; `key` names the variable and says whether it is set."""

    name: str
    type: str
    address: str
    state: str
    concurrency: int | None
    key: str
    detail: str


class ModelState(Struct, frozen=True):
    """A configured model."""

    name: str
    provider: str
    model_id: str
    enabled: bool
    price: str


class Status(Struct, frozen=True, kw_only=True):
    """Everything that `status` shows."""

    revision: str
    config: str
    results: str
    sandbox: str
    providers: tuple[ProviderState, ...]
    models: tuple[ModelState, ...]
    cases: dict[str, int]
    smoke: int


@click.command("status")
@results_option
@config_option
@json_option
@verbose_option
def COMMAND(results_path: Path | None, config_path: Path | None, as_json: bool) -> int:  # noqa: N802
    """Show suite, sandbox, providers and models."""
    path = locate(config_path)
    config = load(path)
    found = Status(
        revision=revision(suite()),
        config=str(path) if path else "",
        results=str(results_folder(results_path, path)),
        sandbox=describe(config.sandbox),
        providers=asyncio.run(_providers(config)),
        models=_models(config),
        cases=dict(Counter(case.category for case in suite())),
        smoke=sum(case.smoke for case in suite()),
    )
    if as_json:
        print_json(found)
    else:
        click.echo(_text(found))
    return 0


async def _providers(config: Config) -> tuple[ProviderState, ...]:
    async def state(name: str) -> ProviderState:
        target = provider_target(config, name)
        probe: Probe = await plugins.find("providers", target.kind).probe(target)
        return ProviderState(
            name=name,
            type=target.kind,
            address=target.base_url,
            state={"up": "UP", "needs_key": "UP", "down": "DOWN"}[probe.state],
            concurrency=target.concurrency,
            key=_key(target.api_key_env),
            detail=probe.detail,
        )

    return tuple(await asyncio.gather(*(state(name) for name in config.providers)))


def _key(variable: str) -> str:
    if not variable:
        return ""
    return f"${variable} ({'set' if os.environ.get(variable) else 'NOT SET'})"


def _models(config: Config) -> tuple[ModelState, ...]:
    return tuple(
        ModelState(
            entry.name,
            entry.provider,
            entry.model_id or entry.path,
            entry.enabled,
            f"${entry.price.input:g}/{entry.price.output:g} per 1M" if entry.price else "",
        )
        for entry in config.models
    )


def _text(found: Status) -> str:
    lines = [
        f"suite revision: {found.revision}",
        f"configuration:  {found.config or 'none (`crucibleforge config --init` writes one)'}",
        f"results:        {found.results}",
        f"sandbox:        {found.sandbox}",
        "providers:",
    ]
    for one in found.providers:
        key = f" key: {one.key}" if one.key else ""
        lines.append(
            f"  {one.name:<16} {one.type:<9} {one.address:<36} {one.state:<4} conc={one.concurrency or 'auto'}{key}"
        )
        if one.detail:
            lines.append(f"    {plain(one.detail)}")
    lines.append("  (built in)       llamacpp  for `builtin` and .gguf files" if not found.providers else "")
    lines.append("models:")
    for model in found.models:
        state = "enabled" if model.enabled else "off"
        lines.append(
            f"  [{state:<7}] {model.name:<20} {model.provider:<14} {model.model_id:<28} {model.price}".rstrip()
        )
    lines.append(
        "  [enabled] builtin              SmolLM2-135M-Instruct Q4_1, needs no server" if not found.models else ""
    )
    counts = ", ".join(f"{name} {count}" for name, count in found.cases.items())
    lines.append(f"cases: {sum(found.cases.values())} ({counts}); smoke subset: {found.smoke}")
    return "\n".join(line for line in lines if line)
