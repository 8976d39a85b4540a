import json

import endpoint
import pytest

from crucibleforge.config import load


def test_discover_lists_what_a_server_offers_and_stars_what_is_registered(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: endpoint.listing("other", "fake")) as server:
        configure(server.url)
        ended = crucible("models", "discover", "p")
    assert ended.code == 0
    assert ended.out == "    other\n  * fake\n"
    assert ended.err == "2 models on p (* = in models.yaml)\n"


def test_discover_asks_every_provider_and_is_content_with_one(crucible, configure, refusing_url):
    with endpoint.serving(lambda _: (), lambda: endpoint.listing("one")) as server:
        configure(server.url, provider=f"  down: {{base_url: '{refusing_url}'}}\n  file: {{type: llamacpp}}\n")
        ended = crucible("models", "discover")
    assert (ended.code, ended.out) == (0, "    one\n")
    assert ended.err == (
        "1 models on p (* = in models.yaml)\n"
        f"down: no server at {refusing_url} (connection refused)\n"
        "0 models on down (* = in models.yaml)\n"
    )


def test_discover_that_finds_nothing_ends_with_1(crucible, configure):
    with endpoint.serving(lambda _: (), endpoint.listing) as server:
        configure(server.url)
        ended = crucible("models", "discover")
    assert (ended.code, ended.out, ended.err) == (1, "", "0 models on p (* = in models.yaml)\n")


def test_discover_says_that_a_key_is_wanted(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: endpoint.status(401, {"error": {"message": "no"}})) as server:
        configure(server.url)
        ended = crucible("models", "discover", "p")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "p: reachable, but it wants an API key (HTTP 401)\n0 models on p (* = in models.yaml)\n"


def test_discover_as_json_holds_every_provider(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: endpoint.listing("a", "b")) as server:
        configure(server.url)
        ended = crucible("models", "discover", "--json")
    assert json.loads(ended.out) == {"p": {"state": "up", "models": ["a", "b"], "detail": ""}}
    assert (ended.code, ended.err) == (0, "")


def test_a_name_that_a_server_gives_steers_nothing(crucible, configure):
    with endpoint.serving(lambda _: (), lambda: endpoint.listing("a\x1b[31m\nb")) as server:
        configure(server.url)
        assert crucible("models", "discover").out == "    a [31m b\n"


@pytest.mark.parametrize(
    ("provider", "err"),
    [
        ("q", "error: unknown provider 'q'\nhint: providers stand in models.yaml\n"),
        (
            "file",
            (
                "error: provider 'file' has no server to ask\n"
                "hint: give one a `base_url`, for example `http://localhost:8080/v1`\n"
            ),
        ),
    ],
)
def test_a_provider_that_cannot_be_asked_is_refused(crucible, configure, provider, err):
    configure("http://h/v1", provider="  file: {type: llamacpp}\n")
    ended = crucible("models", "discover", provider)
    assert (ended.code, ended.out, ended.err) == (2, "", err)


@pytest.mark.parametrize("words", [["discover"], ["add", "a", "p", "m"]])
def test_without_a_configuration_there_is_nothing_to_do(crucible, words):
    ended = crucible("models", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: there is no models.yaml\nhint: `crucibleforge config --init` writes a starter\n"


def test_add_writes_an_entry_and_says_what_next(crucible, configure):
    path = configure("http://h/v1")
    words = ["--context-length", "4096", "--price-in", "0.5", "--price-out", "2", "--tags", "small,fast"]
    ended = crucible("models", "add", "mine", "p", "vendor/m", *words)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "added 'mine' to models.yaml; `crucibleforge run --models mine` asks it\n"
    entry = load(path).models[-1]
    assert (entry.name, entry.provider, entry.model_id, entry.context_length) == ("mine", "p", "vendor/m", 4096)
    assert (entry.price.input, entry.price.output, entry.tags) == (0.5, 2.0, ("small", "fast"))


@pytest.mark.parametrize(
    ("words", "err"),
    [
        (
            ["fake", "p", "m"],
            (
                "error: models.yaml: models[1].name: 'fake' is taken\n"
                "hint: names differ in more than upper and lower case; `builtin` is ours\n"
            ),
        ),
        (["new", "q", "m"], "error: unknown provider in models.yaml: models[1] 'q'\nhint: known: p\n"),
        (
            ["a b", "p", "m"],
            "error: models.yaml: models[1].name: 'a b' cannot be a file name\nhint: use letters, digits, `.`, `_` and `-`\n",
        ),
        (
            ["new", "p", "m", "--price-in", "1"],
            "error: one price without the other\nhint: give both `--price-in` and `--price-out`\n",
        ),
        (
            ["new", "p", "m", "--context-length", "0"],
            "error: Invalid value for '--context-length': 0 is not in the range x>=1\nhint: `crucibleforge models add --help`\n",
        ),
    ],
)
def test_add_refuses_what_would_not_be_valid_and_leaves_the_file(crucible, configure, words, err):
    path = configure("http://h/v1")
    before = path.read_bytes()
    ended = crucible("models", "add", *words)
    assert (ended.code, ended.out, ended.err) == (2, "", err)
    assert path.read_bytes() == before
