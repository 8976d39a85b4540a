import pytest

from crucibleforge.cli._bench_targets import choose
from crucibleforge.config import Config, ModelEntry, ProviderEntry
from crucibleforge.errors import InputError, UnknownName
from crucibleforge.providers._local import Found, Offered

OLLAMA = Found("ollama", "http://127.0.0.1:11434/v1", "0.9", (Offered("qwen3:8b", is_resident=True), Offered("gemma3:4b")))
STUDIO = Found("lmstudio", "http://127.0.0.1:1234/v1", None, (Offered("qwen3-8b"), Offered("phi-4", is_resident=False)))
BOTH = (OLLAMA, STUDIO)
CONFIG = Config(
    providers={"rented": ProviderEntry(base_url="https://api.invalid/v1"), "mine": ProviderEntry(base_url=OLLAMA.base_url)},
    models=(
        ModelEntry(name="phi-4", provider="rented", model_id="x/phi-4"),
        ModelEntry(name="big", provider="mine", model_id="gemma3:4b"),
    ),
)


def one(word, config=Config(), found=BOTH, url=""):  # noqa: B008 - a frozen Struct
    (chosen,) = choose(config, (word,), found, url)
    return chosen


@pytest.mark.parametrize(
    ("word", "model", "server"),
    [("qwen3:8b", "qwen3:8b", OLLAMA), ("GEMMA", "gemma3:4b", OLLAMA), ("qwen3-8b", "qwen3-8b", STUDIO), ("phi", "phi-4", STUDIO)],
)
def test_a_model_is_meant_by_its_id_or_by_a_part_that_no_other_has(word, model, server):
    chosen = one(word)
    assert (chosen.target.model_id, chosen.server, chosen.offered.id) == (model, server, model)
    assert (chosen.target.base_url, chosen.target.kind) == (server.base_url, "openai")


def test_a_part_that_several_have_is_no_answer():
    with pytest.raises(InputError, match=r"'qwen3' may mean qwen3:8b \(ollama\), qwen3-8b \(lmstudio\)"):
        one("qwen3")


def test_what_nobody_has_is_told_with_the_nearest():
    with pytest.raises(UnknownName) as refused:
        one("gemma3:4q")
    assert "gemma3:4b" in refused.value.hint


def test_a_label_of_models_yaml_comes_first():
    assert one("phi-4", CONFIG).target.model_id == "x/phi-4"


def test_a_label_whose_server_is_here_knows_what_it_offers():
    chosen = one("big", CONFIG)
    assert (chosen.target.label, chosen.server, chosen.offered) == ("big", OLLAMA, OLLAMA.models[1])


def test_builtin_and_files_need_no_server(builtin_gguf):
    assert one("builtin", found=()).target.kind == "llamacpp"
    assert one(str(builtin_gguf), found=()).target.path == str(builtin_gguf)


def test_without_a_word_the_one_in_memory_is_meant():
    (chosen,) = choose(Config(), (), (OLLAMA,), "")
    assert chosen.target.model_id == "qwen3:8b"


@pytest.mark.parametrize(("found", "words"), [((), "no model is in memory on this machine"), ((OLLAMA, Found("vllm", "http://127.0.0.1:8000/v1", None, (Offered("m", is_resident=True),))), "2 models are in memory on this machine")])
def test_without_a_word_and_with_none_or_several_in_memory_nothing_is_guessed(found, words):
    with pytest.raises(InputError, match=words):
        choose(Config(), (), found, "")


def test_an_address_takes_any_model():
    chosen = one("some/model", found=(), url="http://10.0.0.1:9000/v1/")
    assert (chosen.target.base_url, chosen.target.model_id, chosen.server) == ("http://10.0.0.1:9000/v1", "some/model", None)


@pytest.mark.parametrize("url", ["ftp://host/v1", "nonsense", "http://user:secret@host/v1"])
def test_an_address_that_cannot_be_asked_is_refused_and_its_password_not_shown(url):
    with pytest.raises(InputError) as refused:
        one("m", found=(), url=url)
    assert "secret" not in refused.value.message


def test_a_word_that_is_given_twice_is_measured_once():
    assert len(choose(Config(), ("phi", "phi"), BOTH, "")) == 1
