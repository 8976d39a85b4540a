from __future__ import annotations

import sys
from types import ModuleType

import pytest
from adding import BRIEF, never

from crucibleforge.families._contract import examine
from crucibleforge.families._scaffold import scaffold


@pytest.fixture
def begun(monkeypatch):
    """The family as it is begun."""
    module = ModuleType("begun_family")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look themselves up there
    exec(compile(scaffold("math", "new-sums"), "new_sums.py", "exec"), module.__dict__)
    return module.FAMILY


def test_it_is_a_family_of_its_name(begun):
    assert begun.name == "math/new-sums"


def test_its_admission_fails_and_says_what_is_to_be_written(begun):
    problems = examine(begun, never, BRIEF).problems
    assert any(line.endswith("raised NotImplementedError: draw an Instance") for line in problems)
    assert all(line.startswith("math/new-sums") for line in problems)
