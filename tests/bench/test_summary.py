import pytest
from recorded import SUBJECT, answers, measured, record

from crucibleforge.bench.summary import summarized


def test_the_words_hold_what_decides():
    words = record(measured(), answers(wrong={"pets"})).summary.words
    assert words.startswith("fake on openai; writes 100 tok/s (100 to 100, n=6); first token after ")
    assert "; reads 1,0" in words
    assert words.endswith("; ability 4/5 (not passed: pets); agent fitness 3/3")


@pytest.mark.parametrize(("wrong", "right"), [((), 2), (("shape",), 1), (("shape", "structure"), 0), (("pets",), 2)])
def test_bulk_json_work_is_answered_by_both_checks_about_json(wrong, right):
    found = record(measured(), answers(wrong)).summary.json
    assert (found.right, found.asked) == (right, 2)
    assert found.tok_per_s == pytest.approx(100)


def test_the_best_throughput_is_that_of_the_best_number_of_streams():
    speed = measured(concurrency=(1, 4))
    found = record(speed, answers()).summary.json
    best = max(speed.loads, key=lambda row: row.whole_per_s)
    assert (found.best_streams, found.best_tok_per_s) == (best.streams, best.whole_per_s)
    assert len(speed.loads) == 2


def test_what_was_not_asked_counts_in_neither():
    summary = record(measured(), answers()[:2]).summary
    assert (summary.ability_passed, summary.ability_asked, summary.fitness_asked) == (2, 2, 0)
    assert summary.json is None


def test_nothing_measured_gives_no_figures_and_no_verdict():
    summary = summarized(SUBJECT, None, None, ())
    assert (summary.words, summary.tok_per_s, summary.n, summary.plausibility) == ("fake on openai", None, 0, "unknown")
