import msgspec
import pytest
import timed
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.chat import ServerTimings
from crucibleforge.speed.crosscheck import crosscheck, crosscheck_prefill
from crucibleforge.speed.gaps import gaps
from crucibleforge.speed.load import load
from crucibleforge.speed.sample import failed, sample
from crucibleforge.speed.slope import prefill


def checks(timings, **fields):
    """By name; the client's decode rate is 100 tok/s over 64 tokens, its first token comes after 0.1 s."""
    return {check.what: check for check in crosscheck([failed("x"), sample(timed.replied(timed.every(0.01, 64), timings=timings, **fields))])}


@pytest.mark.parametrize(("predicted_ms", "rule"), [(630.0, "(N - 1)"), (640.0, "N / time")])
def test_28_both_conventions_of_llama_cpp_agree_with_the_same_speed(predicted_ms, rule):
    check = checks(timed.stated(64, predicted_ms))["decode"]
    assert (check.agrees, round(check.difference, 6), check.rule.startswith(rule)) == (True, 0.0, True)


def test_a_server_that_differs_is_shown_with_the_difference():
    check = checks(timed.stated(64, 600.0))["decode"]
    assert (check.agrees, check.client, check.server) == (False, pytest.approx(100.0), pytest.approx(105.0))
    assert check.difference == pytest.approx(100 / 105 - 1)


def test_ollamas_count_spans_one_interval_less():
    check = checks(timed.stated(64, 640.0, source="ollama"))["decode"]
    assert (check.agrees, check.server) == (False, pytest.approx(63 / 0.64))


def test_29_the_prompt_of_ollama_is_all_that_was_read_and_all_that_was_cached():
    timings = ServerTimings(1, 90.0, 64, 630.0, cache_n=331, source="ollama")
    assert checks(timings, prompt=332)["prompt tokens"].agrees
    assert checks(timings, prompt=1)["prompt tokens"].difference == -331


def test_the_first_token_is_never_before_the_prompt_was_read():
    assert checks(timed.stated(prompt_ms=90.0))["first token"].difference == pytest.approx(0.01)
    assert checks(timed.stated(prompt_ms=90.0))["first token"].agrees
    assert not checks(timed.stated(prompt_ms=110.0))["first token"].agrees


def test_lm_studio_is_given_3_percent_and_30_ms():
    near = checks(timed.stated(64, 620.0, prompt_ms=75.0, source="lmstudio"))
    assert (near["decode"].agrees, near["first token"].agrees, near["first token"].difference) == (True, True, pytest.approx(0.025))
    far = checks(timed.stated(64, 600.0, prompt_ms=60.0, source="lmstudio"))
    assert (far["decode"].agrees, far["first token"].agrees) == (False, False)


def test_a_server_that_states_nothing_is_not_compared():
    assert checks(None) == {}


def test_reading_speed_is_compared_slope_with_slope():
    points = [[(256, 0.256), (256, 0.256)], [(2048, 2.048), (2048, 2.048)]]
    mine = prefill([[(n, s * 1.02 + 0.03) for n, s in repeats] for repeats in points])
    check = crosscheck_prefill(mine, points)
    assert (check.agrees, check.difference, check.n) == (True, pytest.approx(1 / 1.02 - 1), 4)
    assert crosscheck_prefill(msgspec.structs.replace(mine, per_s=None), points) is None


COUNTS, DURATIONS = st.integers(0, 2**31 - 1), st.floats(0, 1e308)
TIMINGS = st.builds(
    ServerTimings,
    COUNTS,
    DURATIONS,
    COUNTS,
    DURATIONS,
    COUNTS,
    st.none() | DURATIONS,
    st.sampled_from(["llama.cpp", "ollama", "lmstudio"]),
    st.none() | COUNTS,
    st.none() | COUNTS,
)


@given(st.lists(st.tuples(TIMINGS, COUNTS, COUNTS, st.none() | COUNTS, st.none() | COUNTS, st.integers(0, 40)), max_size=4))
def test_whatever_a_server_claims_is_only_compared(claims):
    made = [
        sample(timed.replied(timed.every(0.01, events), tokens, prompt=prompt, cached=cached, thoughts=thoughts, n1=cached, timings=timings))
        for timings, tokens, prompt, cached, thoughts, events in claims
    ]
    read = [[(one.fresh_tokens, one.ttft_any_s)] for one in made if one.ttft_any_s is not None]
    own = [[(timings.prompt_n, timings.prompt_ms / 1e3)] for timings, *_ in claims]
    mine = prefill(read)
    if mine is not None:
        crosscheck_prefill(mine, own)
    assert len(crosscheck(made)) <= 3
    gaps([one.reply for one in made])
    load([made])
