from __future__ import annotations

import ast

import pytest

from crucibleforge.extract._stub import is_stub


@pytest.mark.parametrize(
    "source",
    [
        "def f(): ...",
        "async def f(): pass",
        "def f():\n    'Does it.'",
        "def f():\n    raise NotImplementedError('later')",
        "def f():\n    x = 1\n    ...\n    return x",
        "class f: pass",
        "class f:\n    def a(self): pass\n    def b(self): ...",
        "class f:\n    def a(self): return 1\n    def b(self): ...",
        "def f(): return 1\ndef f(): ...",
    ],
)
def test_what_leaves_out_its_work_is_a_stub(source):
    assert is_stub(ast.parse(source), "f")


@pytest.mark.parametrize(
    "source",
    [
        "def f(): return 1",
        "def f():\n    for _ in g(): pass",
        "def f(x=...): return x",
        "f = ...",
        "class f:\n    a = 1",
        "class f:\n    def a(self): pass\n    def b(self): return 1",
        "def g(): ...\ndef f(): return g()",
        "def f():\n    raise ValueError",
        "",
    ],
)
def test_what_works_or_is_not_defined_is_none(source):
    assert not is_stub(ast.parse(source), "f")


def test_no_tree_has_no_stub():
    assert not is_stub(None, "f")
