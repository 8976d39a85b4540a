from __future__ import annotations

from dataclasses import replace

import pytest
from adding import ADDING, BRIEF, DOUBLING, found, never

from crucibleforge import plugins
from crucibleforge.families._contract import examine
from crucibleforge.families._law import Extent

BRIEFLY = Extent(generated=10, verified=5, different=50, guessed=10, fuzzed=20, timed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", plugins.names("families"))
def test_every_family_keeps_the_contract(name, run):
    family = plugins.find("families", name)
    assert family.name == name
    assert examine(family, run, BRIEFLY).problems == ()


def test_sound_families_have_no_problems(run):
    assert found() == []
    assert found(run, DOUBLING) == []


def test_a_problem_names_its_place():
    assert examine(replace(ADDING, verify=lambda _: 1), never, BRIEF).problems[0].startswith("math/adding/L1.1: ")


def test_a_function_that_raises_breaks_a_law_and_not_the_check():
    def broken(_):
        raise KeyError("gone")

    assert "verify raised KeyError: 'gone'" in found(verify=broken)


def test_what_was_done_is_counted(run):
    done = examine(DOUBLING, run, BRIEF)
    assert (done.cases, done.references) == (5, 5)
    assert done.derived >= 15
    assert done.refused >= 40
