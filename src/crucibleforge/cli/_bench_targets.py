"""Words after `bench-llm` to models: of a server on this machine, of models.yaml, or a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from crucibleforge.cli._targets import resolve
from crucibleforge.config import BUILTIN, Config
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.providers._local import Found, Offered
from crucibleforge.types import Target

_UNSAFE = re.compile(r"[^A-Za-z0-9._:/@+-]+")
_SCHEMES = {"http", "https"}


class Chosen(Struct, frozen=True):
    """A model to be measured; `server` and `offered` are known where a server of this machine has it."""

    target: Target
    server: Found | None = None
    offered: Offered | None = None


def choose(config: Config, words: Sequence[str], found: Sequence[Found], url: str) -> tuple[Chosen, ...]:
    """What these words mean; none: the one model that is in memory.

    Args:
        config: Its labels come before what servers offer.
        words: Labels, ids, parts of ids, .gguf files, `builtin`.
        found: The servers of this machine that may be meant.
        url: The one address that is meant; "" for none.

    Raises:
        InputError: a word means nothing or several things, or none is given and it is not clear what is meant.
    """
    if not words:
        return (_resident(found, url),)
    return tuple(_chosen(config, word, found, url) for word in dict.fromkeys(words))


def _chosen(config: Config, word: str, found: Sequence[Found], url: str) -> Chosen:
    if url:
        return _at(word, found, url)
    is_file = word.lower().endswith(".gguf") or Path(word).is_file()
    if word == BUILTIN or is_file or any(word == entry.name for entry in config.models):
        (target,) = resolve(config, (word,))
        return _known(target, found)
    hits = _hits(word, found)
    if len(hits) == 1:
        return _offered(*hits[0])
    if hits:
        names = ", ".join(f"{model.id} ({server.kind})" for server, model in hits[:6])
        raise InputError(f"'{word}' may mean {names}", hint="write more of the name, or choose one with `--provider`")
    known = [BUILTIN, *(entry.name for entry in config.models), *(model.id for one in found for model in one.models)]
    raise UnknownName("model", word, known, hint="`bench-llm --list` shows what there is; a file ends in .gguf")


def _hits(word: str, found: Sequence[Found]) -> list[tuple[Found, Offered]]:
    """Models of this very id, else those whose id holds the word."""
    offered = [(server, model) for server in found for model in server.models]
    same = [hit for hit in offered if hit[1].id == word]
    return same or [hit for hit in offered if word.lower() in hit[1].id.lower()]


def _resident(found: Sequence[Found], url: str) -> Chosen:
    hits = [
        (server, model) for server in found for model in server.models if model.is_resident or len(server.models) == 1
    ]
    if len(hits) == 1:
        return _offered(*hits[0])
    where = f"at {url}" if url else "on this machine"
    what = f"{len(hits)} models are in memory {where}" if hits else f"no model is in memory {where}"
    raise InputError(
        f"no model is named, and {what}",
        hint="`bench-llm --list` shows what there is; `bench-llm builtin` needs no server",
    )


def _at(word: str, found: Sequence[Found], url: str) -> Chosen:
    if hits := _hits(word, found):
        return _offered(*hits[0])
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise InputError(f"'{url}' is no address", hint="for example `--url http://127.0.0.1:8080/v1`")
    if parts.username or parts.password:
        raise InputError(
            "an address with a password in it would be written into files",
            hint="put the key into an environment variable and name it in models.yaml",
        )
    return Chosen(Target(label=_label(word), provider="url", kind="openai", model_id=word, base_url=url.rstrip("/")))


def _known(target: Target, found: Sequence[Found]) -> Chosen:
    """A target of models.yaml, with what its server says of it if that is on this machine."""
    for server in found:
        if target.base_url and target.base_url.rstrip("/") == server.base_url:
            offered = next((model for model in server.models if model.id == target.model_id), None)
            return Chosen(target, server, offered)
    return Chosen(target)


def _offered(server: Found, model: Offered) -> Chosen:
    target = Target(
        label=_label(model.id), provider=server.kind, kind="openai", model_id=model.id, base_url=server.base_url
    )
    return Chosen(target, server, model)


def _label(model_id: str) -> str:
    return _UNSAFE.sub("-", model_id) or "model"
