"""How late the event loop wakes up, and how much of a core this process takes, while others are being measured."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter, process_time

from crucibleforge.speed.client import Client, verdict

_EVERY_S = 0.020


class Lag:
    """Every probe so far, in seconds beyond what was asked for."""

    def __init__(self) -> None:
        self.lags_s: list[float] = []
        self._began_s = perf_counter()
        self._cpu_s = process_time()

    def client(self) -> Client:
        """The verdict on this process up to now."""
        return verdict(self.lags_s, process_time() - self._cpu_s, perf_counter() - self._began_s)

    async def probe(self) -> None:
        """Sleep for a moment and see how long it was, for ever."""
        while True:
            began_s = perf_counter()
            await asyncio.sleep(_EVERY_S)
            self.lags_s.append(max(perf_counter() - began_s - _EVERY_S, 0.0))


@asynccontextmanager
async def watched() -> AsyncIterator[Lag]:
    """Probe the loop within the context; nothing that exists now is looked through by the collector meanwhile."""
    lag = Lag()
    # A full collection stops everything for 0.1 s and more, and then looks like the server.
    gc.collect()
    gc.freeze()
    probing = asyncio.create_task(lag.probe())
    try:
        yield lag
    finally:
        probing.cancel()
        gc.unfreeze()
