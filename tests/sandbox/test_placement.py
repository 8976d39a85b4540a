from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crucibleforge.sandbox._placement import _binds, _Found, _hidden, place, pythons

LIBRARY = str(Path(os.__file__).parent)
FOUND = _Found(
    version=(3, 12),
    executable="/opt/python/bin/python3.12",
    folders=("/opt/python/lib/python3.12/lib-dynload", "/opt/python/lib/python3.12"),
    libraries=("/opt/python/bin/../lib/libpython3.12.so.1.0", "/opt/python/lib/python3.12/lib-dynload/_json.so"),
)


def test_our_own_interpreter_comes_first_without_its_virtual_environment():
    assert pythons()[0] == os.path.realpath(sys.executable)
    assert len(set(pythons())) == len(pythons())


def test_an_interpreter_that_runs_can_be_placed():
    placed = place(pythons()[0], None)
    assert placed.version == f"{sys.version_info[0]}.{sys.version_info[1]}"
    inside = {there for _, there in placed.binds}
    assert placed.executable in inside
    assert LIBRARY in inside
    assert any("libc" in path or "ld-" in path for path in inside)


def test_sources_are_real_and_nothing_is_bound_twice():
    placed = place(pythons()[0], None)
    assert all(here == os.path.realpath(here) and Path(here).exists() for here, _ in placed.binds)
    inside = [there for _, there in placed.binds]
    assert not [(a, b) for a in inside for b in inside if b.startswith(f"{a}/")]


def test_no_folder_of_the_machine_is_bound_but_the_standard_library():
    placed = place(pythons()[0], None)
    assert {there for here, there in placed.binds if Path(here).is_dir()} == {LIBRARY}


def test_packages_inside_the_standard_library_are_hidden(tmp_path):
    for name in ("site-packages", "dist-packages", "json"):
        (tmp_path / name).mkdir()
    found = _Found(version=(3, 12), executable="/x", folders=(str(tmp_path),), libraries=())
    assert _hidden(found) == (str(tmp_path / "site-packages"), str(tmp_path / "dist-packages"))


def test_what_is_not_there_is_not_bound():
    assert _binds(FOUND) in {(), (("/etc/ld.so.cache", "/etc/ld.so.cache"),)}


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 1", "not a Python that we can use"),
        ("echo '{}'", "not a Python that we can use"),
        (
            'echo \'{"version": [3, 10], "executable": "/x", "folders": [], "libraries": []}\'',
            "Python 3.10, at least 3.11 is needed",
        ),
    ],
)
def test_what_is_no_fitting_python_says_why(script, why, tmp_path):
    path = tmp_path / "python3"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    assert place(str(path), None) == f"{path}: {why}"


def test_the_folder_that_bars_a_user_is_named_with_its_mode():
    uid = 65534 if os.getuid() == 0 else None
    with TemporaryDirectory() as folder:
        barred = Path(folder, "home")
        (barred / "python").mkdir(parents=True)
        python = barred / "python" / "python3"
        python.write_text("#!/bin/sh\nexit 0\n")
        python.chmod(0o755)
        Path(folder).chmod(0o755)
        barred.chmod(0o600)
        said = place(str(python), uid)
        barred.chmod(0o700)
    assert said == f"{python}: uid {uid or os.getuid()} may not enter {barred} (mode 600)"


def test_what_may_not_be_run_says_why(tmp_path):
    assert place(str(tmp_path), None) == f"{tmp_path}: permission denied"
