from pathlib import Path

import pytest

from crucibleforge.config import (
    Config,
    ModelEntry,
    ProviderEntry,
    SandboxEntry,
    builtin_target,
    entry_target,
    gguf_target,
    load,
    load_profile,
    locate,
    merged,
    parsed,
    provider_target,
    results_folder,
    secret_variables,
    with_profile,
)
from crucibleforge.errors import ConfigError, InputError, UnknownName
from crucibleforge.types import Price, Sampling, Selection

WHOLE = """\
providers:
  p:
    type: openai
    base_url: http://localhost:1/v1/
    api_key_env: SOME_KEY
    concurrency: 4
    headers: {X-Title: forge, Authorization: "Bearer ${SOME_KEY}"}
    extra_body: {a: 1, b: 2}
    timeout: 30
  e: {type: llamacpp}
models:
  - name: one
    provider: p
    model_id: m/one
    context_length: 4096
    price: {input: 0.5, output: 2}
    sampling: {temperature: 0.7, seed: null}
    extra_body: {b: 3}
    tags: [small, "2024"]
  - {name: two, provider: e, path: ~/two.gguf, enabled: false}
judge:
  candidates:
    - {provider: p, model_id: j}
defaults: {context_length: 8192, repeats: 3}
scoring:
  weights: {math: 2}
"""
PROVIDER = "providers: {p: {base_url: 'http://h/v1'}}\n"
MODEL = "models: [{name: a, provider: p, model_id: m}]\n"


def refusal(text: str | bytes) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        parsed(text if isinstance(text, bytes) else text.encode(), "models.yaml")
    assert caught.value.exit_code == 2
    return caught.value.message, caught.value.hint


def test_an_entry_and_its_provider_make_a_target():
    config = parsed(WHOLE.encode(), "models.yaml")
    target = entry_target(config, config.models[0])
    assert (target.label, target.kind, target.model_id, target.base_url) == (
        "one",
        "openai",
        "m/one",
        "http://localhost:1/v1",
    )
    assert (target.api_key_env, target.concurrency, target.timeout_s) == ("SOME_KEY", 4, 30.0)
    assert (target.context_length, target.price) == (4096, Price(0.5, 2.0))
    assert target.sampling == Sampling(temperature=0.7, seed=None)


def test_a_model_overrides_the_extra_fields_of_its_provider():
    config = parsed(WHOLE.encode(), "models.yaml")
    assert entry_target(config, config.models[0]).extra_body == {"a": 1, "b": 3}


def test_a_model_without_a_context_takes_the_default():
    config = parsed(WHOLE.encode(), "models.yaml")
    assert entry_target(config, config.models[1]).context_length == 8192


def test_a_header_keeps_the_name_of_its_secret():
    config = parsed(WHOLE.encode(), "models.yaml")
    assert entry_target(config, config.models[0]).headers["Authorization"] == "Bearer ${SOME_KEY}"


def test_a_path_may_begin_at_home(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    config = parsed(WHOLE.encode(), "models.yaml")
    target = entry_target(config, config.models[1])
    assert (target.path, target.model_id) == ("/home/somebody/two.gguf", "two")


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "providers:\nmodels:\njudge:\ndefaults:\nscoring:\n", "models: []", "{}"]
)
def test_a_file_that_says_nothing_is_the_empty_configuration(text):
    assert parsed(text.encode(), "models.yaml") == Config()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            PROVIDER + "models: [{name: a, provider: p, model_idd: m}]",
            "models.yaml: unknown key 'models[0].model_idd'",
            "did you mean `model_id`?",
        ),
        ("provider: {}", "models.yaml: unknown key 'provider'", "did you mean `providers`?"),
        (
            "defaults: {zzz: 1}",
            "models.yaml: unknown key 'defaults.zzz'",
            "known here: context_length, repeats, stall_timeout_s, thinking_max_tokens_factor, thinking_max_tokens_cap, reasoning_overflow_recovery, no_recovery",
        ),
        (
            "providers: {p: {base_url: 'http://h/v1', sampling: {}}}",
            "models.yaml: unknown key 'providers.p.sampling'",
            "known here: type, base_url, api_key_env, concurrency, headers, extra_body, timeout, verify_model, thinking_max_tokens_factor, thinking_max_tokens_cap",
        ),
        (
            "judge: {candidates: [{provder: p}]}",
            "models.yaml: unknown key 'judge.candidates[0].provder'",
            "did you mean `provider`?",
        ),
        (
            PROVIDER + "models: [{name: a, provider: p, model_id: m, price: {inputs: 1}}]",
            "models.yaml: unknown key 'models[0].price.inputs'",
            "did you mean `input`?",
        ),
        ("1: {}", "models.yaml: unknown key '1'", "known here: providers, models, judge, defaults, scoring, sandbox"),
    ],
)
def test_an_unknown_key_is_named_by_its_path_and_its_nearest_neighbour(text, message, hint):
    assert refusal(text) == (message, hint)


@pytest.mark.parametrize("key", ["api_key", "API_KEY", "token"])
def test_a_literal_key_is_refused_and_not_repeated(key):
    assert refusal(f"providers: {{p: {{base_url: 'http://h/v1', {key}: sk-canary}}}}") == (
        f"models.yaml: unknown key 'providers.p.{key}'",
        "name an environment variable with `api_key_env`; keys are read from the environment only",
    )


@pytest.mark.parametrize("value", ["sk-canary", "sk_live_canary", "canary canary", "A" * 65])
def test_a_key_where_its_name_belongs_is_refused_and_not_repeated(value):
    assert refusal(f"providers: {{p: {{base_url: 'http://h/v1', api_key_env: {value}}}}}") == (
        "models.yaml: providers.p.api_key_env: not the name of a variable",
        "capitals, digits and `_`, for example `MY_API_KEY`; the key itself stays in the environment",
    )


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Api-Key", "X-Auth-Token", "My-Secret", "Cookie"])
def test_a_literal_secret_in_a_header_is_refused_and_not_repeated(name):
    assert refusal(f"providers: {{p: {{base_url: 'http://h/v1', headers: {{{name}: Bearer sk-canary}}}}}}") == (
        f"models.yaml: providers.p.headers.{name}: a literal secret",
        "put it in a variable and write `${NAME}` here",
    )


def test_a_password_in_an_address_is_refused_and_not_repeated():
    assert refusal("providers: {p: {base_url: 'http://me:canary@h/v1'}}") == (
        "models.yaml: providers.p.base_url: a name or password in an address",
        "name the key with `api_key_env`",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: []\nmodels: []\n", "models.yaml line 2: the key 'models' stands twice"),
        ("providers:\n  p: {base_url: a, base_url: b}", "models.yaml line 2: the key 'base_url' stands twice"),
        (
            "models: !!python/object/apply:os.system [id]",
            "models.yaml line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
        ),
        (
            "providers: !!python/name:os.system",
            "models.yaml line 1: could not determine a constructor for the tag 'tag:yaml.org,2002:python/name:os.system'",
        ),
        ("models: [", "models.yaml line 1: expected the node content, but found '<stream end>'"),
        ("a: b: c", "models.yaml line 1: mapping values are not allowed here"),
        ("{[1]: 2}", "models.yaml line 1: a key is no plain word"),
        ("a: 1\n---\nb: 2\n", "models.yaml line 2: but found another document"),
        ("models: *none", "models.yaml line 1: found undefined alias 'none'"),
    ],
)
def test_yaml_beyond_plain_is_refused_with_its_line(text, message):
    assert refusal(text) == (message, "only plain YAML is read, each key once")


@pytest.mark.parametrize(
    "text",
    [
        b"\x00\x01GGUF",
        "models: [é]".encode("latin-1"),
        "models: []".encode("utf-16"),
        b"[" * 1200,
        b"providers: &a {p: {extra_body: *a}}",
    ],
)
def test_what_is_no_yaml_text_at_all_is_refused_in_one_line(text):
    message, hint = refusal(text)
    assert message.startswith("models.yaml: ")
    assert "\n" not in message
    assert hint == "only plain YAML is read"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just words", "models.yaml: Expected `object`, got `str`"),
        ("- a\n- b\n", "models.yaml: Expected `object`, got `array`"),
        ("models: {a: 1}", "models.yaml: Expected `array`, got `object` - at `$.models`"),
        (
            "models: [{provider: p}]",
            "models.yaml: Object missing required field `name` - at `$.models[0]`",
        ),
        ("defaults: {repeats: 0}", "models.yaml: Expected `int` >= 1 - at `$.defaults.repeats`"),
        ("defaults: {repeats: many}", "models.yaml: Expected `int`, got `str` - at `$.defaults.repeats`"),
        ("defaults: {context_length: -1}", "models.yaml: Expected `int` >= 1 - at `$.defaults.context_length`"),
        ("providers: {p: {concurrency: 0}}", "models.yaml: Expected `int` >= 1 - at `$.providers[...].concurrency`"),
        ("providers: {p: {timeout: 0}}", "models.yaml: Expected `float` > 0.0 - at `$.providers[...].timeout`"),
        (
            "models: [{name: a, provider: p, price: {input: -1, output: 0}}]",
            "models.yaml: Expected `float` >= 0.0 - at `$.models[0].price.input`",
        ),
        ("scoring: {weights: {math: -1}}", "models.yaml: Expected `float` >= 0.0 - at `$.scoring.weights[...]`"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_by_its_path(text, message):
    assert refusal(text) == (message, "docs/configuration.md describes every key")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            PROVIDER + "models: [{name: a, provider: q, model_id: m}]",
            "unknown provider in models.yaml: models[0] 'q'",
            "known: p",
        ),
        (
            "providers: {local: {base_url: 'http://h/v1'}}\nmodels: [{name: a, provider: locl, model_id: m}]",
            "unknown provider in models.yaml: models[0] 'locl'",
            "did you mean `local`? known: local",
        ),
        (
            PROVIDER + "judge: {candidates: [{provider: pp, model_id: m}]}",
            "unknown provider in models.yaml: judge.candidates[0] 'pp'",
            "did you mean `p`? known: p",
        ),
        (
            PROVIDER + "models: [{name: a, provider: p}]",
            "models.yaml: models[0]: no model_id",
            "`crucibleforge models discover PROVIDER` lists them",
        ),
        (
            "providers: {e: {type: llamacpp}}\nmodels: [{name: a, provider: e, model_id: m}]",
            "models.yaml: models[0]: no path",
            "a provider of type llamacpp serves a file: `path: model.gguf`",
        ),
        (
            PROVIDER + "models: [{name: ../a, provider: p, model_id: m}]",
            "models.yaml: models[0].name: '../a' cannot be a file name",
            "use letters, digits, `.`, `_` and `-`",
        ),
        (
            PROVIDER + "models: [{name: a, provider: p, model_id: m}, {name: A, provider: p, model_id: n}]",
            "models.yaml: models[1].name: 'A' is taken",
            "names differ in more than upper and lower case; `builtin` is ours",
        ),
        (
            PROVIDER + "models: [{name: Builtin, provider: p, model_id: m}]",
            "models.yaml: models[0].name: 'Builtin' is taken",
            "names differ in more than upper and lower case; `builtin` is ours",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused(text, message, hint):
    assert refusal(text) == (message, hint)


def test_what_programs_may_run_in_is_read():
    text = "sandbox: {python: /opt/python3.12, container: podman, image: 'registry:5000/a/python:3.12@sha256:ab'}"
    assert parsed(text.encode(), "models.yaml").sandbox == SandboxEntry(
        "/opt/python3.12", "podman", "registry:5000/a/python:3.12@sha256:ab"
    )
    assert parsed(b"sandbox: {python: ~/python3}", "models.yaml").sandbox.python == "~/python3"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("container: docker", "no image", "name one that the engine has: `image: python:3.12-slim`"),
        ("image: a", "an image and no engine", "`container: docker` or `container: podman`"),
        ("container: docker, image: '--privileged'", "image: '--privileged' is no image", "as `python:3.12-slim`"),
        ("container: docker, image: 'a b'", "image: 'a b' is no image", "as `python:3.12-slim`"),
        ("python: python3", "python: 'python3' is not a whole path", "as `/usr/bin/python3.12`"),
    ],
)
def test_a_sandbox_that_cannot_be_meant_is_refused(text, message, hint):
    said, helped = refusal(f"sandbox: {{{text}}}")
    assert said.removeprefix("models.yaml: sandbox").lstrip(".: ") == message
    assert helped == hint


def test_an_engine_that_we_do_not_know_is_refused():
    message, _ = refusal("sandbox: {container: lxc, image: a}")
    assert message == "models.yaml: Invalid enum value 'lxc' - at `$.sandbox.container`"


def test_every_variable_that_a_secret_is_taken_from_is_known():
    assert secret_variables(parsed(WHOLE.encode(), "models.yaml")) == ("SOME_KEY",)
    more = parsed(b"providers: {p: {base_url: 'http://h/v1', headers: {A: 'x ${ONE} ${TWO}'}}}", "models.yaml")
    assert secret_variables(more) == ("ONE", "TWO")
    assert secret_variables(Config()) == ()


@pytest.mark.parametrize(
    "address", ["localhost:80/v1", "", "ftp://h/v1", "http://", "http:///v1", "http://h:x/v1", "http://[::1/v1"]
)
def test_what_is_no_address_is_refused(address):
    assert refusal(f"providers: {{p: {{base_url: '{address}'}}}}") == (
        f"models.yaml: providers.p.base_url: '{address}' is no address",
        "name the /v1 root, for example `http://localhost:8080/v1`",
    )


def test_a_file_that_was_named_must_exist(tmp_path):
    with pytest.raises(ConfigError) as caught:
        locate(tmp_path / "none.yaml")
    assert caught.value.message == f"no such file: {tmp_path}/none.yaml"
    assert caught.value.hint == "`crucibleforge config --init` writes a starter"


def test_the_variable_that_names_a_file_is_taken_at_its_word(tmp_path, monkeypatch):
    (tmp_path / "models.yaml").write_text("")
    monkeypatch.setenv("CRUCIBLEFORGE_CONFIG", "other.yaml")
    with pytest.raises(ConfigError, match=r"no such file: other\.yaml"):
        locate(None)


def test_a_named_file_goes_before_the_variable_the_folder_and_home(tmp_path, monkeypatch):
    home = tmp_path / "home" / "crucibleforge"
    home.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent))
    assert locate(None) is None
    (home / "models.yaml").write_text("")
    assert locate(None) == home / "models.yaml"
    Path("models.yaml").write_text("")
    assert locate(None) == Path("models.yaml")
    Path("by-variable.yaml").write_text("")
    monkeypatch.setenv("CRUCIBLEFORGE_CONFIG", "by-variable.yaml")
    assert locate(None) == Path("by-variable.yaml")
    Path("named.yaml").write_text("")
    assert locate(Path("named.yaml")) == Path("named.yaml")


def test_results_lie_beside_the_configuration_unless_told_otherwise(monkeypatch):
    assert results_folder(None, None) == Path("results")
    assert results_folder(None, Path("a/models.yaml")) == Path("a/results")
    monkeypatch.setenv("CRUCIBLEFORGE_RESULTS", "elsewhere")
    assert results_folder(None, Path("a/models.yaml")) == Path("elsewhere")
    assert results_folder(Path("here"), Path("a/models.yaml")) == Path("here")


def test_no_file_is_the_empty_configuration():
    assert load(None) == Config()


def test_our_profile_can_be_overridden_beside_the_configuration(tmp_path):
    config = tmp_path / "models.yaml"
    assert load_profile("quick", config).description
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "quick.yaml").write_text("categories: [math]\nrepeats: 2\n")
    assert load_profile("quick", config).categories == ("math",)


def test_an_unknown_profile_offers_what_there_is(tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text("")
    with pytest.raises(UnknownName) as caught:
        load_profile("quik", tmp_path / "models.yaml")
    assert (caught.value.message, caught.value.hint) == (
        "unknown profile 'quik'",
        "did you mean `quick`? known: mine, quick",
    )


def test_a_profile_is_read_as_strictly_as_the_configuration(tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text("category: [math]\n")
    with pytest.raises(ConfigError) as caught:
        load_profile("mine", tmp_path / "models.yaml")
    assert caught.value.message == "profiles/mine.yaml: unknown key 'category'"
    assert caught.value.hint == "did you mean `categories`?"


def test_what_is_said_on_the_command_line_goes_before_the_profile(tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "mine.yaml").write_text("categories: [math]\ndifficulty: [easy]\n")
    profile = load_profile("mine", tmp_path / "models.yaml")
    got = merged(Selection(categories=("coding",), profile="mine"), profile)
    assert got == Selection(categories=("coding",), difficulty=("easy",), profile="mine")
    assert with_profile(Selection(categories=("coding",), profile="mine"), tmp_path / "models.yaml") == got
    assert with_profile(Selection(cases=("a",)), None) == Selection(cases=("a",))


@pytest.mark.parametrize(
    ("file", "label"),
    [
        ("SmolLM2 135M (Q4).gguf", "smollm2-135m-q4"),
        ("_x.gguf", "x"),
        ("模型.gguf", "model"),
        (f"{'a' * 200}.gguf", "a" * 80),
    ],
)
def test_the_label_of_a_file_is_safe_as_a_file_name(file, label):
    assert gguf_target(Path(file)).label == label


def test_the_builtin_model_has_no_path_before_it_is_fetched():
    assert (builtin_target().kind, builtin_target().path) == ("llamacpp", "")


def test_a_provider_alone_is_a_target_for_asking_how_it_is():
    config = Config(
        providers={"p": ProviderEntry(base_url="http://h/v1/")},
        models=(ModelEntry(name="a", provider="p", model_id="m"),),
    )
    assert provider_target(config, "p").base_url == "http://h/v1"
    with pytest.raises(UnknownName, match="unknown provider 'q'"):
        provider_target(config, "q")
