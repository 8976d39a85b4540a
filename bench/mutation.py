"""Of the small faults that cosmic-ray can plant in a module, one at a time, how many do its tests notice?

    pip install cosmic-ray
    python bench/mutation.py sandbox/_answers                 # against tests/sandbox/test_answers.py
    python bench/mutation.py sandbox/_driver --sample 150 --also sandbox/test_play.py
    python bench/mutation.py sandbox/_driver --again OUTPUT   # only those that survived in an earlier output

Works on a copy, so the tree stays as it is, and in a process namespace of its own (unshare(1)), so that a mutant that
kills what it should not reaches nobody else. Each mutant is tested in a fork of a process that has loaded all but our
own modules; one test that fails kills it, and so does ten times the time of the unmutated run. Beside cosmic-ray's
operators a statement is replaced by `pass`. What only touches an annotation is left out, as it is never evaluated.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import psutil
import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from crucibleforge.stats.intervals import wilson

ROOT = Path(__file__).parent.parent
SHORTEST_S = 20.0
"""The least that a mutant may take, for a machine with other work to do."""
CONTROLS = 5
DELETED = ast.Assign | ast.AugAssign | ast.Delete | ast.Expr | ast.Raise


@dataclass(frozen=True)
class Mutant:
    key: str
    line: int
    text: str


def mutants(source: str) -> list[Mutant]:
    """Every one that is valid Python, each text once."""
    found = {source: Mutant("", 0, source)}
    for one in (*by_cosmic_ray(source), *by_deletion(source)):
        try:
            ast.parse(one.text)
        except SyntaxError:
            continue
        found.setdefault(one.text, one)
    return list(found.values())[1:]


def by_cosmic_ray(source: str) -> Iterator[Mutant]:
    tree = get_ast(source)
    spans = annotations(source)
    for name in sorted(operator_names()):
        kind = get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        starts = [start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in spans):
                text = mutate_code(source, kind(), occurrence)
                yield Mutant(f"{name.removeprefix('core/')}.{occurrence}", start[0], text)


def annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    nodes = [
        node
        for parent in ast.walk(ast.parse(source))
        for node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        if node
    ]
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in nodes]


def by_deletion(source: str) -> Iterator[Mutant]:
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, DELETED) or isinstance(getattr(node, "value", None), ast.Constant):
            continue
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) for target in node.targets):
            continue  # whoever reads the name next would notice
        first, last = node.lineno - 1, node.end_lineno
        text = "".join((*lines[:first], " " * node.col_offset + "pass\n", *lines[last:]))
        yield Mutant(f"Delete.{node.lineno}", node.lineno, text)


def run(arguments: list[str], limit_s: float, log: Path) -> tuple[bool, float]:
    """Run tests in a fork; whether they passed in time, and the seconds they took."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        quiet = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        code = 9
        try:
            code = pytest.main(arguments)
        finally:
            os._exit(code)
    ended = 0
    while not ended and time.monotonic() - begun < limit_s:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.005)
    for stray in psutil.Process().children(recursive=True):
        try:
            stray.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
    return bool(ended) and status == 0, time.monotonic() - begun


def preload(arguments: list[str], copy: Path, log: Path) -> None:
    """Load what the tests need; forget again what lies in the copy, where the mutants will be."""
    with log.open("w") as quiet:
        out, sys.stdout = sys.stdout, quiet
        pytest.main(["--collect-only", *arguments])
        sys.stdout = out
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(copy)) or name.startswith("crucibleforge"):
            del sys.modules[name]


def chosen(arguments: argparse.Namespace, source: str) -> list[Mutant]:
    every = mutants(source)
    if arguments.again:
        keys = set(re.findall(r"^survived (\S+)", Path(arguments.again).read_text(encoding="utf-8"), re.MULTILINE))
        return [one for one in every if one.key in keys]
    if arguments.sample and arguments.sample < len(every):
        return sorted(random.Random(arguments.seed).sample(every, arguments.sample), key=every.index)
    return every


def changed(one: Mutant, source: str) -> str:
    """The first line that differs, as it is and as it was made."""
    pairs = zip(source.splitlines(), one.text.splitlines(), strict=False)
    was, now = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return f"{was.strip()}  ->  {now.strip()}"


def enclose() -> NoReturn:
    """Start again as the first process of a namespace: all orphans are then ours to end."""
    # The driver ends what it has started by `kill(-1)` if it is pid 1 itself. A mutant does so anywhere, and without
    # a namespace that would end all that this user runs.
    user = ("--user", "--map-root-user") if os.geteuid() else ()
    space = ("unshare", *user, "--pid", "--fork", "--kill-child", "--mount-proc")
    os.execvp(space[0], [*space, sys.executable, *sys.argv])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="as sandbox/_answers")
    parser.add_argument("--also", action="append", default=[], help="a further test file, as sandbox/test_play.py")
    parser.add_argument("--sample", type=int, help="that many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", help="an earlier output: only its survivors")
    parser.add_argument("--count", action="store_true", help="only say how many there are")
    parser.add_argument("--limit", type=float, help="seconds that a mutant may take; else ten times what is usual")
    parser.add_argument("--fast", action="store_true", help="without the tests that are marked slow")
    arguments = parser.parse_args()

    if os.getpid() != 1:
        enclose()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        copy = Path(folder) / "copy"
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        os.chdir(copy)
        sys.path.insert(0, str(copy / "src"))
        os.environ["PYTHONPATH"] = str(copy / "src")
        examine(arguments, copy)


def examine(arguments: argparse.Namespace, copy: Path) -> None:
    target = copy / "src/crucibleforge" / f"{arguments.module}.py"
    source = target.read_text(encoding="utf-8")
    every = chosen(arguments, source)
    if arguments.count:
        print(len(every))
        return
    package, _, name = arguments.module.rpartition("/")
    files = [f"{package}/test_{name.lstrip('_')}.py", *arguments.also]
    chosen_tests = ["-m", "not slow"] if arguments.fast else []
    command = ["-x", "-p", "no:cacheprovider", *chosen_tests, *(str(copy / "tests" / file) for file in files)]
    log = copy / "log"
    preload(command, copy, log)
    run(command, math.inf, log)  # writes the byte code
    sys.dont_write_bytecode = True
    for stale in target.parent.glob(f"__pycache__/{name}.*"):
        stale.unlink()
    passed, took_s = run(command, math.inf, log)
    if not passed:
        sys.exit(f"the tests fail as it is:\n{log.read_text()}")
    limit_s = arguments.limit or max(SHORTEST_S, 10 * took_s)
    print(f"{len(every)} mutants of {arguments.module}, {took_s:.1f} s unmutated", flush=True)
    killed = 0
    for number, one in enumerate(every, 1):
        target.write_text(one.text, encoding="utf-8")
        lives, took_s = run(command, limit_s, log)
        killed += not lives
        if lives:
            print(f"survived {one.key} line {one.line}: {changed(one, source)}", flush=True)
        elif took_s >= limit_s:
            print(f"too slow {one.key} line {one.line}: {changed(one, source)}", flush=True)
        print(f"{number}/{len(every)}", end="\r", file=sys.stderr)
    target.write_text(source, encoding="utf-8")
    failed = sum(not run(command, limit_s, log)[0] for _ in range(CONTROLS))
    print(f"{failed} of {CONTROLS} unmutated runs failed")
    low, high = wilson(killed, len(every))
    print(f"{killed} of {len(every)} killed: {killed / len(every):.1%} ({low:.1%} to {high:.1%} by 95%)")


if __name__ == "__main__":
    main()
