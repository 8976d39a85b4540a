import json
from importlib.resources import files
from pathlib import Path

import msgspec

from crucibleforge.config import Config, load


def test_init_writes_a_starter_that_is_valid(crucible):
    ended = crucible("config", "--init")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "wrote models.yaml: edit providers and models, then `crucibleforge status`\n"
    config = load(Path("models.yaml"))
    assert config.providers
    assert config.models
    assert not any(entry.enabled for entry in config.models)


def test_every_line_of_the_starter_is_kept(crucible):
    crucible("config", "--init", "mine.yaml")
    assert Path("mine.yaml").read_bytes() == (files("crucibleforge") / "cli" / "starter.yaml").read_bytes()


def test_init_never_overwrites(crucible):
    Path("models.yaml").write_text("mine")
    ended = crucible("config", "--init")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: models.yaml exists and is left as it is\nhint: name another file\n"
    assert Path("models.yaml").read_text() == "mine"


def test_init_where_nothing_can_be_written_is_one_line(crucible):
    ended = crucible("config", "--init", "none/models.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: none/models.yaml: no such file or directory\nhint: check the path and its permissions\n"


def test_the_starter_without_an_enabled_model_says_what_to_do(crucible):
    crucible("config", "--init")
    ended = crucible("run")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "error: no model is enabled in models.yaml\n"
        "hint: set `enabled: true` on one, name one with `--models LABEL`, or use `--models builtin`\n"
    )
    assert not Path("results").exists()


def test_it_says_which_file_is_used(crucible, configure):
    configure("http://h/v1")
    ended = crucible("config")
    assert (ended.code, ended.out, ended.err) == (0, "configuration: models.yaml\nresults:       results\n", "")


def test_without_a_file_it_says_how_to_get_one(crucible):
    ended = crucible("config")
    assert ended.out == "configuration: none: `builtin` is the only model\nresults:       results\n"
    assert ended.err == "hint: `crucibleforge config --init` writes a starter models.yaml\n"


def test_as_json_it_is_the_whole_configuration(crucible, configure):
    path = configure("http://h/v1", more="defaults: {repeats: 3}\n")
    ended = crucible("config", "--json")
    found = json.loads(ended.out)
    assert (found["path"], found["results"]) == ("models.yaml", "results")
    assert msgspec.convert(found["config"], Config) == load(path)


def test_as_json_no_file_is_null(crucible):
    assert json.loads(crucible("config", "--json").out)["path"] is None


def test_a_file_to_read_goes_with_its_option(crucible):
    ended = crucible("config", "x.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: FILE goes with --init\nhint: `crucibleforge config --init models.yaml`\n"


def test_a_file_that_is_missing_is_one_line(crucible):
    ended = crucible("config", "--config", "none.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: no such file: none.yaml\nhint: `crucibleforge config --init` writes a starter\n"
