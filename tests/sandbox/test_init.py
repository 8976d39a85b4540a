from __future__ import annotations

import pytest

from crucibleforge import plugins
from crucibleforge.config import SandboxEntry
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
    return SandboxKind(name, protects, lambda _settings: Fake(name))


def fails(name, *, protects=True):
    def refuse(_settings):
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
    assert describe(kinds=(works("a"),)) == "a"
    assert describe(kinds=(fails("a"), NONE)) == "none: no a"


def test_each_is_opened_with_what_the_configuration_says():
    settings = SandboxEntry(container="docker", image="python:3.12-slim")
    echo = SandboxKind("echo", True, lambda given: Fake(f"{given.container} {given.image}"))
    assert open_sandbox(settings, kinds=(echo,)).isolation == "docker python:3.12-slim"
    assert describe(settings, kinds=(echo,)) == "docker python:3.12-slim"


def test_bubblewrap_comes_first_then_a_container_then_wasm():
    assert [kind.name for kind in _plugins() if kind.protects][:3] == ["bwrap", "container", "wasm"]
    assert [kind.name for kind in _plugins() if not kind.protects] == ["none"]
    assert {kind.name for kind in _plugins()} == set(plugins.names("sandbox"))


def test_the_real_choice_describes_itself(sandbox):
    assert describe() == sandbox.isolation == open_sandbox().isolation
