"""`crucibleforge models`: discover what servers offer, add an entry."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from crucibleforge import plugins
from crucibleforge.cli import _append
from crucibleforge.cli._options import config_option, json_option, listed, verbose_option
from crucibleforge.cli._screen import print_json, say
from crucibleforge.config import ModelEntry, PriceEntry, load, locate, provider_target
from crucibleforge.errors import ConfigError, InputError
from crucibleforge.providers import Probe
from crucibleforge.report.markdown import plain
from crucibleforge.types import Target


@click.group("models")
def COMMAND() -> None:  # noqa: N802 - the constant by which the lazy group finds a verb
    """Discover what a server offers; add a model."""


@COMMAND.command("discover")
@click.argument("provider", required=False)
@config_option
@json_option
@verbose_option
def discover(provider: str | None, config_path: Path | None, as_json: bool) -> int:
    """List what PROVIDER's server offers; without PROVIDER, what every configured one does."""
    config = load(_configured(config_path))
    named = [provider_target(config, name) for name in ([provider] if provider else config.providers)]
    targets = [target for target in named if target.base_url]
    if not targets:
        raise InputError(
            f"provider '{provider}' has no server to ask" if provider else "no provider in models.yaml has a server",
            hint="give one a `base_url`, for example `http://localhost:8080/v1`",
        )
    probes = asyncio.run(_probes(targets))
    registered = {(entry.provider, entry.model_id) for entry in config.models}
    if as_json:
        print_json({target.provider: probe for target, probe in zip(targets, probes, strict=True)})
    for target, probe in zip(targets, probes, strict=True):
        if probe.state != "up":
            say(f"{target.provider}: {plain(probe.detail)}")
        if as_json:
            continue
        for name in probe.models:
            star = "*" if (target.provider, name) in registered else " "
            click.echo(f"  {star} {plain(name)}")
        say(f"{len(probe.models)} models on {target.provider} (* = in models.yaml)")
    return 0 if any(probe.models for probe in probes) else 1


@COMMAND.command("add")
@click.argument("name")
@click.argument("provider")
@click.argument("model_id")
@click.option("--context-length", type=click.IntRange(min=1), help="Tokens; without it, what the server states.")
@click.option("--price-in", type=click.FloatRange(min=0), help="US dollars per million prompt tokens.")
@click.option("--price-out", type=click.FloatRange(min=0), help="US dollars per million reply tokens.")
@listed("--tags", "Words of your own.", "LIST")
@config_option
@verbose_option
def add(  # noqa: PLR0913, PLR0917 - the options of a command
    name: str,
    provider: str,
    model_id: str,
    context_length: int | None,
    price_in: float | None,
    price_out: float | None,
    tags: tuple[str, ...],
    config_path: Path | None,
) -> int:
    """Add a model to models.yaml; comments and order there stay as they are."""
    path = _configured(config_path)
    if (price_in is None) != (price_out is None):
        raise InputError("one price without the other", hint="give both `--price-in` and `--price-out`")
    price = PriceEntry(price_in, price_out) if price_in is not None and price_out is not None else None
    entry = ModelEntry(
        name=name, provider=provider, model_id=model_id, context_length=context_length, price=price, tags=tags
    )
    _append.append(path, entry)
    say(f"added '{name}' to {path}; `crucibleforge run --models {name}` asks it")
    return 0


async def _probes(targets: list[Target]) -> list[Probe]:
    probes: list[Probe] = await asyncio.gather(
        *(plugins.find("providers", target.kind).probe(target) for target in targets)
    )
    return probes


def _configured(given: Path | None) -> Path:
    path = locate(given)
    if path is None:
        raise ConfigError("there is no models.yaml", hint="`crucibleforge config --init` writes a starter")
    return path
