"""Add an entry to models.yaml as text, so that a user's comments and order survive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml

from crucibleforge.config import ModelEntry, load
from crucibleforge.store.folder import write_atomically


def append(path: Path, entry: ModelEntry) -> None:
    """Write `entry` at the end of the `models` list.

    Raises:
        ConfigError: the file, with the entry in it, would not be a valid configuration; it is left as it is.
    """
    load(path)
    text = path.read_text(encoding="utf-8")
    trial = path.with_name(f".{path.name}.trial")
    try:
        trial.write_text(_with(text, entry), encoding="utf-8")
        load(trial)
        write_atomically(path, trial.read_bytes())
    finally:
        trial.unlink(missing_ok=True)


def _with(text: str, entry: ModelEntry) -> str:
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    node = _models(text)
    if node is None:
        return "".join([*lines, "\nmodels:\n", _item(entry, 2)])
    if node.flow_style or not node.value:
        # `models: []`, or a list in one line: rewritten as a block, since a block is what can be added to.
        kept = yaml.safe_dump(yaml.safe_load(text)["models"] or [], sort_keys=False) if node.value else ""
        before, after = text[: node.start_mark.index], text[node.end_mark.index :]
        block = "".join(f"  {line}\n" for line in kept.splitlines())
        return f"{before.rstrip(' ')}\n{block}{_item(entry, 2)}{after.lstrip()}"
    end = _last_line(node) + 1
    return "".join([*lines[:end], _item(entry, node.start_mark.column), *lines[end:]])


def _models(text: str) -> yaml.SequenceNode | None:
    root = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    found = (value for key, value in root.value if key.value == "models")
    node = next(found, None)
    return node if isinstance(node, yaml.SequenceNode) else None


def _last_line(node: yaml.Node) -> int:
    """Line of the last scalar below a node; a block's own end mark lies behind the comments that follow it."""
    if not isinstance(node, yaml.CollectionNode) or not node.value or node.flow_style:
        return int(node.end_mark.line) - (1 if node.end_mark.column == 0 else 0)
    last: Any = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _item(entry: ModelEntry, indent: int) -> str:
    facts: dict[str, Any] = {"name": entry.name, "provider": entry.provider, "model_id": entry.model_id}
    if entry.context_length:
        facts["context_length"] = entry.context_length
    if entry.price:
        facts["price"] = msgspec.structs.asdict(entry.price)
    if entry.tags:
        facts["tags"] = list(entry.tags)
    dumped = yaml.safe_dump([facts], sort_keys=False, allow_unicode=True)
    return "".join(f"{' ' * indent}{line}\n" for line in dumped.splitlines())
