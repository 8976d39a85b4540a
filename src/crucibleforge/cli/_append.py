"""Add an entry to models.yaml as text, so that a user's comments and order survive byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from crucibleforge.config import ModelEntry, parsed
from crucibleforge.errors import ConfigError
from crucibleforge.store.folder import write_atomically


def append(path: Path, entry: ModelEntry) -> None:
    """Write `entry` at the end of the `models` list.

    Raises:
        ConfigError: the file, with the entry in it, would not be a valid configuration; it is left as it is.
    """
    file = path.resolve()  # replacing a symbolic link would cut it off from what it points to
    before = file.read_bytes()
    models = parsed(before, path.name).models
    after = _with(before.decode(), entry).encode()
    if parsed(after, path.name).models != (*models, entry):
        raise ConfigError(f"{path}: no place was found for the entry", hint="add it by hand")
    mode = file.stat().st_mode
    write_atomically(file, after)
    file.chmod(mode)


def _with(text: str, entry: ModelEntry) -> str:
    ending = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith(("\n", "\r")):
        text += ending
    root = yaml.compose(text, yaml.SafeLoader)
    node = _models(root) if isinstance(root, yaml.MappingNode) else None
    if node is None:
        return text + "".join(line + ending for line in ("", "models:", *_block(entry, 2)))
    start, end = node.start_mark, node.end_mark
    if isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
        return _inserted(text, _last_line(node) + 1, [line + ending for line in _block(entry, start.column)])
    if isinstance(node, yaml.SequenceNode) and (node.value or start.line != end.line):
        place = node.value[-1].end_mark.index if node.value else start.index + 1
        return f"{text[:place]}{', ' if node.value else ''}{_flow(entry)}{text[place:]}"
    # Nothing, `null` or `[]`: the word goes, a block comes below.
    text = text[: start.index].rstrip(" ") + text[end.index :]
    return _inserted(text, start.line + 1, [line + ending for line in _block(entry, 2)])


def _inserted(text: str, at_line: int, new: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:at_line], *new, *lines[at_line:]])


def _models(root: yaml.MappingNode) -> yaml.Node | None:
    return next((value for key, value in root.value if key.value == "models"), None)


def _last_line(node: yaml.Node) -> int:
    """Line of the last scalar below a node; a block's own end mark lies behind the comments that follow it."""
    if not isinstance(node, yaml.CollectionNode) or not node.value or node.flow_style:
        return int(node.end_mark.line) - (1 if node.end_mark.column == 0 else 0)
    last: Any = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _facts(entry: ModelEntry) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": entry.name, "provider": entry.provider, "model_id": entry.model_id}
    if entry.context_length:
        facts["context_length"] = entry.context_length
    if entry.price:
        facts["price"] = msgspec.structs.asdict(entry.price)
    if entry.tags:
        facts["tags"] = list(entry.tags)
    return facts


def _block(entry: ModelEntry, indent: int) -> list[str]:
    dumped = yaml.safe_dump([_facts(entry)], sort_keys=False, allow_unicode=True)
    return [f"{' ' * indent}{line}" for line in dumped.splitlines()]


def _flow(entry: ModelEntry) -> str:
    dumped: str = yaml.safe_dump(
        _facts(entry), sort_keys=False, allow_unicode=True, default_flow_style=True, width=10**6
    )
    return dumped.rstrip("\n")
