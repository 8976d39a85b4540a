"""YAML read strictly into Structs: each key once, no unknown key, nothing that builds objects."""

from __future__ import annotations

import types as python_types
from collections.abc import Hashable, Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml
from msgspec import Struct

from crucibleforge.errors import ConfigError, nearest

_SECRET_KEYS = {"api_key", "key", "token", "apikey"}


def read_yaml(text: bytes, file: str, shape: type[Struct]) -> Any:
    """The text as a `shape`; `file` is its name in messages.

    Raises:
        ConfigError: it is not plain YAML, or says what `shape` has no place for.
    """
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
