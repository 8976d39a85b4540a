"""What the documents say is what the program does."""

import re
from pathlib import Path

from click.testing import CliRunner

from crucibleforge import config
from crucibleforge.cli.main import command
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
