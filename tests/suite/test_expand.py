import hashlib

from crucibleforge import plugins
from crucibleforge.suite.expand import CANONICAL_NAME, VERSION, family_cases, key, revision, scored, suite
from crucibleforge.types import RUNGS

CHEAP = "math/mod-ladder"


def test_every_family_has_cases_on_every_rung():
    found = {(case.family, case.rung) for case in suite()}
    assert found == {(name, rung) for name in plugins.names("families") for rung in RUNGS}


def test_ids_and_questions_are_unique():
    assert len({case.id for case in suite()}) == len({case.hash for case in suite()}) == len(suite())


def test_the_order_is_by_family_then_rung():
    assert [(case.family, case.rung) for case in suite()] == sorted((case.family, case.rung) for case in suite())


def test_a_smoke_run_touches_every_family_and_category():
    smoke = [case for case in suite() if case.smoke]
    assert [case.family for case in smoke] == list(plugins.names("families"))
    assert {case.category for case in smoke} == {"coding", "instruct", "longctx", "math", "reasoning", "tooluse"}


def test_the_suite_exercises_a_program_a_single_call_and_a_loop():
    assert any(case.needs.sandbox for case in suite())
    assert any(case.dialogue.tools and case.dialogue.max_rounds == 1 for case in suite())
    assert any(case.dialogue.answers and case.dialogue.max_rounds > 2 for case in suite())


def test_the_suite_holds_what_a_family_draws():
    assert [case for case in suite() if case.family == CHEAP] == list(family_cases(CHEAP))


def test_another_form_asks_other_questions_in_the_same_places():
    canonical, one, other = (list(family_cases(CHEAP, form)) for form in (CANONICAL_NAME, "1", "2"))
    assert [case.id for case in one] == [case.id for case in other] == [case.id for case in canonical]
    assert len({case.hash for case in (*canonical, *one, *other)}) == 3 * len(canonical)
    assert list(family_cases(CHEAP, "1")) == one


def test_a_form_is_its_own_key_and_the_canonical_one_has_the_published_key():
    assert key("abc") == "abc"
    assert key(CANONICAL_NAME) != CANONICAL_NAME


def test_the_reserve_does_not_count():
    assert {case.level for case in scored(suite())} == {"easy", "medium", "hard"}


def test_a_revision_covers_what_is_asked_and_counts_in_any_order():
    cases = tuple(family_cases(CHEAP))
    lines = sorted(f"{case.id} {case.hash}\n" for case in cases if case.level != "reserve")
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()[:8]
    assert revision(cases) == revision(cases[::-1]) == revision(scored(cases)) == f"{VERSION}+{digest}"
    assert revision(cases[1:]) != revision(cases)
