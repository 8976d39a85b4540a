"""What the sandbox costs, how much it grades, and whether anything of it outlives its end.

    python bench/sandbox.py start           ms over a bare Python, median of 100; bar 8 ms
    python bench/sandbox.py rate            submissions of 8 tests a second, two workers; bar 20
    python bench/sandbox.py kills           150 sandboxes killed in their first 15 ms; bar: 0 processes a second later
    python bench/sandbox.py steady 2000     so many gradings in one process; bar: nothing grows

Linux with bubblewrap, a source checkout. `kills` also kills the process that supervises; bubblewrap itself decides
what that leaves, so there is no bar on it. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil

from crucibleforge.errors import CrucibleError
from crucibleforge.programs import Call, Limits, Program, Returned
from crucibleforge.sandbox._driven import FILTER, FLAGS, Driven, Launch, _opened, as_user
from crucibleforge.sandbox._reaper import children
from crucibleforge.sandbox.bwrap import SANDBOX

ROUNDS, MOST_MS, LEAST_RATE = 100, 8.0, 20.0
KILLS, EARLY_S, LATER_S = 150, 0.015, 1.0
WORKERS, RATE_S = 2, 10.0
MEMORY, MOST_KIB = "memory, KiB", 256
ONCE = Program("def f(x):\n    return x\n", "f", (Call((1,)),))
TESTS = 8
EIGHT = Program(
    "def f(values):\n    total = 0\n    for value in sorted(values):\n        total += value * value\n    return total",
    "f",
    tuple(Call(([*range(number, number + 50)],)) for number in range(TESTS)),
)


def main() -> int:
    doing: dict[str, Callable[[int], bool]] = {"start": start, "rate": rate, "kills": kills, "steady": steady}
    words = sys.argv[1:]
    if words[:1] == ["supervise"]:
        return supervise(words[1])
    if not words or words[0] not in doing:
        print(__doc__)
        return 2
    print(f"{SANDBOX.open().isolation}; load {os.getloadavg()[0]:.1f}")
    return 0 if doing[words[0]](int(words[1]) if words[1:] else 0) else 1


def said(name: str, value: float, unit: str, bar: str, is_met: bool) -> bool:
    print(f"{'pass' if is_met else 'FAIL'}  {name}: {value:.2f} {unit} (bar {bar})")
    return is_met


def start(_: int) -> bool:
    """Every round takes each of them once, so a busy minute is busy for all."""
    sandbox = opened()
    launch = sandbox._launch  # noqa: SLF001 - what is started is what is measured
    at = launch.argv.index("--") + 1
    python, passes = launch.argv[at], ("-I", "-S", "-c", "pass")
    unboxed = Driven(replace(launch, argv=(python, *FLAGS, launch.argv[-1]), processes=0, ground=None), "no walls")
    ways: dict[str, Callable[[], object]] = {
        "bare python": lambda: ended(replace(launch, argv=(python, *passes))),
        "sandboxed python": lambda: ended(replace(launch, argv=(*launch.argv[: at + 1], *passes))),
        "one call, unboxed": lambda: graded(unboxed, ONCE),
        "one call, sandboxed": lambda: graded(sandbox, ONCE),
        "one call, no cgroup": lambda: graded(Driven(replace(launch, ground=None), ""), ONCE),
    }
    took: dict[str, list[float]] = {name: [] for name in ways}
    busy: dict[str, list[float]] = {name: [] for name in ways}
    for _round in range(ROUNDS):
        for name, way in ways.items():
            began, began_cpu_s = time.perf_counter(), cpu_s()
            way()
            busy[name].append((cpu_s() - began_cpu_s) * 1e3)
            took[name].append((time.perf_counter() - began) * 1e3)
    middle = {name: statistics.median(times) for name, times in took.items()}
    for name, times in took.items():
        worst, cpu_ms = statistics.quantiles(times, n=20)[-1], statistics.median(busy[name])
        print(f"{name:20} {middle[name]:6.2f} ms, p95 {worst:.2f}; of CPU, children only {cpu_ms:.2f} ms")
    start_ms = middle["sandboxed python"] - middle["bare python"]
    call_ms = middle["one call, sandboxed"] - middle["one call, unboxed"]
    whole_ms = middle["one call, sandboxed"] - middle["bare python"]
    print(f"driver, protocol, cgroup and sandbox together: {whole_ms:.2f} ms over bare python")
    met = [said("sandboxed over bare python", start_ms, "ms", f"<= {MOST_MS:g}", start_ms <= MOST_MS)]
    met.append(said("one call over the same without sandbox", call_ms, "ms", f"<= {MOST_MS:g}", call_ms <= MOST_MS))
    return all(met)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ended(launch: Launch) -> None:
    """Start it and wait for its end."""
    with _opened(launch.outer_filter) as filters:
        subprocess.run(
            [str(filters[0]) if filters and word == FILTER else word for word in launch.argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(launch.environment),
            cwd="/",
            pass_fds=filters,
            start_new_session=True,
            check=True,
            **as_user(launch.uid),
        )


def opened() -> Driven:
    sandbox = SANDBOX.open()
    assert isinstance(sandbox, Driven)
    return sandbox


def graded(sandbox: Driven, program: Program) -> None:
    ran = sandbox.run(program, Limits())
    assert not ran.broken, ran.broken
    assert all(isinstance(result, Returned) for result in ran.results), ran


def rate(_: int) -> bool:
    counts = Counter[int]()
    until = time.monotonic() + RATE_S

    def work(number: int) -> None:
        sandbox = opened()
        while time.monotonic() < until:
            graded(sandbox, EIGHT)
            counts[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    a_second = counts.total() / RATE_S
    print(f"{counts.total()} submissions of {TESTS} tests in {RATE_S:g} s by {WORKERS} workers")
    return said("submissions a second", a_second, "", f">= {LEAST_RATE:g}", a_second >= LEAST_RATE)


def kills(seed: int) -> bool:
    draw = random.Random(seed)
    mark = f"crucibleforge-canary-{os.getpid()}-{draw.random()}"
    sandbox = marked(mark)
    outcome: Counter[str] = Counter()
    slowest_s = 0.0
    for _ in range(KILLS):
        killer = threading.Thread(target=kill_early, args=(set(children(os.getpid())), draw.uniform(0, EARLY_S)))
        killer.start()
        began = time.monotonic()
        try:
            graded(sandbox, ONCE)
            outcome["graded all the same"] += 1
        except CrucibleError as error:
            outcome[error.message] += 1
        slowest_s = max(slowest_s, time.monotonic() - began)
        killer.join()
    for name, count in outcome.most_common():
        print(f"{count:4} {name}")
    print(f"the slowest took {slowest_s:.2f} s to its end")
    time.sleep(LATER_S)
    left = bearing(mark) + [child.pid for child in psutil.Process().children(recursive=True)]
    met = said(f"left by {KILLS} killed sandboxes", len(left), "processes", "0", not left)
    supervisors(draw)
    return met


def kill_early(before: set[int], delay_s: float) -> None:
    """Kill the first new child of ours so long after it is seen."""
    (new, *_) = next_child(os.getpid(), before)
    time.sleep(delay_s)
    with suppress(ProcessLookupError):
        os.kill(new, signal.SIGKILL)


def next_child(parent: int, before: set[int]) -> set[int]:
    while not (new := set(children(parent)) - before):
        time.sleep(0.0002)
    return new


def marked(mark: str) -> Driven:
    """A sandbox with a word on every command line, by which its processes are known."""
    sandbox = opened()
    launch = sandbox._launch  # noqa: SLF001 - only what is started can carry it
    return Driven(replace(launch, argv=(*launch.argv, mark)), sandbox.isolation)


def bearing(mark: str) -> list[int]:
    """Processes of this machine with that word on their command line."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if mark in process.cmdline():
                found.append(process.pid)
    return found


def supervisors(draw: random.Random) -> None:
    """Kill the process that starts sandboxes at a random moment in the first 15 ms of one."""
    stuck: list[int] = []
    count = KILLS // 5
    for number in range(count):
        mark = f"crucibleforge-canary-{os.getpid()}-{number}-{draw.random()}"
        supervisor = subprocess.Popen((sys.executable, __file__, "supervise", mark), stdout=subprocess.PIPE)
        assert supervisor.stdout
        supervisor.stdout.readline()
        seen: set[int] = set()
        for _ in range(draw.randrange(1, 5)):
            seen |= next_child(supervisor.pid, seen)
        time.sleep(draw.uniform(0, EARLY_S))
        supervisor.kill()
        supervisor.wait()
        supervisor.stdout.close()
        time.sleep(LATER_S)
        stuck += bearing(mark)
    print(f"{len(stuck)} processes left, each looked for a second after one of {count} supervisors was killed")
    for pid in stuck:
        with suppress(psutil.Error):
            print("    ", pid, psutil.Process(pid).status(), psutil.Process(pid).exe())
            psutil.Process(pid).kill()


def supervise(mark: str) -> int:
    sandbox = marked(mark)
    print("begun", flush=True)
    while True:
        graded(sandbox, ONCE)


def steady(count: int) -> bool:
    """What lasts is filled in the first half; what still grows in the second one has no end."""
    sandbox = opened()
    half = max((count or 2000) // 2, 1)
    graded(sandbox, EIGHT)
    first, began = held(), time.monotonic()
    middle = first
    for number in range(2 * half):
        if number == half:
            middle = held()
        graded(sandbox, EIGHT)
    last = held()
    print(f"{2 * half} gradings of {TESTS} tests, {time.monotonic() - began:.0f} s")
    print(f"memory: {first[MEMORY]}, {middle[MEMORY]}, {last[MEMORY]} KiB at the start, in the middle, at the end")
    counted = [name for name in first if name != MEMORY]
    met = [said(name, last[name] - first[name], "more", "0", last[name] <= first[name]) for name in counted]
    growth = last[MEMORY] - middle[MEMORY]
    met.append(said("memory in the second half", growth, "KiB more", f"<= {MOST_KIB}", growth <= MOST_KIB))
    return all(met)


def held() -> dict[str, int]:
    me = psutil.Process()
    gc.collect()
    below = me.children(recursive=True)
    groups = Path("/sys/fs/cgroup").rglob("crucibleforge-*")
    return {
        "descriptors": me.num_fds(),
        "threads": me.num_threads(),
        "processes": len(below),
        "zombies": sum(child.status() == psutil.STATUS_ZOMBIE for child in below),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "cgroups": sum(f"-{me.pid}-" in group.name for group in groups),
        MEMORY: me.memory_info().rss // 1024,
    }


if __name__ == "__main__":
    sys.exit(main())
