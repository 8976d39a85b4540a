"""A short storm of kills; `bench/kill.py` makes a long one."""

import importlib.util
import random
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "bench" / "kill.py"


@pytest.fixture(scope="module")
def kill():
    spec = importlib.util.spec_from_file_location("kill", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_kills_at_random_moments_lose_and_double_nothing(kill, tmp_path):
    with kill.scripted(tmp_path, random.Random(7)) as server:
        killing = kill.Killing(["run", "--cases", "math/mod-ladder,reasoning/shell-game/L[12].*,coding/upset-cost/L1.1"], tmp_path, 2.0)
        figures = kill.storm(killing, 5, random.Random(7))
    assert figures.broken == []
    assert figures.kills == 5
    assert figures.rows > 0
    assert figures.replies <= len(server.requests)


@pytest.mark.slow
def test_what_is_lost_or_doubled_is_noticed(kill, tmp_path):
    with kill.scripted(tmp_path, random.Random(7)):
        killing = kill.Killing(["run", "--cases", "math/*/L1.*"], tmp_path, 0.0)
        kill.storm(killing, 1, random.Random(7))
    (log,) = tmp_path.glob("results-1/runs/*/log.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    attempt = next(line for line in lines if b'"type":"attempt"' in line)
    verdict = next(line for line in lines if b'"type":"verdict"' in line)
    for damage, words in (
        ([*lines, attempt], "2 attempts with a reply"),
        ([line for line in lines if line != attempt], "0 attempts with a reply"),
        ([line for line in lines if line != verdict], "said to be done and not in the log"),
        ([*lines, b"{torn\n"], "log.jsonl line"),
    ):
        log.write_bytes(b"".join(damage))
        figures = kill.Figures()
        kill._check(tmp_path / "results-1", [case_of(verdict)], figures)
        assert any(words in problem for problem in figures.broken), words
    figures = kill.Figures()
    logs = {log: b"".join(lines)}
    log.write_bytes(b"".join(lines[:-1]))
    kill._compare(logs, tmp_path / "results-1", figures)
    assert figures.broken == [f"{log}: rows that stood in it are gone"]


def case_of(verdict):
    return verdict.split(b'"case_id":"')[1].split(b'"')[0].decode()
