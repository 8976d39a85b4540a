"""The laws of the architecture, each kept by a check that can fail."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import crucibleforge

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "crucibleforge"
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py"]
# A family's own file, and what it keeps beside it, is proven by the contract that all families share.
TESTED = [path for path in MODULES if not path.match("crucibleforge/families/*/*.py")]
HEAVY = {"anyio", "aiohttp", "msgspec", "numpy", "rich", "jinja2", "starlette", "yaml", "psutil"}


def tool(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    binary = Path(sys.executable).parent
    paths = os.pathsep.join((str(binary), os.environ.get("PATH", "")))
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=os.environ | {"PATH": paths} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tests_are_of_this_source():
    assert Path(crucibleforge.__file__).parent == SOURCE


@pytest.mark.slow
def test_layers_and_purity_hold(tmp_path):
    done = tool("lint-imports", "--cache-dir", tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("wire/sse.py", "import crucibleforge.run.plan"),
        ("graders/numeric.py", "import subprocess"),
        ("report/markdown.py", "import crucibleforge.run.owed"),
    ],
)
def test_a_planted_import_against_the_laws_is_caught(tmp_path, file, line):
    copy = tmp_path / "src"
    shutil.copytree(SOURCE, copy / "crucibleforge", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = copy / "crucibleforge" / file
    planted.write_text(planted.read_text() + f"\n{line}\n")
    done = tool("lint-imports", "--no-cache", cwd=tmp_path, PYTHONPATH=str(copy))
    assert (done.returncode, "BROKEN" in done.stdout) == (1, True), done.stdout


@pytest.mark.slow
def test_types_are_strict(tmp_path):
    done = tool("mypy", "--cache-dir", tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_lint_and_format_are_clean():
    for command in (("check", "--no-cache", "src", "tests", "bench"), ("format", "--no-cache", "--check", "src")):
        done = tool("ruff", *command)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_stays_under_400_lines_and_a_function_under_60(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, node.name


@pytest.mark.parametrize("path", TESTED, ids=lambda path: str(path.relative_to(SOURCE)))
def test_each_module_has_its_test(path):
    relative = path.relative_to(SOURCE)
    assert (ROOT / "tests" / relative.parent / f"test_{path.stem.lstrip('_')}.py").is_file()


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom crucibleforge.cli.main import status\nassert status(['--help']) == 0\n"
        "print(*sorted(name.split('.')[0] for name in sys.modules))"
    )
    done = tool(sys.executable, "-c", code)
    assert done.returncode == 0
    assert not HEAVY & set(done.stdout.splitlines()[-1].split())


def test_reading_and_writing_text_names_an_encoding():
    for path in MODULES:
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        texts = [call for call in calls if getattr(call.func, "attr", "") in {"read_text", "write_text"}]
        assert all("encoding" in {keyword.arg for keyword in call.keywords} for call in texts), path
