from __future__ import annotations

import pytest

from crucibleforge import plugins
from crucibleforge.errors import SandboxMissing
from crucibleforge.programs import Ran
from crucibleforge.sandbox import SandboxKind, _plugins, describe, open_sandbox


class Fake:
    def __init__(self, isolation):
        self.isolation = isolation

    def run(self, program, limits):
        return Ran((), self.isolation)

    def stop(self):
        pass

    def close(self):
        pass


def works(name, *, protects=True):
    return SandboxKind(name, protects, lambda: Fake(name))


def fails(name, *, protects=True):
    def refuse():
        raise SandboxMissing(f"no {name}", hint=f"get {name}")

    return SandboxKind(name, protects, refuse)


NONE = works("none", protects=False)


@pytest.mark.parametrize(
    ("kinds", "waived", "chosen"),
    [
        ((works("a"), works("b"), NONE), False, "a"),
        ((fails("a"), works("b"), NONE), False, "b"),
        ((NONE, works("a")), True, "a"),
        ((fails("a"), NONE), True, "none"),
    ],
)
def test_the_first_that_protects_is_taken_and_none_only_by_waiver(kinds, waived, chosen):
    assert open_sandbox(allow_unsandboxed=waived, kinds=kinds).isolation == chosen


@pytest.mark.parametrize(
    ("kinds", "message", "hint"),
    [
        ((fails("a"), fails("b"), NONE), "no a", "get a"),
        ((NONE,), "no sandbox for this system", ""),
        ((), "no sandbox for this system", ""),
    ],
)
def test_without_a_waiver_nothing_runs_unprotected(kinds, message, hint):
    with pytest.raises(SandboxMissing) as missing:
        open_sandbox(kinds=kinds)
    assert (missing.value.message, missing.value.hint, missing.value.exit_code) == (message, hint, 3)


def test_describing_never_raises():
    assert describe((works("a"),)) == "a"
    assert describe((fails("a"), NONE)) == "none: no a"


def test_bubblewrap_comes_first_among_the_plug_ins():
    assert [kind.name for kind in _plugins()][:1] == ["bwrap"]
    assert {"bwrap", "none"} <= set(plugins.names("sandbox"))


def test_the_real_choice_describes_itself(sandbox):
    assert describe() == sandbox.isolation == open_sandbox().isolation
