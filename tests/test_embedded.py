"""The main job on the real model: no server, no key, no configuration."""

import json
from pathlib import Path

import pytest

from crucibleforge.cli.main import status
from crucibleforge.store.folder import all_runs

SHORT = "tooluse/exact-order/L1.1"
CASES = f"math/mod-ladder/L1.1,{SHORT}"


@pytest.mark.slow
@pytest.mark.usefixtures("builtin_gguf")
def test_the_builtin_model_is_really_asked_counted_timed_and_marked(capsys):
    assert status(["all", "--cases", CASES]) == 0
    card = json.loads(Path("results/report.json").read_bytes())["cards"][0]
    assert card["speed"]["tok_per_s"] > 0
    assert card["speed"]["n"] > 0
    assert min(card["prompt_tokens"], card["completion_tokens"]) > 0
    rates = [score["rate"] for score in card["categories"]]
    passed, total = (sum(rate[key] for rate in rates) for key in ("passed", "total"))
    assert total == 2
    # So small a model passes next to nothing; each row that it fails must say why.
    assert len(card["failures"]) == total - passed
    assert all(failure["why"] and failure["outcome"] != "error" for failure in card["failures"])
    assert "partial (2/" in capsys.readouterr().out


@pytest.mark.slow
def test_a_gguf_file_is_asked_and_its_window_is_read_from_the_server(builtin_gguf, tmp_path):
    other = tmp_path / "My Model.gguf"
    other.symlink_to(builtin_gguf)
    assert status(["run", "--models", str(other), "--cases", SHORT]) == 0
    run = next(all_runs(Path("results")))
    assert [target.label for target in run.plan.targets] == ["my-model"]
    events, _ = run.events()
    assert events[0].served.context_length == 8192
    timings = events[1].replies[0]
    assert timings.server_timings.predicted_n == timings.usage.completion_tokens


@pytest.mark.slow
@pytest.mark.usefixtures("builtin_gguf")
def test_cases_over_the_configured_window_are_skipped_not_failed(builtin_gguf):
    Path("models.yaml").write_text(
        "providers:\n  here: {type: llamacpp}\nmodels:\n"
        f"  - {{name: small, provider: here, path: {builtin_gguf}, context_length: 1024}}\n",
        encoding="utf-8",
    )
    assert status(["run", "--cases", f"{SHORT},longctx/*/L1.1"]) == 0
    rows = next(all_runs(Path("results"))).rows()
    assert [row.verdict.outcome for row in rows if row.case.category == "longctx"] == ["skipped"] * 3
    assert [row.verdict.outcome for row in rows if row.case.category == "tooluse"] != ["skipped"]
