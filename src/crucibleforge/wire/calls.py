"""Put tool calls together from the pieces in which they are streamed."""

from __future__ import annotations

import json
from typing import Any

from crucibleforge.chat import ToolCall


class Calls:
    """Feed the call pieces of each event; `made` gives the calls in the order of their index."""

    def __init__(self) -> None:
        self._all: list[tuple[int, _Call]] = []
        self._open: dict[int, _Call] = {}

    def feed(self, pieces: list[Any]) -> int:
        """Take in the calls of one event, and return how many characters they brought; 0 when they say nothing."""
        return sum(self._piece(position, piece) for position, piece in enumerate(pieces) if isinstance(piece, dict))

    def made(self) -> tuple[ToolCall, ...]:
        """The calls; one that came without an id gets one that no other has."""
        calls = [call for _, call in sorted(self._all, key=lambda entry: entry[0])]
        taken = {call.id for call in calls}
        made = []
        for position, call in enumerate(calls):
            name = call.id or f"call_{position}"
            while not call.id and name in taken:
                name += "_"
            taken.add(name)
            made.append(ToolCall(name, call.name, "".join(call.arguments)))
        return tuple(made)

    def _piece(self, position: int, piece: dict[str, Any]) -> int:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name, arguments = _text(piece.get("id")), _text(function.get("name")), _json(function.get("arguments"))
        if not (call_id or name or arguments):
            return 0
        index = piece.get("index")
        is_indexed = isinstance(index, int)
        slot = index if isinstance(index, int) else position
        call = self._open.get(slot)
        if call is None or call.is_other(call_id, name, is_indexed=is_indexed):
            call = self._open[slot] = _Call()
            self._all.append((slot, call))
        call.id = call.id or call_id
        if name != call.name:  # some servers say the whole name with every piece
            call.name += name
        call.arguments.append(arguments)
        return len(call_id) + len(name) + len(arguments)


class _Call:
    """A tool call that is still arriving."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def is_other(self, call_id: str, name: str, *, is_indexed: bool) -> bool:
        """True when a piece for this slot begins another call: some servers give every call the same index."""
        if call_id and self.id:
            return call_id != self.id
        return bool(not is_indexed and not call_id and name and any(self.arguments))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _json(value: Any) -> str:
    """Arguments as text; some servers send the object itself."""
    if not isinstance(value, dict | list):
        return _text(value)
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""  # numbers too long or objects too deep to be written again: no arguments anyone could use
