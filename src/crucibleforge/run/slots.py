"""How many requests to one target run at once.

A local server gets as many as it has slots: more would only queue there and spoil its times. A hosted one is found out:
slow start, then one more per window, half after a refusal (the scheme of TCP, RFC 5681).
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from urllib.parse import urlsplit

from crucibleforge.types import Served, Target

MOST = 8
"""Requests at once to a hosted server where the configuration names no number; small accounts allow about this many."""
_ACCEPTED_S = 5.0
"""A request that has run this long without a refusal counts as accepted: refusals come at once, replies may not."""
_LOCAL_SUFFIXES = (".local", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True)
class Range:
    """From how many requests at once to how many; equal where nothing is to be found out. `why` is for people."""

    first: int
    most: int
    why: str = ""


def is_local(target: Target) -> bool:
    """True when the server runs on this machine or in its private network, judged by the address alone."""
    if target.kind == "llamacpp" or not target.base_url:
        return True
    host = urlsplit(target.base_url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)
    return address.is_private or address.is_loopback or address.is_link_local


def allowed(target: Target, served: Served) -> Range:
    """What configuration and server allow."""
    wanted, slots = target.concurrency, served.slots
    if not is_local(target):
        return Range(1, wanted or MOST)
    if wanted is None:
        return Range(slots or 1, slots or 1)
    if slots is not None and slots < wanted:
        return Range(slots, slots, f"{_requests(slots)} at once, not {wanted}: the server has no more slots")
    return Range(wanted, wanted)


class Slots:
    """Lets requests in, and learns from how they go. `say` is told of a change in words for people."""

    def __init__(self, span: Range, say: Callable[[str], None], accepted_s: float = _ACCEPTED_S) -> None:
        self._span = span
        self._say = say
        self._accepted_s = accepted_s
        self._now = span.first
        self._held: set[Slot] = set()
        self._changed = asyncio.Event()
        self._accepted = 0
        self._is_steep = True
        self._quiet = 0
        self._told: set[int] = set()
        if span.why:
            say(span.why)

    @property
    def now(self) -> int:
        """How many requests may run at once."""
        return self._now

    @property
    def in_flight(self) -> int:
        """How many do."""
        return len(self._held)

    def take(self) -> Slot:
        """Hold a slot, which the caller has seen to be free."""
        slot = Slot(self, self._accepted_s if self._now < self._span.most else None)
        self._held.add(slot)
        return slot

    async def change(self) -> None:
        """Wait until a slot has become free or there are more of them."""
        self._changed.clear()
        await self._changed.wait()

    def overloaded(self) -> None:
        """The server refused a request for being one too many; heard once per window of requests in flight."""
        self._is_steep = False
        self._accepted = 0
        for slot in self._held:
            slot.doubt()
        if self._quiet:
            self._quiet -= 1
        elif self._span.first < self._span.most:
            self._quiet = max(len(self._held) - 1, 0)
            self._now = max(self._now // 2, 1)
            if self._now not in self._told:
                self._told.add(self._now)
                self._say(f"{_requests(self._now)} at once after HTTP 429")

    def accepted(self) -> None:
        """The server took a request."""
        self._quiet = max(self._quiet - 1, 0)
        self._accepted += 1
        if self._now < self._span.most and self._accepted >= self._now:
            self._accepted = 0
            self._now = min(self._now * 2 if self._is_steep else self._now + 1, self._span.most)
            self.stir()

    def free(self, slot: Slot) -> None:
        """Take a slot back."""
        self._held.discard(slot)
        self.stir()

    def stir(self) -> None:
        """Wake who waits for a change."""
        self._changed.set()


class Slot(AbstractContextManager["Slot"]):
    """A held slot; leaving the context frees it. Its request counts as accepted once, in good time or at its end."""

    def __init__(self, slots: Slots, accepted_s: float | None) -> None:
        self._slots = slots
        self._is_accepted = False
        self._timer = None
        if accepted_s is not None:
            self._timer = asyncio.get_running_loop().call_later(accepted_s, self.accepted)

    def accepted(self) -> None:
        """The server took this request."""
        if not self._is_accepted:
            self._is_accepted = True
            self._slots.accepted()

    def doubt(self) -> None:
        """Somebody was refused, perhaps this one, so that its running on proves nothing."""
        if self._timer:
            self._timer.cancel()

    def __exit__(self, *_: object) -> None:
        self.doubt()
        self._slots.free(self)


def _requests(number: int) -> str:
    return f"{number} request{'' if number == 1 else 's'}"
