"""A file of replies: our own lines, or those of an OpenAI batch output file, also mixed.

`{"id": "<case>#<hash>", "text": ...}` with `reasoning`, `tool_calls` (name and arguments) and `finish` where there
are any, or `"replies": [...]` of such for a dialogue of several rounds. `{"custom_id": "<case>#<hash>", "response":
{"status_code": ..., "body": <chat.completion>}, "error": null}` is a line of a batch. Without a hash a line answers
whatever the case asks today. `<case>#<hash>#2` is the reply of the second round. Lines of one id are repeats, but
where the line before them failed they make it good.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.errors import InputError, Malformed, Trouble, about
from crucibleforge.types import Failure
from crucibleforge.wire import whole
from crucibleforge.wire.fault import fault

Answer = Reply | Failure

MAX_REPEATS = 100
"""Dialogues of one case; no run asks for more."""
_LINE_BYTES = 64 * 1024 * 1024
_OK = 200
_FIRST_ERROR = 400
_BOM = b"\xef\xbb\xbf"
_HINT = (
    '`{"id": "CASE#HASH", "text": "..."}`, or a line of a batch output file; `crucibleforge cases export` has the ids'
)


class _Call(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: str | dict[str, Any] = "{}"


class _Said(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    text: str | UnsetType | None = UNSET
    reasoning: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    finish: Literal["stop", "length", "tool_calls", "content_filter", "unknown"] | None = None


class _Line(_Said, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    replies: tuple[_Said, ...] | None = None


class _Response(Struct, frozen=True):
    body: Any = None
    status_code: int = _OK


class _Batch(Struct, frozen=True):
    custom_id: str
    response: _Response | None = None
    error: Any = None


class _BadLineError(ValueError):
    """What is wrong with a line, in words for people."""


class Shelf:
    """All replies of a file. `digest` is the SHA-256 of its bytes in hex."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = ""
        self.count = 0
        self._cases: dict[str, dict[str, list[list[Answer]]]] = {}

    def dialogue(self, case_id: str, case_hash: str, repeat: int = 1) -> tuple[Answer, ...]:
        """What the file holds of a dialogue, from the first round on."""
        found = self._cases.get(case_id, {})
        dialogues = [*found.get(case_hash, ()), *found.get("", ())]
        return tuple(dialogues[repeat - 1]) if repeat <= len(dialogues) else ()

    def has_other(self, case_id: str, case_hash: str) -> bool:
        """True when the file answers another question of this id, and not this one."""
        found = self._cases.get(case_id, {})
        return bool(found) and case_hash not in found and "" not in found

    def put(self, name: str, answers: tuple[Answer, ...]) -> None:
        """Take in the answers of a line.

        Raises:
            ValueError: the name is no id, or an earlier round is missing, with the reason.
        """
        case_id, case_hash, number = _parsed_id(name)
        dialogues = self._cases.setdefault(case_id, {}).setdefault(case_hash, [])
        _place(dialogues, number, name).extend(answers)
        self.count += 1


def read(path: Path) -> Shelf:
    """Read a file of replies.

    Raises:
        InputError: there is no such file, or a line of it is malformed, with its number.
    """
    path = path.expanduser()
    if not path.exists():
        raise InputError(f"no such file: {path.resolve()}", hint="check the path: `ls -l` shows what is there")
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file of replies", hint=f"name a file in it: `ls {path}/*.jsonl`")
    shelf, digest = Shelf(path), sha256()
    for number, line in enumerate(_lines(path), start=1):
        digest.update(line)
        line = line.removeprefix(_BOM) if number == 1 else line  # noqa: PLW2901 - the digest has it whole
        if not line.strip():
            continue
        try:
            shelf.put(*_parsed(line))
        except (_BadLineError, msgspec.ValidationError) as error:
            raise InputError(f"{path} line {number}: {error}", hint=_HINT) from None
    shelf.digest = digest.hexdigest()
    return shelf


def _lines(path: Path) -> Iterator[bytes]:
    with about(path), path.open("rb") as file:
        number = 0
        while line := file.readline(_LINE_BYTES + 1):
            number += 1
            if len(line) > _LINE_BYTES:
                raise InputError(f"{path} line {number}: longer than {_LINE_BYTES:,} bytes", hint=_HINT)
            yield line


def _parsed(line: bytes) -> tuple[str, tuple[Answer, ...]]:
    value = _decoded(line)
    if not isinstance(value, dict):
        raise _BadLineError("not a JSON object")
    if "custom_id" in value:
        batch = msgspec.convert(value, _Batch)
        return batch.custom_id, (_answer(batch),)
    if "id" not in value:
        raise _BadLineError("neither an `id` nor a `custom_id`")
    own = msgspec.convert(value, _Line)
    alone = (own.text, own.reasoning, own.tool_calls, own.finish) == (UNSET, None, None, None)
    if own.replies is None:
        return own.id, (_reply(own),)
    if not alone or not own.replies:
        raise _BadLineError("`replies` must hold all that was said, one for each round")
    return own.id, tuple(_reply(said) for said in own.replies)


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):
        pass
    # The lenient way reads halves of a surrogate pair, which models do write.
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except RecursionError:
        raise _BadLineError("nested too deeply") from None
    except ValueError as error:
        raise _BadLineError(f"not JSON: {error}") from None


def _parsed_id(name: str) -> tuple[str, str, int]:
    case_id, _, rest = name.partition("#")
    case_hash, _, number = rest.partition("#")
    is_round = not number or (number.isascii() and number.isdigit() and len(number) <= len("1000"))
    if not case_id or not is_round or number == "0":
        raise _BadLineError(f"'{name[:100]}' is no case id: CASE, CASE#HASH or CASE#HASH#ROUND")
    return case_id, case_hash, int(number or 1)


def _place(dialogues: list[list[Answer]], number: int, name: str) -> list[Answer]:
    """The dialogue that goes on with this round (from 1); a failure in its place is taken out."""
    for one in dialogues:
        if len(one) == number and isinstance(one[-1], Failure):
            del one[-1]
            return one
    for one in dialogues:
        if one and len(one) == number - 1 and not isinstance(one[-1], Failure):
            return one
    if number > 1:
        raise _BadLineError(f"round {number} of '{name[:100]}' and no round {number - 1} before it")
    if len(dialogues) >= MAX_REPEATS:
        raise _BadLineError(f"more than {MAX_REPEATS} answers to '{name[:100]}'")
    dialogues.append([])
    return dialogues[-1]


def _answer(batch: _Batch) -> Answer:
    """A line of a batch; what the server could not do is no fault of the model's."""
    response = batch.response
    if not batch.error and response is None:
        raise _BadLineError("neither a response nor an error")
    try:
        if response is None or batch.error:
            raise fault(None, _encoded({"error": batch.error}))
        if response.status_code >= _FIRST_ERROR:
            raise fault(response.status_code, _encoded(response.body))
        return whole.reply(response.body if isinstance(response.body, dict) else {})
    except Trouble as trouble:
        return Failure(trouble.kind, trouble.message, 1, trouble.status)
    except Malformed as malformed:
        return Reply(text=malformed.message, finish="malformed", usage=Usage(), timing=Timing(total_s=0.0))


def _encoded(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return b"an error that cannot be shown"


def _reply(said: _Said) -> Reply:
    if said.text is UNSET and not said.reasoning and not said.tool_calls:
        raise _BadLineError("no `text`, `reasoning`, `tool_calls` or `replies`")
    calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in said.tool_calls or ()]
    message = {"content": said.text or "", "reasoning_content": said.reasoning or "", "tool_calls": calls}
    finish = said.finish or ("tool_calls" if calls else "stop")
    try:
        return whole.reply({"choices": [{"message": message, "finish_reason": finish}]})
    except Trouble as trouble:
        raise _BadLineError(trouble.message) from None
