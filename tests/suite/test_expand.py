import hashlib
import os
import subprocess
import sys

from crucibleforge import plugins
from crucibleforge.suite.expand import VERSION, revision, suite
from crucibleforge.types import LEVELS


def test_every_family_has_cases_on_every_level():
    found = {(case.family, case.level) for case in suite()}
    assert found == {(name, level) for name in plugins.names("families") for level in LEVELS}


def test_ids_and_questions_are_unique():
    assert len({case.id for case in suite()}) == len({case.hash for case in suite()}) == len(suite())


def test_a_smoke_run_touches_every_family_and_category():
    smoke = [case for case in suite() if case.smoke]
    assert {case.family for case in smoke} == {case.family for case in suite()}
    assert {case.category for case in smoke} == {"coding", "instruct", "longctx", "math", "reasoning", "tooluse"}


def test_the_suite_exercises_a_program_a_single_call_and_a_loop():
    assert any(case.needs.sandbox for case in suite())
    assert any(case.dialogue.tools and not case.dialogue.answers for case in suite())
    assert any(case.dialogue.answers and case.dialogue.max_rounds > 2 for case in suite())


def test_the_suite_is_the_same_under_any_hash_seed():
    code = "from crucibleforge.suite.expand import suite; from crucibleforge.suite.lock import rendered; print(rendered(suite()))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_a_revision_covers_what_is_asked_in_any_order():
    digest = hashlib.sha256("".join(sorted(f"{c.id} {c.hash}\n" for c in suite())).encode()).hexdigest()[:8]
    assert revision(suite()) == revision(suite()[::-1]) == f"{VERSION}+{digest}"
    assert revision(suite()[1:]) != revision(suite())
