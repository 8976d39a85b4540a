"""models.yaml and profiles, read strictly into frozen Structs.

Unknown keys, duplicate keys and tags that build Python objects are refused with the place and the nearest known
key. A secret is only ever named, by `api_key_env`; no value of it is read here.
"""

from __future__ import annotations

import os
import re
import types as python_types
from collections.abc import Hashable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec
import yaml
from msgspec import Meta, Struct

from crucibleforge.errors import ConfigError, UnknownName, nearest
from crucibleforge.types import Price, Sampling, Selection, Target

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
_SECRET_KEYS = {"api_key", "key", "token", "apikey"}
_SECRET_HEADERS = {"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"}

Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]


class ProviderEntry(Struct, frozen=True):
    """A server, under `providers.<name>`; `timeout` in seconds bounds one request."""

    type: str = "openai"
    base_url: str = ""
    api_key_env: str = ""
    concurrency: Count = 1
    headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    timeout: Annotated[float, Meta(gt=0)] = 900.0


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
    """What models and runs take where they say nothing; `context_length` None: what the server states."""

    context_length: Count | None = None
    repeats: Count = 1


class Scoring(Struct, frozen=True):
    """Weight of each category in the total; 1 where nothing is said, 0 means shown but never counted."""

    weights: dict[str, Amount] = {}


class Config(Struct, frozen=True):
    """A whole models.yaml."""

    providers: dict[str, ProviderEntry] = {}
    models: tuple[ModelEntry, ...] = ()
    judge: JudgeEntry = JudgeEntry()
    defaults: Defaults = Defaults()
    scoring: Scoring = Scoring()


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
    config: Config = _read(text, file, Config)
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
    profile: Profile = _read(known[name], f"profiles/{name}.yaml", Profile)
    return profile


def merged(selection: Selection, profile: Profile) -> Selection:
    """A selection with what the profile says where the selection says nothing."""
    return msgspec.structs.replace(
        selection,
        categories=selection.categories or profile.categories,
        difficulty=selection.difficulty or profile.difficulty,
        cases=selection.cases or profile.cases,
    )


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
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._").lower()[:80] or "model"
    return Target(label=label, provider="file", kind="llamacpp", model_id=path.stem, path=str(path.resolve()))


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
        sampling=entry.sampling,
        price=Price(entry.price.input, entry.price.output) if entry.price else None,
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
        if name.lower() in _SECRET_HEADERS and "${" not in value:
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


def _read(text: bytes, file: str, shape: type[Struct]) -> Any:
    try:
        data = yaml.load(text.decode(), _StrictLoader)  # noqa: S506 - a SafeLoader with one more refusal
        msgspec.json.encode(data)  # what cannot be said in JSON, such as a list that holds itself, cannot be sent
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = (error.problem or "not YAML").split("\n", 1)[0]
        raise ConfigError(f"{file}{line}: {problem}", hint="only plain YAML is read, each key once") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{file}: {str(error).splitlines()[0]}", hint="only plain YAML is read") from None
    if data is None:
        data = {}
    if isinstance(data, dict):
        # A section whose entries are all commented out.
        data = {key: value for key, value in data.items() if value is not None}
    for path, key, known in _unknown(data, shape, ""):
        hint = "name an environment variable with `api_key_env`; keys are read from the environment only"
        if key.lower() not in _SECRET_KEYS:
            near = nearest(key, known)
            hint = f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"
        raise ConfigError(f"{file}: unknown key '{path}'", hint=hint)
    try:
        return msgspec.convert(data, shape)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file}: {error}", hint="docs/configuration.md describes every key") from None


class _StrictLoader(yaml.SafeLoader):
    """A SafeLoader that refuses a key which stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key is no plain word", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _unknown(data: Any, shape: Any, path: str) -> Iterator[tuple[str, str, list[str]]]:
    """Path, key and known neighbours of every key that `shape` does not have."""
    if get_origin(shape) in {Union, python_types.UnionType}:
        shape = next((part for part in get_args(shape) if part is not type(None)), shape)
    origin, arguments = get_origin(shape), get_args(shape)
    if isinstance(shape, type) and issubclass(shape, Struct):
        if isinstance(data, dict):
            hints = get_type_hints(shape)
            for key, value in data.items():
                here = f"{path}.{key}" if path else str(key)
                if key not in hints:
                    yield here, str(key), list(hints)
                else:
                    yield from _unknown(value, hints[key], here)
    elif origin is dict and isinstance(data, dict):
        for key, value in data.items():
            yield from _unknown(value, arguments[1], f"{path}.{key}")
    elif origin is tuple and isinstance(data, list):
        for index, value in enumerate(data):
            yield from _unknown(value, arguments[0], f"{path}[{index}]")
