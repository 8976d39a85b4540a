"""What machine the client runs on. A fact that cannot be read is empty or 0, never an error."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import psutil

from crucibleforge.types import Machine


def describe() -> Machine:
    """The machine as it stands in a run's plan."""
    return Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        cpu=_cpu(),
        cores=_cores(),
        memory_bytes=psutil.virtual_memory().total,
    )


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def _cores() -> int:
    # In a container the machine's cores are not ours; the affinity is what we may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0
