"""Kill a run with SIGKILL at random moments, start the same command again, and see whether anything is lost or doubled.

    python bench/kill.py [KILLS] [--seed N] [--longest SECONDS] [--embedded] [--cases LIST]

Against a scripted endpoint that knows every answer and takes a little while, or with `--embedded` on the built-in
model. Whatever a run has said to be done, and every whole row that stood in its log before a kill, must be there at
the end; every job has one attempt with a reply and one verdict; every line can be read; no process is left behind.
Needs a source checkout. Exit code 1 when one of these laws was broken.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

import endpoint
import oracle

from crucibleforge.store.folder import Run, all_runs
from crucibleforge.types import Attempt, Healed, Verdict

PROGRAM = (sys.executable, "-c", "from crucibleforge.cli.main import main; main()")
SLOWEST_S = 0.1
"""How long the scripted endpoint takes for a reply at most."""
_ACKNOWLEDGED = re.compile(rb"^\[[^\]]+\] \d+/\d+ (\S+): \w+", re.MULTILINE)
_FINISH_S = 900.0
_ORPHAN_S = 10.0
_SHOWN_BYTES = 500


@dataclass(frozen=True)
class Killing:
    """What is killed: the words after `crucibleforge`, the folder it runs in, how long it may live at most."""

    words: Sequence[str]
    folder: Path
    longest_s: float


@dataclass
class Figures:
    """What was counted, and each law that was broken, in words."""

    kills: int = 0
    runs: int = 0
    rows: int = 0
    replies: int = 0
    acknowledged: int = 0
    kept_bytes: int = 0
    torn: int = 0
    half_made: int = 0
    broken: list[str] = field(default_factory=list)


def storm(killing: Killing, kills: int, draw: random.Random) -> Figures:
    """Kill so often. A run that gets done in between is checked and another one begun; the last one is let finish."""
    figures = Figures()
    while figures.kills < kills:
        _one_run(killing, kills, draw, figures)
    return figures


def _one_run(killing: Killing, kills: int, draw: random.Random, figures: Figures) -> None:
    results = killing.folder / f"results-{figures.runs + 1}"
    acknowledged: set[str] = set()
    logs: dict[Path, bytes] = {}
    code: int | None = None
    while code is None:
        limit_s = draw.uniform(0, killing.longest_s) if figures.kills < kills else _FINISH_S
        code, said = _lived(killing, results, limit_s, figures)
        acknowledged |= {match.decode() for match in _ACKNOWLEDGED.findall(said)}
        figures.kills += code is None
        _compare(logs, results, figures)
    if code:
        figures.broken.append(f"{results.name}: ended with {code}: {said[-_SHOWN_BYTES:].decode(errors='replace')}")
    figures.runs += 1
    figures.acknowledged += len(acknowledged)
    _check(results, acknowledged, figures)


def _lived(killing: Killing, results: Path, limit_s: float, figures: Figures) -> tuple[int | None, bytes]:
    """Exit code, None if it was killed, and what it wrote to stderr."""
    with tempfile.TemporaryFile() as said:
        command = (*PROGRAM, *killing.words, "--results", str(results))
        process = subprocess.Popen(
            command, cwd=killing.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
            _kill(process, figures)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        return code, said.read()


def _kill(process: subprocess.Popen[bytes], figures: Figures) -> None:
    below = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(below, timeout=_ORPHAN_S)
    for orphan in alive:
        try:
            if orphan.status() != psutil.STATUS_ZOMBIE:
                figures.broken.append(f"left behind: {' '.join(orphan.cmdline())[:200]}")
                orphan.kill()
        except psutil.NoSuchProcess:
            continue


def _compare(logs: dict[Path, bytes], results: Path, figures: Figures) -> None:
    """Every log must begin with all the whole rows that it had before."""
    for path, before in logs.items():
        now = path.read_bytes() if path.exists() else b""
        if not now.startswith(before):
            figures.broken.append(f"{path}: rows that stood in it are gone")
        figures.kept_bytes += len(before)
    for path in results.glob("runs/*/log.jsonl"):
        text = path.read_bytes()
        logs[path] = text[: text.rfind(b"\n") + 1]


def _check(results: Path, acknowledged: Iterable[str], figures: Figures) -> None:
    figures.half_made += len(list(results.glob("runs/.new-*")))
    runs = list(all_runs(results))
    if len(runs) != 1:
        figures.broken.append(f"{results.name}: {len(runs)} runs instead of one")
    for run in runs:
        figures.broken += [f"{run.folder.name}: {problem}" for problem in _problems(run, set(acknowledged), figures)]


def _problems(run: Run, acknowledged: set[str], figures: Figures) -> Iterator[str]:
    events, unread = run.events()
    rows = run.rows()
    yield from unread
    figures.rows += len(rows)
    figures.torn += sum(isinstance(event, Healed) for event in events)
    figures.replies += sum(len(event.replies) for event in events if isinstance(event, Attempt))
    attempts = Counter(event.job for event in events if isinstance(event, Attempt) and event.failure is None)
    verdicts = Counter(event.job for event in events if isinstance(event, Verdict))
    for row in rows:
        if attempts[row.job] != 1 or verdicts[row.job] != 1:
            yield f"{row.job.case_id}: {attempts[row.job]} attempts with a reply, {verdicts[row.job]} verdicts"
    missing = acknowledged - {job.case_id for job in verdicts}
    if missing:
        yield f"said to be done and not in the log: {', '.join(sorted(missing))}"


def text(figures: Figures, took_s: float) -> str:
    """The figures for people."""
    lines = [
        f"{figures.kills} kills, {figures.runs} runs finished, {figures.rows} rows, {took_s:.0f} s",
        f"{figures.acknowledged} rows said to be done, {figures.kept_bytes:,} bytes of log compared after kills",
        f"{figures.torn} torn last lines set aside, {figures.half_made} half-made run folders left",
        f"{len(figures.broken)} laws broken",
    ]
    return "\n".join([*lines, *figures.broken])


@contextmanager
def scripted(folder: Path, draw: random.Random) -> Iterator[endpoint.Endpoint]:
    """A server whose model knows every answer but takes its time, and a models.yaml in `folder` that names it."""
    right = oracle.answers()

    def answer(request: dict) -> Iterator[endpoint.Step]:
        yield endpoint.Wait, draw.uniform(0, SLOWEST_S)
        yield from right(request)

    with endpoint.serving(answer) as server:
        provider = f"providers: {{p: {{base_url: '{server.url}', concurrency: 2}}}}\n"
        (folder / "models.yaml").write_text(f"{provider}models: [{{name: fake, provider: p, model_id: fake}}]\n")
        yield server


def main() -> int:
    """Parse, storm, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("kills", type=int, nargs="?", default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, help="seconds that a process may live (3, embedded 12)")
    parser.add_argument("--embedded", action="store_true", help="the built-in model instead of a scripted endpoint")
    parser.add_argument("--cases", default="", help="as of `crucibleforge run`")
    given = parser.parse_args()
    cases = ["--cases", given.cases] if given.cases else []
    draw, began = random.Random(given.seed), monotonic()
    for name in [name for name in os.environ if name in {"CRUCIBLEFORGE_CONFIG", "CRUCIBLEFORGE_RESULTS"}]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if given.embedded:
            words = ["run", "--models", "builtin", *(cases or ["--smoke"])]
            figures = storm(Killing(words, folder, given.longest or 12.0), given.kills, draw)
        else:
            with scripted(folder, random.Random(given.seed)) as server:
                figures = storm(Killing(["run", *cases], folder, given.longest or 3.0), given.kills, draw)
                print(f"{len(server.requests)} requests for {figures.replies} replies in the log")
    print(text(figures, monotonic() - began))
    return 1 if figures.broken else 0


if __name__ == "__main__":
    sys.exit(main())
