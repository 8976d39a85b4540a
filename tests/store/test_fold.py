import made

from crucibleforge.store.fold import fold, jobs

A, B = made.case("math/sum/L1.1"), made.case("math/sum/L3.1")
CASES = {A.id: A, B.id: B}


def rows(*events):
    return fold(made.plan([A, B]), CASES, events)


def test_jobs_are_targets_by_cases_by_repeats():
    plan = made.plan([A, B], made.target("m"), made.target("n"), repeats=2)
    found = [(job.label, job.case_id, job.repeat) for job in jobs(plan)]
    assert found == [(label, case.id, repeat) for label in "mn" for case in (A, B) for repeat in (1, 2)]


def test_without_events_every_job_is_an_empty_row():
    assert [(row.job.case_id, row.attempt, row.verdict) for row in rows()] == [(A.id, None, None), (B.id, None, None)]


def test_the_last_attempt_and_the_last_verdict_count():
    row = rows(made.attempt(A), made.verdict(A, "fail"), made.verdict(A, "pass"))[0]
    assert (row.verdict.outcome, row.is_settled) == ("pass", True)


def test_a_new_attempt_voids_the_verdict_on_the_one_before():
    row = rows(made.attempt(A), made.verdict(A), made.attempt(A, made.reply("other")))[0]
    assert (row.verdict, row.attempt.replies[0].text) == (None, "other")


def test_events_of_jobs_outside_the_plan_are_passed_over():
    assert rows(made.attempt(A, label="stranger"), made.attempt(made.case("math/sum/L1.9"))) == rows()
