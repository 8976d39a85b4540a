"""Feed 20,000 strange streams to the splitter and the collector; any exception but ours ends it with a traceback.

python bench/fuzz_wire.py [EXAMPLES]
"""

import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

import msgspec
from hypothesis import HealthCheck, Phase, given, settings

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from wire_streams import read, streams


def main(examples: int) -> None:
    outcomes: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(streams())
    def fuzz(stream: list[bytes]) -> None:
        made = read(stream)
        msgspec.json.encode(made)  # what was read can be logged
        whole = b"".join(stream)
        assert made == read([whole[at : at + 3] for at in range(0, len(whole), 3)]), "a cut changed the reply"
        outcomes[made if isinstance(made, str) else "Reply"] += 1

    began = perf_counter()
    fuzz()
    said = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    print(f"{outcomes.total()} streams in {perf_counter() - began:.0f} s: {said}; no exception but ours")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
