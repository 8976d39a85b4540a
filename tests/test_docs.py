"""What the documents say is what the program does."""

import inspect
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from click.testing import CliRunner

from crucibleforge import config, plugins
from crucibleforge.cli import cases
from crucibleforge.cli.main import command
from crucibleforge.families import _laws_of_items, _laws_of_marks, _laws_of_programs
from crucibleforge.families._contract import examine
from crucibleforge.families._scaffold import scaffold
from crucibleforge.types import Sampling

ROOT = Path(__file__).parent.parent


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_shows_the_help_as_it_is():
    shown = re.search(r"```text\n(Usage: .*?)```", text("README.md"), re.DOTALL)[1]
    printed = CliRunner().invoke(command, ["--help"], prog_name="crucibleforge").output
    assert shown == printed


def test_every_key_of_the_configuration_is_described():
    described = set(re.findall(r"\w+", text("docs/configuration.md")))
    shapes = (config.ProviderEntry, config.ModelEntry, config.PriceEntry, config.Candidate, config.JudgeEntry)
    shapes += (config.Defaults, config.Scoring, config.SandboxEntry, config.Config, config.Profile, Sampling)
    assert {name for shape in shapes for name in shape.__struct_fields__} <= described


def test_every_document_that_is_linked_exists():
    for name in ("README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#:]+)\)", text(name)):
            assert ((ROOT / name).parent / link).exists(), f"{name}: {link}"


def test_ci_runs_the_readmes_test_command():
    assert "README.md" in text(".ci/run")
    assert text("README.md").split("## Tests")[1].split("```sh\n")[1].split("\n```")[0].endswith("pytest -n auto")


@pytest.fixture
def newcomer(tmp_path, monkeypatch):
    """The family of docs/adding-a-family.md, loaded from a file in a folder of its own."""
    path = tmp_path / "lamp_rounds.py"
    path.write_text(newcomers_file(), encoding="utf-8")
    spec = spec_from_file_location("lamp_rounds", path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lamp_rounds", module)
    spec.loader.exec_module(module)
    return module.FAMILY


def newcomers_file():
    return re.search(r"```python\n(.*?)```", text("docs/adding-a-family.md"), re.DOTALL)[1]


def run_nothing(program):
    raise AssertionError(f"a program ran: {program}")


@pytest.mark.slow
def test_the_family_that_a_newcomer_adds_keeps_the_contract(newcomer):
    found = examine(newcomer, run_nothing)
    assert (found.problems, found.cases) == ((), 7)


def test_the_newcomers_file_has_every_part_that_cases_new_writes(newcomer):
    written = scaffold(*newcomer.name.split("/"))
    parts = set(re.findall(r"^(?:def|class) (\w+)", written, re.MULTILINE)) - {"Instance"}
    assert parts <= set(re.findall(r"^(?:def|class) (\w+)", newcomers_file(), re.MULTILINE))
    assert f'name="{newcomer.name}"' in written


def test_the_newcomers_commands_exist():
    blocks = re.findall(r"```sh\n(.*?)```", text("docs/adding-a-family.md"), re.DOTALL)
    named = {verb for block in blocks for verb in re.findall(r"^crucibleforge cases (\w+)", block, re.MULTILINE)}
    assert {"new", "verify", "show", "lock", "docs"} <= named <= set(cases.COMMAND.commands)


def test_every_grader_and_setting_is_described():
    described = set(re.findall(r"`(\w+)`", text("docs/adding-a-family.md")))
    graders = [plugins.find("graders", name) for name in plugins.names("graders")]
    assert {grader.name for grader in graders} <= described
    assert {setting for grader in graders for setting in grader.settings} <= described


def test_every_law_is_listed_as_its_problem_line_names_it():
    source = "".join(map(inspect.getsource, (_laws_of_items, _laws_of_marks, _laws_of_programs)))
    lines = re.findall(r"yield (?:one\.at\()?f?\"((?:[^\"\\]|\\.)*)\"", source)
    worded = [line for line in lines if re.search(r"\w", re.sub(r"\{[^}]*\}", "", line))]
    table = text("docs/adding-a-family.md").split("## The laws")[1]
    listed = re.findall(r"`([^`]+)`", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)))
    assert len(worded) > 30
    assert [line for line in worded if not any(is_named(line, name) for name in listed)] == []


def is_named(line, name):
    """True when all words of a listed name, but for what stands for something else, are in the problem line."""
    return all(part.strip() in line for part in re.split(r"\.\.\.|\b[NMK]\b", name))
