"""Words after `--models` to targets, each checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from crucibleforge import plugins
from crucibleforge.config import BUILTIN, Config, builtin_target, entry_target, gguf_target
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.gguf import facts
from crucibleforge.providers import replies
from crucibleforge.types import Target


def resolve(config: Config, names: Sequence[str]) -> tuple[Target, ...]:
    """The targets that these words mean; none: every enabled model, or `builtin` where no model is configured.

    Raises:
        InputError: a word means nothing, a file is no GGUF, or two targets would share a label.
    """
    enabled = [entry.name for entry in config.models if entry.enabled]
    words = list(names) or (["all"] if config.models else [BUILTIN])
    if "all" in words and not enabled:
        raise InputError(
            "no model is enabled in models.yaml",
            hint="set `enabled: true` on one, name one with `--models LABEL`, or use `--models builtin`",
        )
    expanded = [name for word in words for name in (enabled if word == "all" else [word])]
    targets = {}
    for name in dict.fromkeys(expanded):
        target = _target(config, name)
        if target.label in targets:
            raise InputError(f"two models are called '{target.label}'", hint="give one of them a label in models.yaml")
        targets[target.label] = target
    return tuple(targets.values())


def is_builtin(target: Target) -> bool:
    """True for the built-in model, and not for a file that happens to be called like it."""
    return (target.label, target.provider) == (BUILTIN, BUILTIN)


def placing(builtin: Path | None) -> Callable[[Target], Target]:
    """What gives the built-in model its file; a plan names none, since it lies in a user's cache."""

    def placed(target: Target) -> Target:
        if builtin is None or not is_builtin(target):
            return target
        return msgspec.structs.replace(target, path=str(builtin))

    return placed


def _target(config: Config, name: str) -> Target:
    entries = {entry.name: entry for entry in config.models}
    if name in entries:
        target = entry_target(config, entries[name])
        known = plugins.names("providers")
        if target.kind not in known:
            place = f"provider type in providers.{target.provider}"
            raise UnknownName(place, target.kind, known, hint=f"known: {', '.join(known)}")
        if target.kind == "replies":
            return replies.pinned(target)
    elif name == BUILTIN:
        return builtin_target()
    elif name.startswith(replies.PREFIX):
        return replies.file_target(Path(name.removeprefix(replies.PREFIX)))
    elif name.lower().endswith(".gguf") or "/" in name or Path(name).is_file():
        target = gguf_target(Path(name))
    else:
        raise UnknownName(
            "model", name, [*entries, BUILTIN], hint="labels stand in models.yaml; a .gguf file is named by its path"
        )
    if target.kind == "llamacpp":
        facts(Path(target.path))
    return target
