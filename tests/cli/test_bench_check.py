import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_list_always_holds_the_model_that_needs_no_server(bench):
    code, out, _ = bench("--list")
    assert code == 0
    assert out.splitlines()[-1].split()[0] == "builtin"


@pytest.mark.slow
def test_a_file_that_is_in_place_is_ok_with_its_size(bench, builtin_gguf):
    code, out, _ = bench("--check", str(builtin_gguf), "--json")
    seen = {one["what"]: one for one in json.loads(out)}
    assert code == 0
    assert seen["file"]["detail"] == "0.10 GB, Q4_1"
    assert seen["sandbox"]["is_ok"]
    assert seen["memory"]["is_ok"]


def test_the_schema_that_lies_in_the_docs_is_that_of_the_file(bench):
    code, out, _ = bench("--schema")
    assert code == 0
    assert out == (ROOT / "docs" / "bench-llm.schema.json").read_text()


def test_what_is_missing_is_named_and_the_exit_says_so(bench, refusing_url):
    code, out, _ = bench("--check", "m", "--url", refusing_url, "--speed-only")
    assert code == 1
    assert [line.split()[3] for line in out.splitlines()[2:3]] == ["MISSING"]
