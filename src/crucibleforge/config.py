"""models.yaml and profiles, read strictly into frozen Structs.

Unknown keys, duplicate keys and tags that build Python objects are refused with the place and the nearest known
key. A secret is only ever named, by `api_key_env`; no value of it is read here.
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from crucibleforge.errors import ConfigError, UnknownName
from crucibleforge.types import Price, Sampling, Selection, Target, Thinking
from crucibleforge.yamlfile import read_yaml

CONFIG_VARIABLE = "CRUCIBLEFORGE_CONFIG"
RESULTS_VARIABLE = "CRUCIBLEFORGE_RESULTS"
FILE_NAME = "models.yaml"
BUILTIN = "builtin"
BUILTIN_MODEL = "SmolLM2-135M-Instruct-Q4_1"
# The context that SmolLM2-135M-Instruct was trained with, by its model card.
_BUILTIN_CONTEXT = 8192
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_ADDRESS_HINT = "name the /v1 root, for example `http://localhost:8080/v1`"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}")
_NAMED = re.compile(r"\$\{(\w+)\}")
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)

Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]


class ProviderEntry(Struct, frozen=True):
    """A server, under `providers.<name>`.

    `timeout` in seconds bounds one request until its speed is known. `concurrency` None: found out. The two `thinking_`
    keys override those of `defaults`.
    """

    type: str = "openai"
    base_url: str = ""
    api_key_env: str = ""
    concurrency: Count | None = None
    headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    timeout: Annotated[float, Meta(gt=0)] = 900.0
    verify_model: bool = False
    thinking_max_tokens_factor: Count | None = None
    thinking_max_tokens_cap: Count | None = None


class PriceEntry(Struct, frozen=True):
    """US dollars per million tokens."""

    input: Amount
    output: Amount


class ModelEntry(Struct, frozen=True, kw_only=True):
    """A model, one of `models`; `name` is its label and file name, `path` a .gguf for a provider of type llamacpp."""

    name: str
    provider: str
    model_id: str = ""
    path: str = ""
    context_length: Count | None = None
    enabled: bool = True
    price: PriceEntry | None = None
    sampling: Sampling = Sampling()
    thinking: bool | Literal["auto"] = "auto"
    recovery: bool = True
    extra_body: dict[str, Any] = {}
    tags: tuple[str, ...] = ()


class Candidate(Struct, frozen=True, kw_only=True):
    """A model that may judge, one of `judge.candidates`."""

    provider: str
    model_id: str
    name: str = ""


class JudgeEntry(Struct, frozen=True):
    """Who marks prose; the first usable candidate wins."""

    temperature: float = 0.0
    max_tokens: int = 4096
    samples: int = 1
    candidates: tuple[Candidate, ...] = ()


class Defaults(Struct, frozen=True):
    """What models and runs take where they say nothing; `context_length` None: what the server states.

    `stall_timeout_s` is the longest silence within a reply. `no_recovery` names categories in which a reply that was
    lost to reasoning is not asked for again.
    """

    context_length: Count | None = None
    repeats: Count = 1
    stall_timeout_s: Annotated[float, Meta(gt=0)] = 300.0
    thinking_max_tokens_factor: Count = 4
    thinking_max_tokens_cap: Count = 32768
    reasoning_overflow_recovery: bool = True
    no_recovery: tuple[str, ...] = ()


class Scoring(Struct, frozen=True):
    """Weight of each category in the total; 1 where nothing is said, 0 means shown but never counted."""

    weights: dict[str, Amount] = {}


class SandboxEntry(Struct, frozen=True):
    """What programs may run in, beside what is found by itself.

    `python` is the only interpreter to try in bubblewrap, "" any that fits. `container` is the engine to use where
    bubblewrap does not work, and `image` what it runs: one with a `python` of 3.11 or newer on its path.
    """

    python: str = ""
    container: Literal["", "docker", "podman"] = ""
    image: str = ""


class Config(Struct, frozen=True):
    """A whole models.yaml."""

    providers: dict[str, ProviderEntry] = {}
    models: tuple[ModelEntry, ...] = ()
    judge: JudgeEntry = JudgeEntry()
    defaults: Defaults = Defaults()
    scoring: Scoring = Scoring()
    sandbox: SandboxEntry = SandboxEntry()


class Profile(Struct, frozen=True):
    """A named part of the suite, `profiles/<name>.yaml`."""

    description: str = ""
    categories: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    repeats: Count | None = None


def locate(given: Path | None) -> Path | None:
    """The configuration file in use, or None when there is none.

    Looked for in this order: `given`, `$CRUCIBLEFORGE_CONFIG`, `./models.yaml`,
    `~/.config/crucibleforge/models.yaml`.

    Raises:
        ConfigError: a file that was named does not exist.
    """
    named = given or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)
    if named:
        if not named.is_file():
            raise ConfigError(f"no such file: {named}", hint="`crucibleforge config --init` writes a starter")
        return named
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for path in (Path(FILE_NAME), home / "crucibleforge" / FILE_NAME):
        if path.is_file():
            return path
    return None


def results_folder(given: Path | None, config_path: Path | None) -> Path:
    """Where results go: `given`, `$CRUCIBLEFORGE_RESULTS`, beside the configuration file, else `./results`."""
    if given:
        return given
    if os.environ.get(RESULTS_VARIABLE):
        return Path(os.environ[RESULTS_VARIABLE])
    return (config_path.parent if config_path else Path()) / "results"


def load(path: Path | None) -> Config:
    """Read a configuration; without a file, the empty one.

    Raises:
        ConfigError: it is not YAML, or says what we do not understand.
    """
    return Config() if path is None else parsed(path.read_bytes(), path.name)


def parsed(text: bytes, file: str) -> Config:
    """The configuration that a text amounts to; `file` is what errors call it.

    Raises:
        ConfigError: as `load`.
    """
    config: Config = read_yaml(text, file, Config)
    _check(config, file)
    return config


def load_profile(name: str, config_path: Path | None) -> Profile:
    """A profile by name: from `profiles/` beside the configuration file, else one of ours.

    Raises:
        UnknownName: there is no such profile.
    """
    known = {}
    ours = files("crucibleforge") / "profiles"
    for entry in ours.iterdir():
        if entry.name.endswith(".yaml"):
            known[entry.name.removesuffix(".yaml")] = entry.read_bytes()
    theirs = (config_path.parent if config_path else Path()) / "profiles"
    if theirs.is_dir():
        known |= {path.stem: path.read_bytes() for path in sorted(theirs.glob("*.yaml"))}
    if name not in known:
        raise UnknownName("profile", name, known, hint=f"known: {', '.join(sorted(known))}")
    profile: Profile = read_yaml(known[name], f"profiles/{name}.yaml", Profile)
    return profile


def merged(selection: Selection, profile: Profile) -> Selection:
    """A selection with what the profile says where the selection says nothing."""
    return msgspec.structs.replace(
        selection,
        categories=selection.categories or profile.categories,
        difficulty=selection.difficulty or profile.difficulty,
        cases=selection.cases or profile.cases,
    )


def with_profile(selection: Selection, config_path: Path | None) -> Selection:
    """A selection with what its profile says; itself where it names none.

    Raises:
        UnknownName: there is no such profile.
    """
    return merged(selection, load_profile(selection.profile, config_path)) if selection.profile else selection


def builtin_target() -> Target:
    """The model that needs no file and no server; `path` is filled in when it has been fetched."""
    return Target(
        label=BUILTIN,
        provider=BUILTIN,
        kind="llamacpp",
        model_id=BUILTIN_MODEL,
        context_length=_BUILTIN_CONTEXT,
    )


def gguf_target(path: Path) -> Target:
    """A .gguf file as a target for the embedded llama.cpp; its label is the file's stem, made safe."""
    path = path.expanduser()
    return Target(label=label_of(path), provider="file", kind="llamacpp", model_id=path.stem, path=str(path.resolve()))


def label_of(path: Path) -> str:
    """What a model that is named by a file is called: the file's stem, made safe."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._").lower()[:80] or "model"


def entry_target(config: Config, entry: ModelEntry) -> Target:
    """An entry of `models` together with its provider."""
    provider = config.providers[entry.provider]
    return Target(
        label=entry.name,
        provider=entry.provider,
        kind=provider.type,
        model_id=entry.model_id or Path(entry.path).stem,
        base_url=provider.base_url.rstrip("/"),
        path=str(Path(entry.path).expanduser()) if entry.path else "",
        api_key_env=provider.api_key_env,
        headers=provider.headers,
        extra_body=provider.extra_body | entry.extra_body,
        context_length=entry.context_length or config.defaults.context_length,
        concurrency=provider.concurrency,
        timeout_s=provider.timeout,
        stall_s=config.defaults.stall_timeout_s,
        verify_model=provider.verify_model,
        sampling=entry.sampling,
        thinking=_thinking(config.defaults, provider, entry),
        price=Price(entry.price.input, entry.price.output) if entry.price else None,
    )


def secret_variables(config: Config) -> tuple[str, ...]:
    """The environment variables that the providers take secrets from."""
    keys = (provider.api_key_env for provider in config.providers.values())
    values = (value for provider in config.providers.values() for value in provider.headers.values())
    named = (name for value in values for name in _NAMED.findall(value))
    return tuple(sorted({name for name in (*keys, *named) if name}))


def _thinking(defaults: Defaults, provider: ProviderEntry, entry: ModelEntry) -> Thinking:
    modes: dict[bool | str, Literal["auto", "on", "off"]] = {True: "on", False: "off", "auto": "auto"}
    return Thinking(
        mode=modes[entry.thinking],
        factor=provider.thinking_max_tokens_factor or defaults.thinking_max_tokens_factor,
        cap=provider.thinking_max_tokens_cap or defaults.thinking_max_tokens_cap,
        recovery=entry.recovery and defaults.reasoning_overflow_recovery,
        no_recovery=defaults.no_recovery,
    )


def provider_target(config: Config, name: str) -> Target:
    """A provider alone, to ask its server how it is.

    Raises:
        UnknownName: there is no such provider.
    """
    if name not in config.providers:
        raise UnknownName("provider", name, config.providers, hint="providers stand in models.yaml")
    return entry_target(config, ModelEntry(name=name, provider=name))


def _check(config: Config, file: str) -> None:
    seen: set[str] = set()
    for index, model in enumerate(config.models):
        _check_model(config, model, f"{file}: models[{index}]")
        if model.name.lower() in seen or model.name.lower() == BUILTIN:
            raise ConfigError(
                f"{file}: models[{index}].name: '{model.name}' is taken",
                hint="names differ in more than upper and lower case; `builtin` is ours",
            )
        seen.add(model.name.lower())
    for index, candidate in enumerate(config.judge.candidates):
        if candidate.provider not in config.providers:
            raise _unknown_provider(config, candidate.provider, f"{file}: judge.candidates[{index}]")
    for name, provider in config.providers.items():
        _check_provider(provider, f"{file}: providers.{name}")
    _check_sandbox(config.sandbox, f"{file}: sandbox")


def _check_sandbox(sandbox: SandboxEntry, place: str) -> None:
    if sandbox.python and not Path(sandbox.python).expanduser().is_absolute():
        raise ConfigError(f"{place}.python: '{sandbox.python}' is not a whole path", hint="as `/usr/bin/python3.12`")
    if sandbox.container and not sandbox.image:
        raise ConfigError(f"{place}: no image", hint="name one that the engine has: `image: python:3.12-slim`")
    if sandbox.image and not sandbox.container:
        raise ConfigError(f"{place}: an image and no engine", hint="`container: docker` or `container: podman`")
    if sandbox.image and not _IMAGE.fullmatch(sandbox.image):
        raise ConfigError(f"{place}.image: '{sandbox.image}' is no image", hint="as `python:3.12-slim`")


def _check_model(config: Config, model: ModelEntry, place: str) -> None:
    if not _LABEL.fullmatch(model.name):
        raise ConfigError(
            f"{place}.name: '{model.name}' cannot be a file name", hint="use letters, digits, `.`, `_` and `-`"
        )
    if model.provider not in config.providers:
        raise _unknown_provider(config, model.provider, place)
    if config.providers[model.provider].type == "llamacpp" and not model.path:
        raise ConfigError(f"{place}: no path", hint="a provider of type llamacpp serves a file: `path: model.gguf`")
    if not (model.model_id or model.path):
        raise ConfigError(f"{place}: no model_id", hint="`crucibleforge models discover PROVIDER` lists them")


def _unknown_provider(config: Config, name: str, place: str) -> UnknownName:
    known = ", ".join(config.providers) or "none"
    return UnknownName(f"provider in {place}", name, config.providers, hint=f"known: {known}")


def _check_provider(provider: ProviderEntry, place: str) -> None:
    # What may be a secret is not repeated: an error ends up in logs and bug reports.
    if provider.api_key_env and not _VARIABLE.fullmatch(provider.api_key_env):
        raise ConfigError(
            f"{place}.api_key_env: not the name of a variable",
            hint="capitals, digits and `_`, for example `MY_API_KEY`; the key itself stays in the environment",
        )
    for name, value in provider.headers.items():
        if _SECRET_HEADER.search(name) and "${" not in value:
            raise ConfigError(
                f"{place}.headers.{name}: a literal secret", hint="put it in a variable and write `${NAME}` here"
            )
    if provider.type == "openai":
        _check_address(provider.base_url, f"{place}.base_url")


def _check_address(base_url: str, place: str) -> None:
    try:
        address = urlsplit(base_url)
        is_address = address.scheme in {"http", "https"} and bool(address.hostname) and (address.port or 1) > 0
    except ValueError:
        raise ConfigError(f"{place}: '{base_url}' is no address", hint=_ADDRESS_HINT) from None
    if "@" in address.netloc:
        raise ConfigError(f"{place}: a name or password in an address", hint="name the key with `api_key_env`")
    if not is_address:
        raise ConfigError(f"{place}: '{base_url}' is no address", hint=_ADDRESS_HINT)
