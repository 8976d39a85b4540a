"""NVIDIA cards as their driver describes them, through nvidia-ml-py where that is installed.

Each call is caught on its own: on unified memory and in containers some say "not supported".
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from msgspec import Struct


class Card(Struct, frozen=True):
    """One card; bandwidth is twice the memory clock times the bus width, which is right for GDDR and HBM."""

    name: str
    gb_per_s: float | None = None
    memory_bytes: int | None = None


def cards(module: ModuleType | None = None) -> tuple[Card, ...]:
    """All cards; none without the library or the driver."""
    if module is None:
        try:
            module = importlib.import_module("pynvml")
        except ImportError:
            return ()
    try:
        module.nvmlInit()
    except module.NVMLError:
        return ()
    try:
        count = _asked(module, "nvmlDeviceGetCount") or 0
        handles = [_asked(module, "nvmlDeviceGetHandleByIndex", index) for index in range(count)]
        return tuple(_card(module, handle) for handle in handles if handle is not None)
    finally:
        _asked(module, "nvmlShutdown")


def _card(module: ModuleType, handle: Any) -> Card:
    name = _asked(module, "nvmlDeviceGetName", handle) or "NVIDIA GPU"
    bits = _asked(module, "nvmlDeviceGetMemoryBusWidth", handle)
    mega_hertz = _asked(module, "nvmlDeviceGetMaxClockInfo", handle, getattr(module, "NVML_CLOCK_MEM", 2))
    memory = _asked(module, "nvmlDeviceGetMemoryInfo", handle)
    return Card(
        name=name.decode(errors="replace") if isinstance(name, bytes) else str(name),
        gb_per_s=2 * mega_hertz * bits / 8000 if bits and mega_hertz else None,
        memory_bytes=getattr(memory, "total", None),
    )


def _asked(module: ModuleType, call: str, *arguments: Any) -> Any:
    """What the driver answers; None where it does not support the question."""
    function = getattr(module, call, None)
    try:
        return function(*arguments) if function else None
    except module.NVMLError:
        return None
