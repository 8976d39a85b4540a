"""End runs in every bad way there is, start the same command again, and see whether anything is lost or doubled.

    python bench/durability.py [STORY ...] [--seed N] [--scale SHARE]

Stories: `kill`, `int`, `term`, `hup` (that signal at random moments), `calls` (each system call that touches the
results fails once or kills the process), `limit` (files may grow no further), `full` (a small disk; needs root); all
without a name. The laws are those of `bench/kill.py`, and: the final report equals that of an undisturbed run apart
from its time; a signal ends a run within two seconds; what ends a run is said in one line, never in a traceback. Needs
a source checkout. Exit code 1 when a law was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kill
import msgspec

from crucibleforge.cli._board import gather
from crucibleforge.config import load
from crucibleforge.store.folder import all_runs

check, compare, ACKNOWLEDGED = kill._check, kill._compare, kill._ACKNOWLEDGED  # noqa: SLF001 - the same laws hold here
SIGNALS = {"kill": signal.SIGKILL, "int": signal.SIGINT, "term": signal.SIGTERM, "hup": signal.SIGHUP}
TRIALS = {"kill": 200, "int": 50, "term": 50, "hup": 50, "limit": 20, "full": 20}
WORDS = ("run", "--categories", "math,reasoning,coding")
FEW = ("run", "--cases", "math/*/L1.*")
CALLS = ("write", "fdatasync", "fsync", "open", "rename", "replace", "mkdir", "ftruncate")
WAYS = ("ENOSPC", "EIO", "EINTR", "kill", "kill-after")
WRITE_WAYS = ("short", "short-full", "kill-half")
_LEAVE_S, _FINISH_S = 2.0, 300.0
_DISK_BYTES, PAGE_BYTES = 256 * 1024, 4096

# Runs before anything of ours is imported: counts the calls that touch the results, and spoils one of them.
PRELUDE = r"""
import atexit, builtins, errno, io, json, os, signal, sys
spoilt, number, way, place, tally = os.environ["SPOIL"].split("|")
counts, state = {}, {"full": False}
def touches(name, first):
    try:
        path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else os.path.abspath(os.fspath(first))
        return path.startswith(place)
    except (OSError, TypeError):
        return False
def failure(code, first):
    number = getattr(errno, code)
    return OSError(number, os.strerror(number), *(() if isinstance(first, int) else (os.fspath(first),)))
def wrap(module, name, label):
    real = getattr(module, name)
    def call(first, *rest, **named):
        if not touches(label, first):
            return real(first, *rest, **named)
        counts[label] = counts.get(label, 0) + 1
        if state["full"] and label == "write":
            raise failure("ENOSPC", first)
        if (label, counts[label]) != (spoilt, int(number)):
            return real(first, *rest, **named)
        if way in ("short", "short-full", "kill-half"):
            done = real(first, rest[0][: max(1, len(rest[0]) // 2)])
            state["full"] = way == "short-full"
        elif way == "kill-after":
            done = real(first, *rest, **named)
        elif way != "kill":
            raise failure(way, first)
        if way.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    setattr(module, name, call)
for name in ("write", "fdatasync", "fsync", "open", "rename", "replace", "mkdir", "ftruncate"):
    wrap(os, name, name)
wrap(io, "open", "open")
builtins.open = io.open
atexit.register(lambda: tally and open(tally, "w").write(json.dumps(counts)))
"""
LIMIT = r"""
import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
most = int(os.environ["MOST_BYTES"])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
"""


@dataclass(frozen=True)
class Ground:
    """Where a story plays: a folder with a models.yaml, the command, an undisturbed run's report and duration."""

    folder: Path
    words: Sequence[str]
    report: object
    took_s: float


@dataclass
class Tale:
    """What came of a story."""

    name: str
    trials: int = 0
    bad_ends: int = 0
    slowest_s: float = 0.0
    early: int = 0
    figures: kill.Figures = field(default_factory=kill.Figures)

    def text(self) -> str:
        """The figures for people."""
        known = self.figures
        ends = f"{self.name}: {self.trials} trials, {self.bad_ends} ended early"
        if self.slowest_s:
            ends += f", {self.slowest_s:.2f} s after the signal at most, {self.early} without a word as it was too soon"
        rows = f"{known.runs} runs finished, {known.rows} rows, {known.acknowledged} acknowledged"
        laws = f"{known.torn} torn lines set aside, {len(known.broken)} laws broken"
        return "\n".join([f"{ends}; {rows}, {laws}", *known.broken[:20]])


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code and what it wrote to stderr."""

    code: int
    said: bytes


def begun(ground: Ground, results: Path, said, prelude: str = "", **environment: str) -> subprocess.Popen[bytes]:
    """Start the command, after a prelude if one is given."""
    program = (sys.executable, "-c", f"{prelude}\n{kill.PROGRAM[-1]}")
    command = (*program, *ground.words, "--results", str(results))
    null, given = subprocess.DEVNULL, os.environ | environment
    return subprocess.Popen(command, cwd=ground.folder, stdin=null, stdout=null, stderr=said, env=given)


def whole(ground: Ground, results: Path, prelude: str = "", **environment: str) -> Ended:
    """Run the command to whatever end it comes to."""
    with tempfile.TemporaryFile() as said:
        process = begun(ground, results, said, prelude, **environment)
        code = process.wait(_FINISH_S)
        said.seek(0)
        return Ended(code, said.read())


def report(ground: Ground, results: Path) -> object:
    """The report of a results folder, without its time."""
    made = msgspec.to_builtins(gather(results, load(ground.folder / "models.yaml")))
    return {key: value for key, value in made.items() if key != "generated"}


class Run:
    """One run from its first start to its end, through as many early ends as the story has."""

    def __init__(self, ground: Ground, tale: Tale, results: Path) -> None:
        self.ground = ground
        self.tale = tale
        self.results = results
        self._acknowledged: set[str] = set()
        self._logs: dict[Path, bytes] = {}

    def broke(self, what: str, said: bytes = b"") -> None:
        """Note a broken law."""
        self.tale.figures.broken.append(f"{self.results.name}: {what} {said[-500:].decode(errors='replace')}".strip())

    def look(self, said: bytes) -> None:
        """After an end, early or not: what was acknowledged, and whether the log still begins with what it held."""
        self._acknowledged |= {match.decode() for match in ACKNOWLEDGED.findall(said)}
        compare(self._logs, self.results, self.tale.figures)

    def finish(self) -> None:
        """Undisturbed at last: it must end well, with all rows once and the report that it would have had anyway."""
        ended = whole(self.ground, self.results)
        self.look(ended.said)
        self.close(ended)

    def close(self, ended: Ended) -> None:
        """Check a run that is done."""
        if ended.code:
            self.broke(f"ended with {ended.code}", ended.said)
        self.tale.figures.runs += 1
        self.tale.figures.acknowledged += len(self._acknowledged)
        check(self.results, self._acknowledged, self.tale.figures)
        if not ended.code and report(self.ground, self.results) != self.ground.report:
            self.broke("the report differs from that of an undisturbed run")

    def early(self, ended: Ended, allowed: set[int]) -> None:
        """Check an end that the story brought about, or that it failed to bring about (0)."""
        self.tale.trials += 1
        self.tale.bad_ends += ended.code != 0
        if ended.code not in allowed | {0}:
            self.broke(f"ended with {ended.code}", ended.said)
        if b"Traceback" in ended.said:
            self.broke("a traceback", ended.said)
        if ended.code > 0 and b"error: " not in ended.said:
            self.broke(f"ended with {ended.code} and no word about it", ended.said)
        self.look(ended.said)


def by_signal(ground: Ground, name: str, trials: int, draw: random.Random) -> Tale:
    """Send a signal at random moments; a run that gets done in between is checked and another one begun."""
    tale, number, run = Tale(name), 0, None
    while tale.trials < trials:
        number += 1
        run = run or Run(ground, tale, ground.folder / f"{name}-{number}")
        with _heeded(SIGNALS[name]):
            ended = _signalled(run, SIGNALS[name], draw.uniform(0, ground.took_s))
        if ended is not None:
            run.close(ended)
            run = None
    if run is not None:
        run.finish()
    return tale


@contextmanager
def _heeded(number: signal.Signals) -> Iterator[None]:
    """Not ignored by what is started here, as it would be when we run behind a shell's `&` or `nohup`."""
    before = signal.getsignal(number)
    if before is not signal.SIG_IGN:
        yield
        return
    signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


def _signalled(run: Run, number: signal.Signals, after_s: float) -> Ended | None:
    """How the run ended by itself; None if the signal ended it."""
    with tempfile.TemporaryFile() as said:
        process = begun(run.ground, run.results, said)
        try:
            code = process.wait(after_s)
            is_done = True
        except subprocess.TimeoutExpired:
            code = _ended_by(run, process, number)
            is_done = code == 0
        said.seek(0)
        ended = Ended(code, said.read())
    run.look(ended.said)
    # Until the program has its own handlers a signal does what it does to any: no word, and the signal's own code.
    if not is_done and number != signal.SIGKILL and code == -number:
        run.tale.early += 1
    elif b"Traceback" in ended.said or (code > 0 and b"error: stopped" not in ended.said):
        run.broke("a traceback, or no word", ended.said)
    return ended if is_done else None


def _ended_by(run: Run, process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    below = psutil.Process(process.pid).children(recursive=True)
    run.tale.trials += 1
    began = monotonic()
    process.send_signal(number)
    code = process.wait(_FINISH_S)
    took_s = monotonic() - began
    run.tale.bad_ends += code != 0
    run.tale.slowest_s = max(run.tale.slowest_s, took_s)
    if took_s > _LEAVE_S:
        run.broke(f"left {took_s:.1f} s after {number.name}")
    if code not in {0, 128 + number, -number}:
        run.broke(f"ended with {code} after {number.name}")
    for left in psutil.wait_procs(below, timeout=10.0)[1]:
        if left.is_running() and left.status() != psutil.STATUS_ZOMBIE:
            run.broke(f"left behind: {' '.join(left.cmdline())[:200]}")
            left.kill()
    return code


def by_call(ground: Ground, share: float, draw: random.Random) -> Tale:
    """Spoil each system call that touches the results, in each way, once."""
    tale = Tale("calls")
    tally = ground.folder / "tally"
    place = ground.folder / "calls-0"
    whole(ground, place, PRELUDE, SPOIL=f"none|0|none|{place}|{tally}")
    counts = json.loads(tally.read_text(encoding="ascii"))
    spoils = [
        (call, number, way)
        for call in CALLS
        for number in range(1, counts.get(call, 0) + 1)
        for way in (*WAYS, *(WRITE_WAYS if call == "write" else ()))
    ]
    for index, (call, number, way) in enumerate(draw.sample(spoils, round(share * len(spoils))), start=1):
        place = ground.folder / f"calls-{index}-{call}-{number}-{way}"
        run = Run(ground, tale, place)
        run.early(whole(ground, place, PRELUDE, SPOIL=f"{call}|{number}|{way}|{place}|"), {1, 2, -signal.SIGKILL})
        run.finish()
    return tale


def by_limit(ground: Ground, trials: int, draw: random.Random) -> Tale:
    """No file may grow beyond a random size; the next time they may."""
    tale = Tale("limit")
    (undisturbed,) = all_runs(ground.folder / "undisturbed")
    most = max(path.stat().st_size for path in undisturbed.folder.iterdir())
    for number in range(1, trials + 1):
        place = ground.folder / f"limit-{number}"
        run = Run(ground, tale, place)
        run.early(whole(ground, place, LIMIT, MOST_BYTES=str(draw.randrange(0, most))), {1, 2})
        run.finish()
    return tale


def by_full_disk(ground: Ground, trials: int, draw: random.Random) -> Tale:
    """A disk of 256 KiB on which something else lies; the next time it does not."""
    tale = Tale("full")
    for _ in range(trials):
        # A page for each file: two locks, plan, cases, log, and no more than one too many.
        full_disk(ground, tale, draw.randrange(0, 7) * PAGE_BYTES)
    return tale


def full_disk(ground: Ground, tale: Tale, room_bytes: int) -> Ended:
    """One trial with this much room."""
    disk = ground.folder / f"disk-{tale.trials}"
    with _mounted(disk):
        (disk / "filler").write_bytes(bytes(_DISK_BYTES - room_bytes))
        run = Run(ground, tale, disk / "results")
        ended = whole(ground, run.results)
        run.early(ended, {1, 2})
        (disk / "filler").unlink()
        run.finish()
    return ended


@contextmanager
def _mounted(disk: Path) -> Iterator[None]:
    disk.mkdir()
    subprocess.run(("mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "none", disk), check=True)
    try:
        yield
    finally:
        subprocess.run(("umount", disk), check=True)


@contextmanager
def prepared(folder: Path, words: Sequence[str], draw: random.Random) -> Iterator[Ground]:
    """A scripted server, its models.yaml in `folder`, and an undisturbed run."""
    with kill.scripted(folder, draw) as server:
        provider = f"providers: {{p: {{base_url: '{server.url}', concurrency: 2}}}}\n"
        model = "models: [{name: fake, provider: p, model_id: fake, thinking: false}]\n"
        (folder / "models.yaml").write_text(provider + model, encoding="ascii")
        ground = Ground(folder, words, None, 0.0)
        began = monotonic()
        ended = whole(ground, folder / "undisturbed")
        assert ended.code == 0, ended.said.decode()
        yield Ground(folder, words, report(ground, folder / "undisturbed"), monotonic() - began)


def told(name: str, folder: Path, share: float, draw: random.Random) -> Tale:
    """Play one story in an empty folder; `share` of the trials that it has."""
    with prepared(folder, FEW if name in {"calls", "full"} else WORDS, draw) as ground:
        trials = max(1, round(share * TRIALS.get(name, 0)))
        match name:
            case "calls":
                return by_call(ground, share, draw)
            case "limit":
                return by_limit(ground, trials, draw)
            case "full":
                return by_full_disk(ground, trials, draw)
            case _:
                return by_signal(ground, name, trials, draw)


def main() -> int:
    """Parse, play, print."""
    stories = (*SIGNALS, "calls", "limit", "full")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("stories", nargs="*", metavar="STORY", help=", ".join(stories))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the trials, 0 to 1")
    given = parser.parse_args()
    for name in [name for name in os.environ if name in {"CRUCIBLEFORGE_CONFIG", "CRUCIBLEFORGE_RESULTS"}]:
        del os.environ[name]
    broken = 0
    for name in given.stories or stories:
        if name == "full" and os.geteuid() != 0:
            print("full: needs root, left out")
            continue
        began = monotonic()
        with tempfile.TemporaryDirectory() as folder:
            tale = told(name, Path(folder).resolve(), given.scale, random.Random(given.seed))
        print(f"{tale.text()} ({monotonic() - began:.0f} s)", flush=True)
        broken += len(tale.figures.broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
