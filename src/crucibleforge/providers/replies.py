"""Answers that were produced elsewhere, marked as those of any model: `--models replies:FILE.jsonl`.

What a line may be is told in `_shelf`. A case that the file lacks is left unasked. Nothing is known of context, speed
or what the model thought; a reply that was lost to reasoning cannot be asked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from crucibleforge.chat import Reply, Request
from crucibleforge.config import label_of
from crucibleforge.errors import InputError, Trouble
from crucibleforge.providers import Probe, Session
from crucibleforge.providers._shelf import Answer, Shelf, read
from crucibleforge.types import Sampling, Served, Target, Thinking

PREFIX = "replies:"
_KIND = "replies"
_AT_ONCE = 64
"""Looking up is quick; what is asked at once shares one write to disk."""
_DIGITS = 12


class Recorded(Trouble):
    """What went wrong when the reply was made; asking the file again would not mend it."""

    @property
    def may_heal(self) -> bool:
        """Never."""
        return False


class Replies:
    """The provider for `type: replies`."""

    @asynccontextmanager
    async def open(self, target: Target) -> AsyncIterator[Session]:
        """Read the target's file."""
        shelf = await asyncio.to_thread(read, Path(target.path))
        if target.model_id != _model_id(shelf):
            raise InputError(
                f"{shelf.path} is not the file that this run began with", hint="name it with `--models` in a new run"
            )
        yield _Session(shelf)

    async def probe(self, target: Target) -> Probe:
        """Read the target's file, if it names one."""
        if target.path:
            try:
                await asyncio.to_thread(read, Path(target.path))
            except InputError as error:
                return Probe("down", detail=error.message)
        return Probe("up", models=(target.model_id or target.label,))


PROVIDER = Replies()


class _Session:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.served = Served(server=shelf.path.name)

    async def ask(self, request: Request) -> Reply:
        """The reply of the file to this round of this case."""
        case_id, _, case_hash = request.case.partition("#")
        found = self.dialogue(case_id, case_hash, request.repeat)
        if request.round >= len(found):
            raise Trouble("rejected", f"{self.served.server} holds no reply to this request")
        answer = found[request.round]
        if isinstance(answer, Reply):
            return answer
        raise Recorded(answer.kind, answer.message, status=answer.status)

    def notices(self) -> tuple[str, ...]:
        """Nothing is learnt from a file."""
        return ()

    def dialogue(self, case_id: str, case_hash: str, repeat: int) -> tuple[Answer, ...]:
        """What the file holds of a dialogue, from the first round on."""
        return self._shelf.dialogue(case_id, case_hash, repeat)

    def has_other(self, case_id: str, case_hash: str) -> bool:
        """True when the file answers another question of this id, and not this one."""
        return self._shelf.has_other(case_id, case_hash)


def file_target(path: Path) -> Target:
    """A file of replies as a target.

    Raises:
        InputError: there is no such file, or a line of it is malformed.
    """
    return pinned(Target(label=label_of(path), provider="file", kind=_KIND, model_id="", path=str(path)))


def pinned(target: Target) -> Target:
    """The target as it can be asked: without what a file cannot do, and tied to what the file holds now.

    Other bytes under the same name are another model: their rows are not those of an earlier run.

    Raises:
        InputError: as `file_target`.
    """
    path = Path(target.path).expanduser()
    return msgspec.structs.replace(
        target,
        model_id=_model_id(read(path)),
        path=str(path.resolve()),
        context_length=None,
        concurrency=_AT_ONCE,
        sampling=Sampling(temperature=None, seed=None),
        thinking=Thinking("off", recovery=False),
    )


def _model_id(shelf: Shelf) -> str:
    return f"{shelf.path.stem}@{shelf.digest[:_DIGITS]}"
