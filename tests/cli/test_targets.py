from pathlib import Path

import pytest

from crucibleforge import plugins
from crucibleforge.cli._targets import is_builtin, placing, resolve
from crucibleforge.config import Config, parsed
from crucibleforge.errors import InputError

CONFIG = parsed(
    b"""
providers: {p: {base_url: 'http://h/v1'}, e: {type: llamacpp}}
models:
  - {name: one, provider: p, model_id: m}
  - {name: two, provider: p, model_id: n}
  - {name: idle, provider: p, model_id: o, enabled: false}
""",
    "models.yaml",
)
PATH_HINT = "check the path: `ls -l` shows what is there"


def labels(config, *words):
    return [target.label for target in resolve(config, words)]


def refusal(config, *words):
    with pytest.raises(InputError) as caught:
        resolve(config, words)
    assert caught.value.exit_code == 2
    return caught.value.message, caught.value.hint


def tiny_gguf(name):
    """The least that is a GGUF: magic, version, no tensors, no entries."""
    Path(name).write_bytes(b"GGUF" + (3).to_bytes(4, "little") + bytes(16))
    return name


def test_no_word_means_every_enabled_model():
    assert labels(CONFIG) == ["one", "two"]


def test_no_word_and_no_model_means_the_builtin_one():
    assert labels(Config()) == ["builtin"]


def test_a_disabled_model_can_still_be_named():
    assert labels(CONFIG, "idle") == ["idle"]


def test_all_can_be_joined_with_others_and_nobody_comes_twice():
    assert labels(CONFIG, "idle", "all", "one", "builtin", "idle") == ["idle", "one", "two", "builtin"]


def test_a_file_is_named_by_its_path():
    (target,) = resolve(CONFIG, [tiny_gguf("My Model.GGUF")])
    assert (target.label, target.kind, target.path) == ("my-model", "llamacpp", str(Path("My Model.GGUF").resolve()))


def test_only_the_builtin_model_gets_its_file_and_no_file_that_is_called_like_it():
    Path("builtin.jsonl").write_text("")
    (ours,) = resolve(CONFIG, ["builtin"])
    for word in (tiny_gguf("builtin.gguf"), "replies:builtin.jsonl"):
        (theirs,) = resolve(CONFIG, [word])
        assert (theirs.label, is_builtin(theirs)) == ("builtin", False)
        assert placing(Path("/cache/ours.gguf"))(theirs) == theirs
    assert placing(Path("/cache/ours.gguf"))(ours).path == "/cache/ours.gguf"
    assert placing(None)(ours) == ours


def test_where_no_model_is_enabled_one_must_be_named():
    config = parsed(
        b"providers: {p: {base_url: 'http://h/v1'}}\nmodels: [{name: a, provider: p, model_id: m, enabled: false}]", "f"
    )
    expected = (
        "no model is enabled in models.yaml",
        "set `enabled: true` on one, name one with `--models LABEL`, or use `--models builtin`",
    )
    assert refusal(config) == expected
    assert refusal(config, "all") == expected
    assert refusal(Config(), "all") == expected


def test_an_unknown_model_offers_its_neighbours():
    assert refusal(CONFIG, "tow") == (
        "unknown model 'tow'",
        "did you mean `two`? labels stand in models.yaml; a .gguf file is named by its path",
    )


@pytest.mark.parametrize("word", ["none.gguf", "./none", "a/b.bin"])
def test_a_file_that_is_missing_is_refused(word):
    assert refusal(CONFIG, word) == (f"no such file: {Path(word).resolve()}", PATH_HINT)


def test_a_file_that_is_no_gguf_is_refused():
    Path("text.gguf").write_text("hello")
    path = Path("text.gguf").resolve()
    assert refusal(CONFIG, "text.gguf") == (f"{path} is not a GGUF file: it begins with b'hell'", "name a `.gguf` file")


def test_a_cut_gguf_is_refused():
    Path("cut.gguf").write_bytes(b"GGUF\x03\x00")
    assert refusal(CONFIG, "cut.gguf") == (
        f"{Path('cut.gguf').resolve()} is a corrupt GGUF file: it ends inside its header, after 6 bytes",
        "fetch the file again, and compare its checksum",
    )


def test_a_folder_is_no_model(tmp_path):
    assert refusal(CONFIG, str(tmp_path)) == (
        f"{tmp_path} is a folder, not a GGUF file",
        f"name a file in it: `ls {tmp_path}/*.gguf`",
    )


def test_the_file_of_an_entry_is_checked_before_anything_starts():
    config = parsed(b"providers: {e: {type: llamacpp}}\nmodels: [{name: a, provider: e, path: /none/a.gguf}]", "f")
    assert refusal(config) == ("no such file: /none/a.gguf", PATH_HINT)


def test_two_files_of_one_name_are_refused():
    Path("sub").mkdir()
    assert refusal(CONFIG, tiny_gguf("a.gguf"), tiny_gguf("sub/a.gguf")) == (
        "two models are called 'a'",
        "give one of them a label in models.yaml",
    )


def test_a_provider_of_an_unknown_type_is_refused_before_anything_starts():
    config = parsed(b"providers: {p: {type: opnai}}\nmodels: [{name: a, provider: p, model_id: m}]", "f")
    assert refusal(config) == (
        "unknown provider type in providers.p 'opnai'",
        f"did you mean `openai`? known: {', '.join(plugins.names('providers'))}",
    )


def test_a_file_of_replies_is_named_by_its_path_and_called_by_its_stem():
    Path("sub").mkdir()
    Path("sub/GPT x.jsonl").write_text('{"id": "a", "text": "b"}\n')
    Path("two.jsonl").write_text("")
    one, two = resolve(CONFIG, ["replies:sub/GPT x.jsonl", "replies:two.jsonl"])
    assert (one.label, one.kind, one.path) == ("gpt-x", "replies", str(Path("sub/GPT x.jsonl").resolve()))
    assert two.label == "two"


def test_a_malformed_line_of_replies_is_refused_before_anything_starts():
    Path("a.jsonl").write_text('{"id": "a", "text": "b"}\n{"id": "a"\n')
    assert refusal(CONFIG, "replies:a.jsonl")[0].startswith("a.jsonl line 2: not JSON: ")


def test_a_file_of_replies_that_is_missing_is_refused():
    assert refusal(CONFIG, "replies:none.jsonl") == (f"no such file: {Path('none.jsonl').resolve()}", PATH_HINT)


def test_the_replies_of_an_entry_are_checked_and_tied_to_their_file():
    Path("a.jsonl").write_text("")
    config = parsed(b"providers: {f: {type: replies}}\nmodels: [{name: a, provider: f, path: a.jsonl}]", "f")
    (target,) = resolve(config, [])
    assert target.model_id.startswith("a@")
