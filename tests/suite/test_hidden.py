import msgspec
import pytest

from crucibleforge import plugins
from crucibleforge.families._build import hidden, item
from crucibleforge.suite.expand import family_cases, suite
from crucibleforge.suite.hidden import new_seed, with_hidden

CODE = [case for case in suite() if case.needs.sandbox]
ONE = CODE[0]
ids = {"ids": lambda case: case.id}


def added(case, seed):
    return with_hidden(case, seed).expected[len(case.expected) :]


@pytest.mark.parametrize("case", CODE, **ids)
def test_hidden_inputs_follow_the_canonical_ones_and_are_at_least_three_of_ten(case):
    whole = with_hidden(case, "ab")
    assert whole.expected[: len(case.expected)] == case.expected
    assert msgspec.structs.replace(whole, expected=case.expected) == case
    assert len(added(case, "ab")) >= 0.3 * len(whole.expected)


@pytest.mark.parametrize("case", [case for case in CODE if case.rung in {"L1", "L3"}], **ids)
def test_hidden_inputs_are_of_their_seed(case):
    assert added(case, "ab") != added(case, "ac")


@pytest.mark.parametrize("case", CODE, **ids)
def test_our_own_program_is_never_sent(case):
    assert case.grading.settings["reference"]
    sent = " ".join(message.content for message in case.dialogue.messages)
    lines = [line.strip() for line in case.grading.settings["reference"].splitlines() if len(line.strip()) > 30]
    # A module to be repaired is sent broken: most of its lines, but never all of them in a row.
    assert "mended" in case.id or not [line for line in lines if line in sent]
    assert case.grading.settings["reference"].strip() not in sent


def test_hidden_inputs_come_from_seed_and_id_alone():
    family = plugins.find("families", ONE.family)
    instance = item(family, ONE.rung, int(ONE.id.rpartition(".")[2])).instance
    assert added(ONE, "ab") == hidden(family, instance, ONE.id, "ab")


def test_the_inputs_of_a_fresh_form_fit_its_own_question():
    cheap = next(case for case in CODE if case.family != "coding/mended-module")
    fresh = next(case for case in family_cases(cheap.family, "k") if case.id == cheap.id)
    assert with_hidden(fresh, "ab") is fresh
    assert len(with_hidden(fresh, "ab", "k").expected) > len(fresh.expected)


def test_two_cases_of_a_run_have_inputs_of_their_own():
    first, second = (added(case, "ab") for case in CODE[:2])
    assert first != second


@pytest.mark.parametrize(
    "case",
    [
        next(case for case in suite() if not case.needs.sandbox),
        msgspec.structs.replace(ONE, hash="another question"),
        msgspec.structs.replace(ONE, id="coding/of-another-version/L1.1"),
        msgspec.structs.replace(ONE, id=f"{ONE.family}/L1.0"),
        msgspec.structs.replace(ONE, id=f"{ONE.family}/L1.{'1' * 5000}"),
        msgspec.structs.replace(ONE, id=f"{ONE.family}/L6.1"),
        msgspec.structs.replace(ONE, id="no id at all"),
    ],
    ids=["read", "hash", "family", "index", "long index", "level", "form"],
)
def test_a_case_that_the_family_does_not_ask_stays_as_it_is(case):
    assert with_hidden(case, "ab") is case


def test_without_a_seed_there_is_nothing_hidden():
    assert with_hidden(ONE, "") is ONE


def test_a_seed_is_never_the_same():
    seeds = {new_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert all(len(bytes.fromhex(seed)) == 8 for seed in seeds)
