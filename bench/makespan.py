"""How near a run comes to the shortest time that its work allows.

Made workloads with heavy-tailed lengths and chains of turns are carried out on 1 to 16 slots against an endpoint that
takes as long as told. The bound is max(work / slots, longest chain); the scheduler sees budgets only, of which a reply
uses 30 to 100%. Bar: median of wall / bound <= 1.05.

    python bench/makespan.py [--workloads 50] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics

import bed
import endpoint

from crucibleforge.types import Case

BAR = 1.05
BOUND_S = 2.0
MS_A_TOKEN = 1.0


def workload(draw: random.Random, slots: int) -> tuple[list[Case], float]:
    """Cases whose bound is `BOUND_S`, and that bound as it came out, in seconds."""
    shapes = []
    for _ in range(draw.randint(4 * slots, 10 * slots)):
        rounds = draw.randint(2, 6) if draw.random() < 0.2 else 1
        budget = min(draw.paretovariate(1.3), 40.0)
        shapes.append((budget, [budget * draw.uniform(0.3, 1.0) for _ in range(rounds)]))
    work = sum(sum(parts) for _, parts in shapes)
    longest = max(sum(parts) for _, parts in shapes)
    scale = BOUND_S * 1e3 / max(work / slots, longest)
    cases = []
    for number, (budget, parts) in enumerate(shapes):
        rounds_ms = [round(part * scale, 3) for part in parts]
        cases.append(bed.case(number, {"rounds_ms": rounds_ms}, max(round(budget * scale / MS_A_TOKEN), 1), len(parts)))
    return cases, BOUND_S


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    ratios = []
    with endpoint.serving() as (url, _):
        warm = bed.target(url, 1)
        with bed.run_of([bed.case(1, {})], warm) as run:
            bed.carry(run)  # imports are no part of scheduling
        for _ in range(options.workloads):
            slots = draw.randint(1, 16)
            cases, bound_s = workload(draw, slots)
            with bed.run_of(cases, bed.target(url, slots)) as run:
                ratios.append(bed.carry(run).wall_s / bound_s)
            print(f"{len(cases):4} cases, {slots:2} slots: {ratios[-1]:.3f}", flush=True)
    median = statistics.median(ratios)
    worst = max(ratios)
    is_met = median <= BAR
    print(f"load {os.getloadavg()[0]:.1f}, {len(ratios)} workloads, seed {options.seed}, worst {worst:.3f}")
    print(f"{'pass' if is_met else 'FAIL'}  wall / bound, median: {median:.3f} (bar <= {BAR})")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
