"""What the program itself costs: cases against an endpoint that answers at once, durable rows and marking included.

    python bench/overhead.py                        ms of wall a case; bar 3 ms
    python bench/overhead.py --versus PYTHON        the same with inspect-ai, installed for that interpreter; bar 6x
    python bench/overhead.py --cases 10000          peak memory as well; bar 200 MB
    python bench/overhead.py --profile              where the time goes

Rounds of the two programs alternate, since a shared machine is not equally fast all the time; medians are compared.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

import bed
import endpoint

MOST_MS, LEAST_RATIO, MOST_MB = 3.0, 6.0, 200.0
AT_ONCE = 32
INSPECT = """
import sys
from time import perf_counter
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate

count, at_once, logs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
samples = [Sample(input=f"How much is {n} + 42 - {n}?", target="42") for n in range(count)]
task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match(numeric=True))
began = perf_counter()
log = eval(task, model="openai-api/bench/fake", max_connections=at_once, max_samples=at_once, max_tokens=64,
           display="none", log_dir=logs)[0]
wall = perf_counter() - began
assert log.status == "success", log.error
assert log.results.scores[0].metrics["accuracy"].value == 1.0, log.results
print(wall)
"""


def ours(count: int) -> tuple[float, float]:
    """Wall seconds, and the endpoint's seconds of CPU within them."""
    with endpoint.serving() as (url, process):
        cases = [bed.case(number, {}) for number in range(count)]
        with bed.run_of(cases, bed.target(url, AT_ONCE)) as run:
            took = bed.carry(run)
        assert took.passed == count
        return took.wall_s, endpoint.cpu_s(process)


def theirs(python: str, count: int) -> float:
    with endpoint.serving() as (url, _), tempfile.TemporaryDirectory() as place:
        script = Path(place) / "versus.py"
        script.write_text(INSPECT, encoding="utf-8")
        env = os.environ | {"BENCH_BASE_URL": url, "BENCH_API_KEY": "none"}
        env.pop("PYTHONPATH", None)
        done = subprocess.run(
            [python, str(script), str(count), str(AT_ONCE), place],
            env=env,
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return float(done.stdout.split()[-1])


def said(name: str, value: float, unit: str, bar: str, is_met: bool) -> bool:
    print(f"{'pass' if is_met else 'FAIL'}  {name}: {value:.2f} {unit} (bar {bar})")
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--versus", metavar="PYTHON")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(ours, options.cases)
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        return 0
    mine, other, endpoint_s = [], [], []
    for _ in range(options.rounds):
        wall_s, cpu_s = ours(options.cases)
        mine.append(wall_s)
        endpoint_s.append(cpu_s)
        if options.versus:
            other.append(theirs(options.versus, options.cases))
    per_case = 1e3 / options.cases
    print(f"{options.cases} cases, {AT_ONCE} at once, {options.rounds} rounds; load {os.getloadavg()[0]:.1f}")
    print("ms a case:", *(f"{wall * per_case:.2f}" for wall in mine))
    print(f"of which the endpoint's own CPU: {statistics.median(endpoint_s) * per_case:.2f} ms")
    wall_ms = statistics.median(mine) * per_case
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    met = [said("wall a case", wall_ms, "ms", f"<= {MOST_MS:g}", wall_ms <= MOST_MS)]
    met.append(said("peak memory", peak_mb, "MB", f"< {MOST_MB:g} at 10000 cases", peak_mb < MOST_MB))
    if other:
        print("inspect-ai, ms a case:", *(f"{wall * per_case:.2f}" for wall in other))
        ratio = statistics.median(other) / statistics.median(mine)
        met.append(said("cases per second, times inspect-ai", ratio, "x", f">= {LEAST_RATIO:g}", ratio >= LEAST_RATIO))
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
