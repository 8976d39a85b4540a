"""What this machine could run a model on. Whatever cannot be read is unknown, never an error.

Only of use when the server is local: a client says nothing of a remote server's hardware.
"""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from crucibleforge import machine
from crucibleforge.bench import _nvml
from crucibleforge.bench.bandwidth import read_gb_per_s
from crucibleforge.errors import UnknownName
from crucibleforge.speed.devices import Device, find
from crucibleforge.speed.hardware import Hardware

_AMD, _INTEL = 0x1002, 0x8086
# Names in the device table by PCI id (pci-ids.ucw.cz); one chip has several cards, told apart by their memory.
_PCI = {
    (_AMD, 0x66A1): ("mi50",),
    (_AMD, 0x66AF): ("radeon vii",),
    (_AMD, 0x738C): ("mi100",),
    (_AMD, 0x740C): ("mi250x",),
    (_AMD, 0x740F): ("mi210",),
    (_AMD, 0x74A1): ("mi300x",),
    (_AMD, 0x74A5): ("mi325x",),
    (_AMD, 0x73BF): ("rx 6800", "rx 6800 xt", "rx 6900 xt"),
    (_AMD, 0x73A5): ("rx 6950 xt",),
    (_AMD, 0x73DF): ("rx 6700 xt",),
    (_AMD, 0x7448): ("w7900",),
    (_AMD, 0x744C): ("rx 7900 xtx", "rx 7900 xt", "rx 7900 gre"),
    (_AMD, 0x747E): ("rx 7800 xt", "rx 7700 xt"),
    (_AMD, 0x7480): ("rx 7600 xt",),
    (_AMD, 0x7550): ("rx 9070 xt", "rx 9070"),
    (_AMD, 0x7551): ("r9700",),
    (_AMD, 0x7590): ("rx 9060 xt",),
    (_AMD, 0x1586): ("strix halo",),
    (_AMD, 0x150E): ("radeon 890m",),
    (_AMD, 0x15BF): ("radeon 780m",),
    (_AMD, 0x1900): ("radeon 780m",),
    (_INTEL, 0x56A0): ("arc a770",),
    (_INTEL, 0x56A1): ("arc a750",),
    (_INTEL, 0xE20B): ("arc b580",),
    (_INTEL, 0xE20C): ("arc b570",),
    (_INTEL, 0xE211): ("arc pro b60",),
    (_INTEL, 0xE212): ("arc pro b50",),
    (_INTEL, 0x64A0): ("lunar lake",),
}
_MEMORY_SLACK = 0.1
# What is sold as a card of 24 GB has 24 GiB.
_GIB = 2**30
# Less is a processor's own graphics, which no model of size runs on.
_DISCRETE_BYTES = 4_000_000_000
_PROFILER = ("system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json")
_PROFILER_S = 20
_KIB = 1024
_CORES = re.compile(r"\d+")


class Detected(Struct, frozen=True):
    """What was found; `hardware` None: nothing, or a GPU whose bandwidth is not known."""

    hardware: Hardware | None
    gpus: tuple[str, ...] = ()
    cpu: str = ""
    l3_bytes: int | None = None


@dataclass(frozen=True)
class Probes:
    """Where to look; everything that touches the machine."""

    root: Path = Path("/")
    system: str = platform.system()
    cpu: str = ""
    nvidia: Callable[[], tuple[_nvml.Card, ...]] = _nvml.cards
    profile: Callable[[], bytes] = lambda: _run(_PROFILER)
    measure: Callable[[int | None], float | None] = read_gb_per_s


def detect(probes: Probes | None = None) -> Detected:
    """Look for GPUs, then at the CPU and its memory; measuring the latter takes about half a second."""
    probes = probes or Probes()
    cpu = probes.cpu or machine.describe().cpu
    l3_bytes = _l3_bytes(probes.root)
    if probes.system == "Darwin":
        found = _apple(probes.profile)
    else:
        found = _nvidia(probes) or _jetson(probes.root)
        found += _drm(probes.root)
    found = _without_integrated(found)
    names = tuple(name for name, _ in found)
    known = tuple(device for _, device in found if device)
    if len(known) < len(found):
        return Detected(None, names, cpu, l3_bytes)
    if known and known[0].kind == "unified":
        return Detected(Hardware(known, is_detected=True), names, cpu, l3_bytes)
    host = _processor(cpu, l3_bytes, probes.measure)
    devices = known or ((host,) if host else ())
    hardware = Hardware(devices, host if known else None, is_detected=True) if devices else None
    return Detected(hardware, names, cpu, l3_bytes)


def processor(probes: Probes | None = None) -> Hardware | None:
    """The CPU and its memory alone, for what uses no GPU; measuring takes about half a second."""
    probes = probes or Probes()
    host = _processor(probes.cpu or machine.describe().cpu, _l3_bytes(probes.root), probes.measure)
    return Hardware((host,), is_detected=True) if host else None


_Found = list[tuple[str, Device | None]]


def _nvidia(probes: Probes) -> _Found:
    cards = probes.nvidia()
    if cards:
        return [(card.name, _driven(card)) for card in cards]
    models = (_text(path) for path in sorted(probes.root.glob("proc/driver/nvidia/gpus/*/information")))
    names = [match[1].strip() for text in models if (match := re.search(r"^Model:(.+)$", text, re.MULTILINE))]
    return [(name, _named(name)) for name in names]


def _driven(card: _nvml.Card) -> Device | None:
    """The table's row with the driver's bandwidth, which tells cut-down variants of one name apart."""
    row = _named(card.name)
    memory_gb = card.memory_bytes / _GIB if card.memory_bytes else None
    if card.gb_per_s is None:
        return row
    if row is None:
        return Device(
            name=card.name, kind="gpu", gb_per_s=card.gb_per_s, memory_gb=memory_gb, sources=("driver", "bus")
        )
    if not row.gb_per_s / 2 < card.gb_per_s < row.gb_per_s * 1.2:
        return row
    return msgspec.structs.replace(
        row,
        gb_per_s=card.gb_per_s,
        memory_gb=memory_gb or row.memory_gb,
        sources=(*row.sources, "driver"),
        unsure=tuple(one for one in row.unsure if one != "bandwidth"),
    )


def _jetson(root: Path) -> _Found:
    name = _text(root / "proc/device-tree/model").strip("\0\n ")
    if "jetson" not in name.lower():
        return []
    return [(name, _named(name.replace("Developer Kit", "").replace("Engineering Reference", "")))]


def _drm(root: Path) -> _Found:
    """Cards of AMD and Intel that the kernel knows."""
    found: _Found = []
    for folder in sorted(root.glob("sys/class/drm/card?*/device")):
        ids = _number(folder / "vendor", 16), _number(folder / "device", 16)
        memory = _number(folder / "mem_info_vram_total")
        names = _PCI.get((ids[0] or 0, ids[1] or 0), ())
        device = _by_memory(names, memory)
        if device or names or (ids[0] == _AMD and (memory or 0) >= _DISCRETE_BYTES):
            found.append((device.name if device else f"PCI {ids[0]:04x}:{ids[1] or 0:04x}", device))
    return found


def _by_memory(names: tuple[str, ...], memory_bytes: int | None) -> Device | None:
    """The fastest of a chip's cards that have about so much memory; an integrated GPU's may be any."""
    devices = [find(name).device for name in names]
    fitting = [
        device
        for device in devices
        if device.kind == "unified"
        or not (memory_bytes and device.memory_gb)
        or abs(memory_bytes / _GIB / device.memory_gb - 1) < _MEMORY_SLACK
    ]
    return max(fitting, key=lambda device: device.gb_per_s, default=None)


def _apple(profile: Callable[[], bytes]) -> _Found:
    try:
        told = msgspec.json.decode(profile())
        chip = str(told["SPHardwareDataType"][0]["chip_type"])
        cores = _CORES.search(str(told["SPDisplaysDataType"][0].get("sppci_cores", "")))
    except (OSError, subprocess.SubprocessError, msgspec.DecodeError, KeyError, IndexError, TypeError, AttributeError):
        return []
    device = _named(f"{chip} {cores[0]}c") if cores else None
    return [(chip, device or _named(chip))]


def _without_integrated(found: _Found) -> _Found:
    """A processor's own graphics are not what a model runs on beside a real card."""
    discrete = [(name, device) for name, device in found if device is None or device.kind == "gpu"]
    return discrete or found


def _processor(name: str, l3_bytes: int | None, measure: Callable[[int | None], float | None]) -> Device | None:
    measured = measure(l3_bytes)
    if not measured:
        return _named(name)
    llc_mb = l3_bytes / 1e6 if l3_bytes else None
    return Device(name=name or "CPU", kind="cpu", gb_per_s=measured, llc_mb=llc_mb, is_measured=True)


def _l3_bytes(root: Path) -> int | None:
    """All L3 of the machine; each is listed by every core that shares it."""
    caches = {}
    for folder in root.glob("sys/devices/system/cpu/cpu[0-9]*/cache/index3"):
        size = _text(folder / "size").strip()
        if size.endswith("K") and size[:-1].isdigit():
            caches[_text(folder / "shared_cpu_list").strip()] = int(size[:-1]) * _KIB
    return sum(caches.values()) or None


def _named(name: str) -> Device | None:
    try:
        return find(name).device
    except UnknownName:
        return None


def _number(path: Path, base: int = 10) -> int | None:
    try:
        return int(_text(path).strip(), base)
    except ValueError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _run(command: tuple[str, ...]) -> bytes:
    done = subprocess.run(command, capture_output=True, check=True, timeout=_PROFILER_S)  # noqa: S603 - a fixed command
    return done.stdout
