import made
import msgspec

from crucibleforge.families._build import cases
from crucibleforge.plugins import find
from crucibleforge.programs import Ran, Returned
from crucibleforge.run.grade import current, skipped, verdict
from crucibleforge.suite.hidden import with_hidden
from crucibleforge.types import Grading, Job, Row

FAMILY = find("families", "coding/upset-cost")
CODE = next(cases(FAMILY))
SEEDED = made.plan([CODE], seed="ab")
SOLVED = made.reply(f"```python\n{CODE.grading.settings['reference']}\n```")


def knowing(expected):
    """Runs nothing: gives what it knows of the expected values, and nothing where it knows none."""
    known = {msgspec.json.encode(call["args"]): call["returns"] for call in expected}
    return lambda program: Ran(
        tuple(Returned(known.get(msgspec.json.encode(call.args))) for call in program.calls), "nowhere"
    )


def never(_program):
    raise AssertionError("nothing is to be run")


def test_a_verdict_is_the_graders_finding_about_this_job():
    case = made.case()
    found = verdict(case, made.attempt(case, made.reply("ANSWER: 41"), label="n", repeat=2), never, SEEDED)
    assert (found.job, found.outcome, found.why, found.grader) == (Job("n", case.id, 2), "fail", "got 41, expected 42", "numeric@2")


def test_marking_twice_gives_the_same_bytes():
    case = made.case()
    pair = [msgspec.json.encode(verdict(case, made.attempt(case), never, SEEDED)) for _ in range(2)]
    assert pair[0] == pair[1]


def test_a_program_is_given_the_hidden_inputs_of_the_seed_and_the_verdict_says_which():
    given = []

    def run(program):
        given.append([list(call.args) for call in program.calls])
        return knowing(with_hidden(CODE, "ab").expected)(program)

    found = verdict(CODE, made.attempt(CODE, SOLVED), run, SEEDED)
    assert given == [[call["args"] for call in with_hidden(CODE, "ab").expected]]
    assert (found.outcome, found.seed) == ("pass", "ab")


def test_a_program_that_knows_the_canonical_answers_by_heart_does_not_pass():
    found = verdict(CODE, made.attempt(CODE, SOLVED), knowing(CODE.expected), SEEDED)
    assert (found.outcome, found.score < 1) == ("fail", True)


def test_a_run_without_a_seed_is_marked_on_the_canonical_inputs():
    found = verdict(CODE, made.attempt(CODE, SOLVED), knowing(CODE.expected), made.plan([CODE]))
    assert (found.outcome, found.seed) == ("pass", "")


def test_the_hidden_inputs_are_those_of_the_form_that_was_asked():
    other = next(cases(FAMILY, "a key"))
    whole = with_hidden(other, "ab", "a key")
    assert len(whole.expected) > len(other.expected)
    solved = made.reply(f"```python\n{other.grading.settings['reference']}\n```")
    found = verdict(other, made.attempt(other, solved), knowing(whole.expected), made.plan([other], seed="ab", form="a key"))
    assert (found.outcome, found.seed) == ("pass", "ab")


def test_a_verdict_for_which_nothing_ran_names_no_seed():
    assert verdict(CODE, made.attempt(CODE, made.reply("I do not know.")), never, SEEDED).seed == ""


def test_a_skipped_row_says_what_would_fit():
    row = Row(Job("m", "x", 1), made.case())
    assert (skipped(row, 9000, 4096).outcome, skipped(row, 9000, 4096).why) == (
        "skipped",
        "needs up to 9,000 tokens of context, 4,096 served",
    )


def test_the_same_question_is_marked_by_todays_rule():
    old = made.case(expected=41)
    new = made.case(expected=42, grading=Grading("exact", {}))
    assert current(old, [new]) == new


def test_another_question_keeps_its_own_rule():
    old = made.case(expected=41)
    assert current(old, [made.case(hash="another")]) == old
