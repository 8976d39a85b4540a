import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crucibleforge
from crucibleforge.families._scaffold import scaffold

SOURCE = Path(crucibleforge.__file__).parent


@pytest.fixture
def checkout(tmp_path):
    """A copy of the program in which a family may be begun, and a way to call it."""
    shutil.copytree(SOURCE, tmp_path / "src" / "crucibleforge", ignore=shutil.ignore_patterns("__pycache__"))

    def call(*words: str) -> subprocess.CompletedProcess:
        program = "import sys; from crucibleforge.cli.main import main; main()"
        environment = {"PYTHONPATH": str(tmp_path / "src"), "CRUCIBLEFORGE_CACHE": str(tmp_path / "cache")}
        environment |= {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", program, "cases", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)

    return call


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_family_is_begun_by_one_file_whose_admission_fails_in_clear_words(checkout, tmp_path):
    before = files(tmp_path / "src")
    begun = checkout("new", "math", "big-sums")
    path = tmp_path / "src" / "crucibleforge" / "families" / "math" / "big_sums.py"
    assert (begun.returncode, begun.stdout) == (0, f"{path}\n")
    assert "`crucibleforge cases verify --families math/big-sums`" in begun.stderr
    assert {name: data for name, data in files(tmp_path / "src").items() if name != path} == before
    assert path.read_text() == scaffold("math", "big-sums")
    proved = checkout("verify", "--families", "math/big-sums", "--allow-unsandboxed")
    assert proved.returncode == 1
    *problems, last = proved.stdout.splitlines()
    assert all(line.startswith("math/big-sums") for line in problems)
    assert any("raised NotImplementedError: draw an Instance" in line for line in problems)
    assert len(problems) < 7
    assert last.startswith("0 cases checked, ")
    again = checkout("new", "math", "big-sums")
    assert (again.returncode, again.stderr.splitlines()[0]) == (2, f"error: {path} is there already")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["maths", "x"], "error: unknown category 'maths'\nhint: did you mean `math`? "),
        (["math", "Two_Tins"], "error: 'Two_Tins' is no name of a family\nhint: "),
        (["math", "../x"], "error: '../x' is no name of a family\nhint: "),
    ],
)
def test_what_cannot_be_begun_is_one_line_and_a_hint(crucible, words, message):
    ended = crucible("cases", "new", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(message)
