"""A server's memory with nothing in it but the model at hand, and afterwards as it was found.

Only with consent, only what was seen there, and only through the server's own interface. Putting back is not left out
for an error, a Ctrl-C or a time limit; what cannot be put back is named with the command that does it by hand.

Not covered: whether somebody is using a model just now. Only Ollama waits for a running request before it unloads.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from msgspec import Struct

from crucibleforge.errors import Trouble
from crucibleforge.providers._local import Found
from crucibleforge.providers._residents import Holder, Resident, holder, settled

_LEAVE_S = 30.0

Say = Callable[[str], None]


class Cleared(Struct, frozen=True):
    """What a server holds in memory while the context is open.

    `as_found` is what it held before, None where it does not say. `displaced` was unloaded and comes back at the end;
    `left` are models other than the one at hand that are still there.
    """

    as_found: tuple[Resident, ...] | None
    displaced: tuple[Resident, ...] = ()
    left: tuple[Resident, ...] = ()


@asynccontextmanager
async def emptied(
    found: Found, *, keep: str, consent: bool, say: Say, leave_s: float = _LEAVE_S
) -> AsyncIterator[Cleared]:
    """Unload every resident but `keep`, if there is consent; leaving the context puts everything back.

    Without consent nothing is changed. `keep` itself is unloaded at the end if it was not there at the beginning.
    `say` is told, one line each, what could not be done and what is being put back. Never raises for the server.
    `leave_s` is how long a model that was unloaded may take to be gone.
    """
    async with AsyncExitStack() as stack:
        clearing = await _opened(stack, found, _Wish(keep, leave_s, say))
        if clearing is None or not consent:
            yield Cleared(None) if clearing is None else clearing.as_it_is()
            return
        try:
            await clearing.unload_others()
            yield clearing.cleared()
        finally:
            await _through(clearing.put_back())


async def _opened(stack: AsyncExitStack, found: Found, wish: _Wish) -> _Clearing | None:
    try:
        held = await stack.enter_async_context(holder(found))
        return _Clearing(held, await held.residents(), wish)
    except Trouble as trouble:
        wish.say(f"what {found.base_url} holds in memory is not known: {trouble.message}")
        return None


class _Wish(Struct, frozen=True):
    """What the caller of `emptied` asked for."""

    keep: str
    leave_s: float
    say: Say


class _Clearing:
    """The changes to one server, so that they can be undone from wherever they were broken off."""

    def __init__(self, held: Holder, as_found: tuple[Resident, ...], wish: _Wish) -> None:
        self._held = held
        self._as_found = as_found
        self._keep = wish.keep
        self._leave_s = wish.leave_s
        self._say = wish.say
        self._touched: list[Resident] = []
        self._stayed: list[Resident] = []

    @property
    def _others(self) -> tuple[Resident, ...]:
        return tuple(one for one in self._as_found if not one.is_called(self._keep))

    def as_it_is(self) -> Cleared:
        """Nothing is changed."""
        return Cleared(self._as_found, left=self._others)

    def cleared(self) -> Cleared:
        """After `unload_others`."""
        gone = tuple(one for one in self._touched if one not in self._stayed)
        return Cleared(self._as_found, gone, tuple(one for one in self._others if one not in gone))

    async def unload_others(self) -> None:
        """One after the other; one that was begun is ended, also on cancellation, so that it is known what to undo."""
        if self._others and self._held.fixed:
            names = ", ".join(one.instance for one in self._others)
            self._say(f"{names} cannot be unloaded: {self._held.fixed}")
            return
        for resident in self._others:
            self._touched.append(resident)
            await _through(self._unload(resident))

    async def put_back(self) -> None:
        """Make room first, then one after the other: two loads at once may both run out of memory."""
        owed = list(self._touched)
        try:
            await self._unload_own()
            present = await self._present()
            for resident in self._touched:
                if resident.instance not in present or self._held.loads_once:
                    await self._restore(resident)
                owed.remove(resident)
        finally:
            # Only when even this is broken off, by a second Ctrl-C.
            for resident in owed:
                self._say(f"{resident.instance} was not put back; `{self._held.by_hand(resident)}` does it")

    async def _unload_own(self) -> None:
        if self._held.fixed or any(one.is_called(self._keep) for one in self._as_found):
            return
        try:
            now = await self._held.residents()
        except Trouble:
            return
        for resident in now:
            if resident.is_called(self._keep):
                await self._unload(resident)

    async def _unload(self, resident: Resident) -> None:
        def has_left(now: tuple[Resident, ...]) -> bool:
            return all(one.instance != resident.instance for one in now)

        try:
            await self._held.unload(resident)
            if await settled(self._held, has_left, self._leave_s):
                return
            self._say(f"{resident.instance} is still in memory {self._leave_s:g} s after it was unloaded")
        except Trouble as trouble:
            self._say(f"{resident.instance} could not be unloaded: {trouble.message}")
        self._stayed.append(resident)

    async def _present(self) -> set[str]:
        """The instances in memory; none where the server does not say: then loading is tried, and tells more."""
        try:
            return {one.instance for one in await self._held.residents()}
        except Trouble:
            return set()

    async def _restore(self, resident: Resident) -> None:
        self._say(f"putting {resident.instance} back")
        in_the_way = ""
        try:
            await self._held.restore(resident)
            again = [one for one in await self._held.residents() if one.id == resident.id]
        except Trouble as trouble:
            said = f"could not be put back: {trouble.message}"
        else:
            if not again:
                said = "is not listed as loaded again"
            else:
                nearest = min(again, key=lambda one: len(_changes(resident, one)))
                in_the_way = nearest.instance
                changes = ", ".join(_changes(resident, nearest))
                said = f"is back with {changes}" if changes else ""
        if said:
            by_hand = self._held.by_hand(resident, in_the_way)
            self._say(f"{resident.instance} {said}; to have it as it was: `{by_hand}`")


def _changes(before: Resident, after: Resident) -> list[str]:
    """In what a model that is back differs from what it was, as far as its server states it."""
    was, is_now = (
        {"name": one.instance, "context_length": one.context_length, "slots": one.slots} for one in (before, after)
    )
    was, is_now = was | dict(before.settings), is_now | dict(after.settings)
    return [f"{key} {is_now.get(key)} instead of {value}" for key, value in was.items() if is_now.get(key) != value]


async def _through(work: Coroutine[Any, Any, None]) -> None:
    """Do it to the end; a cancellation that comes meanwhile is raised afterwards."""
    task = asyncio.ensure_future(work)
    interrupted: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            interrupted = error
    task.result()
    if interrupted is not None:
        raise interrupted
