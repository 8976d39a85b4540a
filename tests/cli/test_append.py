import pytest

from crucibleforge.cli._append import append
from crucibleforge.config import ModelEntry, PriceEntry, load
from crucibleforge.errors import ConfigError, UnknownName

HEAD = "# mine\nproviders:\n  p: {base_url: 'http://h/v1'}  # home\n"
ENTRY = ModelEntry(name="new", provider="p", model_id="q:8b")
LINES = "  - name: new\n    provider: p\n    model_id: q:8b\n"
FLOW = "{name: new, provider: p, model_id: 'q:8b'}"
OLD = "{name: a, provider: p, model_id: m}"


def appended(path, text, entry=ENTRY):
    path.write_bytes(text.encode())
    before = load(path)
    append(path, entry)
    assert load(path).models == (*before.models, entry)
    return path.read_bytes().decode()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "models.yaml"


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ("models:\n  - name: a\n    provider: p\n    model_id: m\n", LINES, ""),
        (
            "models:\n  - name: a\n    # why\n    provider: p\n    model_id: m  # last\n",
            LINES,
            "\n# about defaults\ndefaults:\n  repeats: 1\n",
        ),
        (f"models:\n  - {OLD}\n", LINES, "    # a word at the end\ndefaults: {}\n"),
        (
            "models:\n- name: a\n  provider: p\n  model_id: m\n  price:\n    input: 1\n    output: 2\n",
            "- name: new\n  provider: p\n  model_id: q:8b\n",
            "scoring: {weights: {math: 2}}\n",
        ),
        (
            "models:\n    - name: a\n      provider: p\n      model_id: |-\n        m\n",
            "".join(f"  {line}\n" for line in LINES.splitlines()),
            "",
        ),
        ("models:\n", LINES, ""),
        ("models:  # none yet\n", LINES, "  # - name: idea\n\ndefaults: {}\n"),
    ],
)
def test_an_entry_is_added_below_and_all_else_stays_byte_for_byte(file, before, new, after):
    assert appended(file, HEAD + before + after) == HEAD + before + new + after


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        (f"models: [{OLD}", f", {FLOW}", "]  # two\ndefaults: {}\n"),
        (f"models: [\n  {OLD}", f", {FLOW}", ",  # the last\n  # more to come\n]\n"),
        ("models: [", FLOW, "  # none\n]\n"),
    ],
)
def test_a_list_in_brackets_grows_in_place(file, before, new, after):
    assert appended(file, HEAD + before + after) == HEAD + before + new + after


@pytest.mark.parametrize("nothing", ["[]", "null", "~"])
def test_an_empty_list_becomes_a_block(file, nothing):
    got = appended(file, f"{HEAD}models: {nothing}  # none yet\n\n\ndefaults: {{}}\n")
    assert got == f"{HEAD}models:  # none yet\n{LINES}\n\ndefaults: {{}}\n"


def test_a_file_without_models_gets_them_at_its_end(file):
    assert appended(file, HEAD) == f"{HEAD}\nmodels:\n{LINES}"


def test_a_last_line_without_its_end_gets_one(file):
    text = f"{HEAD}models:\n  - name: a\n    provider: p\n    model_id: m"
    assert appended(file, text) == f"{text}\n{LINES}"


def test_line_ends_stay_what_they_are(file):
    text = f"{HEAD}models:\n  - {OLD}\n# end\n".replace("\n", "\r\n")
    assert appended(file, text) == f"{HEAD}models:\n  - {OLD}\n{LINES}# end\n".replace("\n", "\r\n")


def test_everything_that_is_said_of_a_model_is_written(file):
    entry = ModelEntry(
        name="n", provider="p", model_id="12", context_length=9, price=PriceEntry(0.5, 2.0), tags=("on", "é, #")
    )
    assert "é" in appended(file, HEAD, entry)
    assert "é" in appended(file, HEAD + f"models: [{OLD}]", entry)


@pytest.mark.parametrize("models", [f"models: [{OLD}]", f"models:\n  - {OLD}\n"])
@pytest.mark.parametrize("name", ["a", "A", "builtin"])
def test_a_name_that_is_taken_leaves_the_file_as_it_is(file, models, name):
    file.write_text(HEAD + models)
    before = file.stat()
    with pytest.raises(ConfigError) as caught:
        append(file, ModelEntry(name=name, provider="p", model_id="m"))
    assert caught.value.message == f"models.yaml: models[1].name: '{name}' is taken"
    assert file.read_text() == HEAD + models
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert [path.name for path in file.parent.iterdir()] == ["models.yaml"]


def test_an_unknown_provider_leaves_the_file_as_it_is(file):
    file.write_text(HEAD)
    with pytest.raises(UnknownName) as caught:
        append(file, ModelEntry(name="new", provider="pp", model_id="m"))
    assert (caught.value.message, caught.value.hint) == (
        "unknown provider in models.yaml: models[0] 'pp'",
        "did you mean `p`? known: p",
    )
    assert file.read_text() == HEAD


@pytest.mark.parametrize(
    "text",
    [
        f"x: 1\n{HEAD}models: []\n",
        "{providers: {p: {base_url: 'http://h/v1'}}}\n",
        f"{HEAD}models: &all\n  - {OLD}\n",
        "\ufeff\x00",
    ],
)
def test_where_no_place_is_found_the_file_is_left_as_it_is(file, text):
    file.write_bytes(text.encode())
    with pytest.raises(ConfigError):
        append(file, ENTRY)
    assert file.read_bytes() == text.encode()


def test_a_link_stays_a_link_and_a_mode_a_mode(file, tmp_path):
    real = tmp_path / "real.yaml"
    real.write_text(HEAD)
    real.chmod(0o600)
    file.symlink_to(real)
    append(file, ENTRY)
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert load(real).models == (ENTRY,)
