"""Whether time limits are fair: honest programs beside busy loops are never late, programs of a worse order always are.

    python bench/limits.py [--honest 100] [--loops 2]

The task is the sum of a + b over all pairs of a list where the larger a stands before the smaller b, which takes
O(n log n). The honest programs solve it in as many styles as there are below, some of them several times as slow as
our own solution; the others in O(n squared), some of them by fast built-ins. Real sandbox, real machine.
Exit code 1 when a program got the wrong verdict. Takes some minutes.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import monotonic

from crucibleforge.programs import Call, Program, Raised, Ran
from crucibleforge.sandbox import open_sandbox
from crucibleforge.sandbox._fair import execute

SIZES = (3_000, 12_000, 48_000)
FENWICK = """
class Tree:
    def __init__(self, n): self.n, self.count, self.total = n, [0] * (n + 1), [0] * (n + 1)
    def add(self, i, v):
        while i <= self.n:
            self.count[i] += 1; self.total[i] += v; i += i & -i
    def below(self, i):
        c = t = 0
        while i: c += self.count[i]; t += self.total[i]; i -= i & -i
        return c, t
"""
RANKS = "    ranks = {v: i + 1 for i, v in enumerate(sorted(set(values)))}\n"
OURS = """
def solve(values):
    def sort(a):
        if len(a) < 2: return a, 0
        left, x = sort(a[:len(a) // 2]); right, y = sort(a[len(a) // 2:])
        found, out, i, rest = x + y, [], 0, sum(left)
        for b in right:
            while i < len(left) and left[i] <= b: rest -= left[i]; out.append(left[i]); i += 1
            found += rest + b * (len(left) - i); out.append(b)
        return out + left[i:], found
    return sort(values)[1]
"""
HONEST = {
    "merge sort": OURS,
    "merge sort from below": """
def solve(values):
    runs, found = [[v] for v in values], 0
    while len(runs) > 1:
        merged = []
        for k in range(0, len(runs) - 1, 2):
            left, right, out, i, rest = runs[k], runs[k + 1], [], 0, sum(runs[k])
            for b in right:
                while i < len(left) and left[i] <= b: rest -= left[i]; out.append(left[i]); i += 1
                found += rest + b * (len(left) - i); out.append(b)
            merged.append(out + left[i:])
        if len(runs) % 2: merged.append(runs[-1])
        runs = merged
    return runs[0] and found
""",
    "merge by sorting again": """
from bisect import bisect_right
from itertools import accumulate
def solve(values):
    if len(values) < 2: return 0
    left, right = values[:len(values) // 2], values[len(values) // 2:]
    found = solve(left) + solve(right)
    left.sort(); sums = [0, *accumulate(left)]
    for b in right:
        i = bisect_right(left, b); found += sums[-1] - sums[i] + b * (len(left) - i)
    return found
""",
    "tree of sums": FENWICK
    + "def solve(values):\n"
    + RANKS
    + """    tree, found = Tree(len(ranks)), 0
    for a in reversed(values):
        c, t = tree.below(ranks[a] - 1); found += a * c + t; tree.add(ranks[a], a)
    return found
""",
    "two trees with prints": FENWICK
    + "def solve(values):\n"
    + RANKS
    + """    tree, other, found = Tree(len(ranks)), Tree(len(ranks)), 0
    for k, a in enumerate(reversed(values)):
        c, t = tree.below(ranks[a] - 1); found += a * c + t; tree.add(ranks[a], a); other.add(ranks[a], a)
        if k % 10 == 0: print(k, a, c, t)
    assert tree.below(len(ranks)) == other.below(len(ranks))
    return found
""",
    "tree in a dict": "from collections import defaultdict\ndef solve(values):\n"
    + RANKS
    + """    count, total, found = defaultdict(int), defaultdict(int), 0
    for a in reversed(values):
        i = ranks[a] - 1
        while i > 0: found += a * count[i] + total[i]; i -= i & -i
        i = ranks[a]
        while i <= len(ranks): count[i] += 1; total[i] += a; i += i & -i
    return found
""",
    "segments": "def solve(values):\n"
    + RANKS
    + """    n, found = len(ranks) + 1, 0
    count, total = [0] * (2 * n), [0] * (2 * n)
    for a in values:
        low, high = ranks[a] + 1 + n, 2 * n
        while low < high:
            if low & 1: found += total[low] + a * count[low]; low += 1
            if high & 1: high -= 1; found += total[high] + a * count[high]
            low >>= 1; high >>= 1
        i = ranks[a] + n
        while i: count[i] += 1; total[i] += a; i >>= 1
    return found
""",
    "bits": """
def solve(values):
    shift = min(values); groups, found = [[v - shift for v in values]], 0
    for bit in range(max(groups[0]).bit_length() - 1, -1, -1):
        parts = []
        for group in groups:
            ones = total = 0; zero, one = [], []
            for v in group:
                if v >> bit & 1: ones += 1; total += v + shift; one.append(v)
                else: found += total + ones * (v + shift); zero.append(v)
            parts += [part for part in (zero, one) if len(part) > 1]
        groups = parts
    return found
""",
    "objects that compare": """
from dataclasses import dataclass
@dataclass(order=True)
class Item:
    value: int
def solve(values):
    def sort(a):
        if len(a) < 2: return a, 0
        left, x = sort(a[:len(a) // 2]); right, y = sort(a[len(a) // 2:])
        found, out, i, rest = x + y, [], 0, sum(item.value for item in left)
        for b in right:
            while i < len(left) and left[i] <= b: rest -= left[i].value; out.append(left[i]); i += 1
            found += rest + b.value * (len(left) - i); out.append(b)
        return out + left[i:], found
    return sort([Item(v) for v in values])[1]
""",
    "threads and asyncio": "import asyncio\n"
    + OURS.replace("def solve", "def work")
    + "async def solve(values):\n    return await asyncio.to_thread(work, values)\n",
}
SLOW = {
    "two loops": """
def solve(values):
    found = 0
    for i, a in enumerate(values):
        for b in values[i + 1:]:
            if a > b: found += a + b
    return found
""",
    "by index": """
def solve(values):
    found = 0
    for i in range(len(values)):
        for j in range(i): found += (values[j] + values[i]) * (values[j] > values[i])
    return found
""",
    "combinations": """
from itertools import combinations
def solve(values):
    return sum(a + b for a, b in combinations(values, 2) if a > b)
""",
    "a list for each": """
def solve(values):
    found = 0
    for i, a in enumerate(values):
        less = [b for b in values[i + 1:] if b < a]; found += a * len(less) + sum(less)
    return found
""",
    "bubbles": """
def solve(values):
    values, found, moved = list(values), 0, True
    while moved:
        moved = False
        for i in range(len(values) - 1):
            if values[i] > values[i + 1]:
                found += values[i] + values[i + 1]
                values[i], values[i + 1] = values[i + 1], values[i]; moved = True
    return found
""",
    "insertion": """
def solve(values):
    done, found = [], 0
    for b in values:
        i = len(done)
        while i and done[i - 1] > b: i -= 1; found += done[i] + b
        done.insert(i, b)
    return found
""",
    "bisection and sums of slices": """
from bisect import bisect_right
def solve(values):
    done, found = [], 0
    for b in values:
        i = bisect_right(done, b); found += sum(done[i:]) + b * (len(done) - i); done.insert(i, b)
    return found
""",
    "sums kept up to date": """
from bisect import bisect_right
def solve(values):
    done, sums, found = [], [0], 0
    for b in values:
        i = bisect_right(done, b); found += sums[-1] - sums[i] + b * (len(done) - i)
        done.insert(i, b); sums[i + 1:] = [s + b for s in sums[i:]]
    return found
""",
    "fast filters": """
def solve(values):
    found = 0
    for i, a in enumerate(values):
        less = list(filter(a.__gt__, values[i + 1:])); found += a * len(less) + sum(less)
    return found
""",
    "merge of uneven halves": """
def solve(values):
    found, rest = 0, list(values)
    while rest:
        a = max(rest); i = rest.index(a); found += sum(rest[i + 1:]) + a * (len(rest) - i - 1); del rest[i]
    return found
""",
}


def program(source: str) -> Program:
    draw = random.Random(7)
    calls = (
        Call(([3, 1, 2],)),
        *(Call(([draw.randrange(10 * size) for _ in range(size)],), size=size) for size in SIZES),
    )
    return Program(source, "solve", calls, reference=OURS)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(loops)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def late(ran: Ran) -> bool:
    return any(isinstance(result, Raised) and result.kind == "time limit" for result in ran.results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--honest", type=int, default=100)
    parser.add_argument("--loops", type=int, default=2)
    options = parser.parse_args()
    with closing(open_sandbox()) as sandbox:
        right = execute(sandbox, program(OURS)).results

        def tried(name: str, source: str) -> bool:
            """True if it was late; says so where something else went wrong."""
            began, ran = monotonic(), execute(sandbox, program(source))
            if ran.broken or (not late(ran) and ran.results != right):
                raise SystemExit(f"{name}: wrong answer {ran.broken} {ran.results[:1]}")
            factor = ran.cpu_s[-1] / ran.reference_cpu_s[-1]
            worst[name] = max(worst.get(name, 0.0), factor)
            print(
                f"  {name}: {'late' if late(ran) else 'in time'}, {factor:.1f}x, {monotonic() - began:.1f} s",
                flush=True,
            )
            return late(ran)

        worst: dict[str, float] = {}
        idle = sum(tried(*one) for one in SLOW.items())
        with busy(options.loops):
            loaded = sum(tried(*one) for one in SLOW.items())
            worst.clear()
            styles = list(HONEST.items())
            false = sum(tried(*styles[number % len(styles)]) for number in range(options.honest))
    print(f"honest beside {options.loops} busy loops: {false} of {options.honest} late; bar 0")
    print(f"slowest style: {max(worst.values()):.1f} times ours at the largest size")
    print(f"of a worse order: idle {idle}, loaded {loaded} of {len(SLOW)} late; bar all")
    return int(bool(false) or idle < len(SLOW) or loaded < len(SLOW))


if __name__ == "__main__":
    sys.exit(main())
