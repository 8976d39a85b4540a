"""Where replies come from. A provider is a module with a constant `PROVIDER` that satisfies `Provider`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from crucibleforge.chat import Reply, Request
from crucibleforge.types import Failure, Served, Target


class Probe(Struct, frozen=True):
    """What a provider's server answers before any model is asked.

    `needs_key`: it is there but wants an API key. `models` are the ids that it offers, empty when it does not say.
    `detail` explains any state but `up`.
    """

    state: Literal["up", "needs_key", "down"]
    models: tuple[str, ...] = ()
    detail: str = ""


class Session(Protocol):
    """An opened target."""

    served: Served

    async def ask(self, request: Request) -> Reply:
        """One request, one reply, no retry.

        Raises:
            Trouble: there is no complete reply, and it is not the model's doing.
            Malformed: the server could not parse the tool call that the model wrote.
        """
        ...

    def notices(self) -> tuple[str, ...]:
        """What was learnt about the server since this was last called, in words for people."""
        ...


@runtime_checkable
class Shelved(Session, Protocol):
    """A session whose replies were there before it: what it lacks is not asked, and what failed there failed alone."""

    def dialogue(self, case_id: str, case_hash: str, repeat: int) -> tuple[Reply | Failure, ...]:
        """What it holds of a dialogue, from the first round on; empty when it holds nothing."""
        ...

    def has_other(self, case_id: str, case_hash: str) -> bool:
        """True when it holds an answer to another question of this id, and none to this one."""
        ...


class Provider(Protocol):
    """Opens targets of one kind."""

    def open(self, target: Target) -> AbstractAsyncContextManager[Session]:
        """Make a target ready to be asked; leaving the context puts everything back.

        Raises:
            InputError: it cannot be opened, for a reason that the user can mend.
        """
        ...

    async def probe(self, target: Target) -> Probe:
        """Ask the server how it is, within a few seconds; never raises for a server that is down."""
        ...
