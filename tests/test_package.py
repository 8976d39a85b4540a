"""The wheel carries all that the program needs, and works from any folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A freshly built wheel, unpacked."""
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(built), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


@pytest.mark.slow
def test_every_file_of_the_source_is_in_the_wheel(unpacked):
    def held(folder):
        files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {str(path) for path in files if "__pycache__" not in path.parts}

    assert held(unpacked / "crucibleforge") == held(ROOT / "src" / "crucibleforge")


@pytest.mark.slow
def test_the_wheel_works_from_any_folder(unpacked, tmp_path):
    def run(code):
        environment = os.environ | {"PYTHONPATH": str(unpacked)}
        return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("import crucibleforge; print(crucibleforge.__file__)").startswith(str(unpacked))
    code = "from crucibleforge.cli.main import status\nfor words in {}:\n    assert status(words) == 0, words"
    run(code.format([["cases", "lock", "--check"], ["config", "--init"], ["status"]]))
    run(code.format([["all", "--plan", "--models", "builtin", "--profile", "quick"]]))
