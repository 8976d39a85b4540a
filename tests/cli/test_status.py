import json
import re
from collections import Counter

import endpoint
import pytest

from crucibleforge.sandbox import describe
from crucibleforge.suite.expand import revision, suite

CANARY = "sk-canary-0123456789"
KEYED = "  keyed: {base_url: 'URL', api_key_env: CANARY_KEY, concurrency: 8}\n"


@pytest.fixture
def servers(configure):
    """A server that answers, and one that wants a key."""
    with (
        endpoint.serving(lambda _: ()) as up,
        endpoint.serving(lambda _: (), lambda: endpoint.status(401, {"error": CANARY})) as keyed,
    ):
        more = KEYED.replace("URL", keyed.url) + "  down: {base_url: 'http://127.0.0.1:1/v1'}\n"
        configure(up.url, provider=more)
        yield up, keyed


def counts():
    return ", ".join(f"{name} {count}" for name, count in Counter(case.category for case in suite()).items())


def test_it_shows_everything_in_one_page(crucible, servers):
    up, keyed = servers
    ended = crucible("status")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[:3] == [
        f"suite revision: {revision(suite())}",
        "configuration:  models.yaml",
        "results:        results",
    ]
    assert re.fullmatch(r"sandbox:        bwrap\S* \(.+\), .+", lines[3])
    assert lines[4:] == [
        "providers:",
        f"  {'p':<16} openai    {up.url:<36} UP   conc=auto",
        f"  {'keyed':<16} openai    {keyed.url:<36} UP   conc=8 key: $CANARY_KEY (NOT SET)",
        "    reachable, but it wants an API key (HTTP 401)",
        f"  {'down':<16} openai    {'http://127.0.0.1:1/v1':<36} DOWN conc=auto",
        "    no server at http://127.0.0.1:1/v1 (connection refused)",
        "models:",
        f"  [enabled] {'fake':<20} {'p':<14} fake",
        f"cases: {len(suite())} ({counts()}); smoke subset: {sum(case.smoke for case in suite())}",
    ]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_key_that_is_set_is_never_shown(crucible, servers, monkeypatch, words):
    monkeypatch.setenv("CANARY_KEY", CANARY)
    ended = crucible("status", *words)
    assert ended.code == 0
    assert "$CANARY_KEY (set)" in ended.out
    assert CANARY not in ended.out + ended.err
    assert any(CANARY in head for head in servers[1].headers)


def test_as_json_it_holds_what_a_program_needs(crucible, servers):
    ended = crucible("status", "--json")
    found = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert found["revision"] == revision(suite())
    assert found["sandbox"] == describe()
    assert {one["name"]: one["state"] for one in found["providers"]} == {"p": "UP", "keyed": "UP", "down": "DOWN"}
    assert [(one["name"], one["enabled"]) for one in found["models"]] == [("fake", True)]
    assert sum(found["cases"].values()) == len(suite())


def test_without_a_configuration_it_shows_what_works_all_the_same(crucible):
    ended = crucible("status")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[1] == "configuration:  none (`crucibleforge config --init` writes one)"
    assert "  [enabled] builtin              SmolLM2-135M-Instruct Q4_1, needs no server" in ended.out.splitlines()


def test_it_asks_no_model_and_writes_nothing(crucible, servers, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    crucible("status")
    assert servers[0].requests == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_price_is_shown_with_its_unit(crucible, configure):
    configure(
        "http://127.0.0.1:1/v1",
        more="  - {name: paid, provider: p, model_id: m, enabled: false, price: {input: 0.5, output: 2}}\n",
    )
    assert f"  [off    ] {'paid':<20} {'p':<14} {'m':<28} $0.5/2 per 1M" in crucible("status").out.splitlines()
