"""Mark every right answer and every near miss in every dress: no right one may fail, no near one may pass.

python bench/extract.py
"""

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from dressed import KINDS, marked, replies

SHOWN = 40


def main() -> int:
    began = perf_counter()
    counts = {}
    wrong = []
    for what, must_pass in (("right variants", True), ("near misses", False)):
        counts[what] = 0
        for kind in KINDS:
            case = kind.case()
            for text in replies(kind.right if must_pass else kind.near):
                counts[what] += 1
                finding = marked(kind, text, case)
                if (finding.outcome == "pass") != must_pass:
                    wrong.append((what, kind.expected, text, finding.why))
    for line in wrong[:SHOWN]:
        print(*map(repr, line), sep=" | ")
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    print(f"{said} of {len(KINDS)} cases in {perf_counter() - began:.0f} s: {len(wrong)} marked wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
