"""How fast all cores together read memory: for CPUs a measured number beats any table.

Each thread searches its own buffer for a byte that is not there, in C and without the interpreter's lock. One thread
would underestimate a socket badly; so does other work on the machine.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from threading import Barrier, Thread
from time import perf_counter

import psutil

_SECONDS = 0.3
_LEAST_BYTES = 16 * 1024 * 1024
_MOST_BYTES = 8 * 1024**3
_CACHES = 4
_OF_FREE_MEMORY = 8

_Search = Callable[[ctypes.Array[ctypes.c_char], int, int], object]


def read_gb_per_s(
    l3_bytes: int | None,
    *,
    seconds: float = _SECONDS,
    least_bytes: int = _LEAST_BYTES,
    most_bytes: int = _MOST_BYTES,
) -> float | None:
    """Gigabytes (1e9) a second that this process's cores read, from buffers of four times the L3; None if it fails.

    Args:
        l3_bytes: all L3 of the machine; None if not known.
        seconds: how long each core reads, at least one pass.
        least_bytes: of the buffer of each core.
        most_bytes: of all buffers together; nor are they more than an eighth of the free memory.
    """
    search = _search()
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = max((l3_bytes or 0) * _CACHES, least_bytes * threads)
    each = min(wanted, most_bytes, psutil.virtual_memory().available // _OF_FREE_MEMORY) // threads
    if search is None or each <= 0:
        return None
    try:
        buffers = [ctypes.create_string_buffer(each) for _ in range(threads)]
    except MemoryError:
        return None
    rates: list[float] = []
    start = Barrier(threads)
    workers = [Thread(target=_read, args=(search, buffer, seconds, start, rates)) for buffer in buffers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(rates) / 1e9


def _read(
    search: _Search, buffer: ctypes.Array[ctypes.c_char], seconds: float, start: Barrier, rates: list[float]
) -> None:
    size_bytes = len(buffer)
    # Memory that was never written is one page of zeros, and reading it measures the cache.
    ctypes.memset(buffer, 1, size_bytes)
    start.wait()
    began = perf_counter()
    passes = 0
    while (took := perf_counter() - began) < seconds or not passes:
        search(buffer, 2, size_bytes)
        passes += 1
    rates.append(passes * size_bytes / took)


def _search() -> _Search | None:
    """The C library's `memchr`."""
    try:
        search = ctypes.CDLL("msvcrt" if os.name == "nt" else None).memchr
    except (OSError, AttributeError):
        return None
    search.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    search.restype = ctypes.c_void_p
    return search
