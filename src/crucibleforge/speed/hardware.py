"""What the model runs on, as the user says it: `2x rtx5090 + 2x rtx3090`, `epyc 9554 12x ddr5-4800`, `custom:bw=1792`.

A CPU beside GPUs is the host, whose memory serves what is offloaded. GB is 1e9 bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from math import isfinite
from typing import Literal

from msgspec import Struct

from crucibleforge.errors import InputError
from crucibleforge.speed.devices import Device, find

Split = Literal["layer", "tensor"]

_MAX_DEVICES = 64
# The number of devices stands before a name; `7900 xtx` begins with none.
_COUNT = re.compile(r"(\d{1,2})\s*[x\u00d7*]\s*(?=\S)")
# Some names end in a plus: `Max+ 395`.
_PLUS = re.compile(r"\s\+\s*")
_MEMORY = re.compile(
    r"(?:(\d{1,2})\s*(?:x|\u00d7|ch|channels?)\s*)?(lp)?ddr(\dx?)[\s-]*(\d{4,5})(?:\s*x?\s*(\d{2,4})\s*-?bit)?",
    re.IGNORECASE,
)
_CHANNEL_BITS = 64
_USUAL_BITS = 128
_CUSTOM = {"bw": "gb_per_s", "gb": "memory_gb", "fp16": "fp16_tf", "int8": "int8_tops", "llc": "llc_mb"}
_EXAMPLE = "for example `custom:bw=1792,fp16=419,llc=96`"


class Hardware(Struct, frozen=True):
    """Devices that share the weights, by layers (one after the other) or by tensors (all at once).

    `host` is the memory that offloaded weights are read from. `shares` are the parts of the weights on each device;
    without them, layers are spread by memory and tensors by bandwidth. `notes` say what was uncertain in the naming.
    """

    devices: tuple[Device, ...]
    host: Device | None = None
    split: Split = "layer"
    shares: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    is_detected: bool = False

    @property
    def name(self) -> str:
        """As people write it: `2 x RTX 5090 + 2 x RTX 3090, split by layer`."""
        counts = Counter(device.name for device in self.devices)
        names = " + ".join(f"{count} x {name}" if count > 1 else name for name, count in counts.items())
        return f"{names}, split by {self.split}" if len(self.devices) > 1 else names

    @property
    def is_sure(self) -> bool:
        """True when a verdict may lean on each bandwidth."""
        return all(device.is_sure for device in self.devices)


def parse_hardware(texts: Iterable[str], split: Split = "layer") -> Hardware:
    """What the user says of the hardware, in one or several texts.

    Raises:
        InputError: a device is unknown, with the nearest names as hint, or a text cannot be read.
    """
    devices: list[Device] = []
    notes: list[str] = []
    for part in (part.strip() for text in texts for part in _PLUS.split(text)):
        count, device, note = _one(part)
        devices += [device] * count
        notes += [note] if note else []
        if len(devices) > _MAX_DEVICES:
            raise InputError(f"more than {_MAX_DEVICES} devices", hint="name those that hold the model")
    if not devices:
        raise InputError("no device is named", hint='`--hardware "rtx 4090"`')
    return arranged(devices, split, tuple(notes))


def arranged(devices: list[Device], split: Split, notes: tuple[str, ...] = ()) -> Hardware:
    """Tell the host from the devices; without GPUs the CPUs do the work, and their bandwidths add at best."""
    processors = [device for device in devices if device.kind == "cpu"]
    others = tuple(device for device in devices if device.kind != "cpu")
    if not others:
        return Hardware(tuple(processors), None, "tensor" if len(processors) > 1 else split, notes=notes)
    return Hardware(others, _joined(processors), split, notes=notes)


def memory_device(name: str, channels: int, mega_transfers: int) -> Device:
    """A CPU by its memory: channels of 64 bits at so many million transfers a second."""
    return _memory(name, channels * _CHANNEL_BITS, mega_transfers)


def _memory(name: str, bits: int, mega_transfers: int) -> Device:
    return Device(
        name=name,
        kind="cpu",
        gb_per_s=bits * mega_transfers / 8000,
        bus_bits=bits,
        gbit_per_s=mega_transfers / 1000,
        sources=("stated", "bus"),
    )


def _joined(processors: list[Device]) -> Device | None:
    if len(processors) < 2:  # noqa: PLR2004 - one is itself
        return processors[0] if processors else None
    name = " + ".join(device.name for device in processors)
    sources = processors[0].sources if all(device.is_sure for device in processors) else ()
    return Device(name=name, kind="cpu", gb_per_s=sum(device.gb_per_s for device in processors), sources=sources)


def _one(text: str) -> tuple[int, Device, str]:
    """How many, which, and what was uncertain."""
    if text.lower().startswith("custom:"):
        return 1, _custom(text), ""
    counted = _COUNT.match(text)
    if counted and not _MEMORY.match(text):
        count, text = int(counted[1]), text[counted.end() :]
    else:
        count = 1
    memory = _MEMORY.search(text)
    if memory:
        return count, _stated_memory(text, memory), ""
    match = find(text)
    if not match.candidates:
        return count, match.device, ""
    note = f"`{text}` may be {', '.join(match.candidates)}; taken as the fastest, {match.device.name}"
    return count, match.device, note


def _stated_memory(text: str, memory: re.Match[str]) -> Device:
    channels, low_power, generation, rate, stated_bits = memory.groups()
    bits = int(stated_bits or 0) or int(channels or 0) * _CHANNEL_BITS or _USUAL_BITS
    if not bits * int(rate):
        raise InputError(f"`{text}` has no bandwidth", hint='for example `"epyc 9554 12x ddr5-4800"`')
    kind = f"{'LP' if low_power else ''}DDR{generation.upper()}-{rate}"
    rest = (text[: memory.start()] + text[memory.end() :]).strip(" ,")
    return _memory(f"{rest}, {bits} bit {kind}".lstrip(" ,"), bits, int(rate))


def _custom(text: str) -> Device:
    stated: dict[str, float] = {}
    for pair in text.partition(":")[2].split(","):
        key, _, value = pair.partition("=")
        field = _CUSTOM.get(key.strip().lower())
        if field is None:
            raise InputError(f"unknown figure `{pair.strip()}`; known are {', '.join(_CUSTOM)}", hint=_EXAMPLE)
        stated[field] = _positive(pair, value)
    if "gb_per_s" not in stated:
        raise InputError(f"`{text}` states no bandwidth", hint=_EXAMPLE)
    return Device(
        name="custom device",
        kind="gpu",
        gb_per_s=stated["gb_per_s"],
        memory_gb=stated.get("memory_gb"),
        fp16_tf=stated.get("fp16_tf"),
        int8_tops=stated.get("int8_tops"),
        llc_mb=stated.get("llc_mb"),
        sources=("stated", "by the user"),
    )


def _positive(pair: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not (number > 0 and isfinite(number)):
        raise InputError(f"`{pair.strip()}` is no number above 0", hint=_EXAMPLE)
    return number
