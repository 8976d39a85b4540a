from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from crucibleforge.sandbox import _probe


def test_it_prints_one_json_object_that_names_the_standard_library_and_the_loader():
    command = (sys.executable, "-I", "-S", "-B", "-c", Path(_probe.__file__).read_text(encoding="utf-8"))
    found = json.loads(subprocess.run(command, capture_output=True, check=True, env={}).stdout)
    assert found["version"] == list(sys.version_info[:2])
    assert str(Path(os.__file__).parent) in found["folders"]
    assert all(path.startswith("/") and Path(path).exists() for path in found["libraries"])
    assert any(Path(path).name.startswith(("ld-", "ld.so")) for path in found["libraries"])


def test_modules_for_terminals_and_tests_are_left_out():
    assert not {"_tkinter", "readline", "_testcapi"} & _probe.extensions()
