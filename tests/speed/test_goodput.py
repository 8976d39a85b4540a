import pytest
import timed

from crucibleforge.errors import InputError, UnknownName
from crucibleforge.speed.goodput import PRESETS, Slo, goodput, parse
from crucibleforge.speed.sample import failed, sample


@pytest.mark.parametrize(
    ("text", "ttft_s", "tpot_s"),
    [
        ("ttft=500ms,tpot=30ms", 0.5, 0.03),
        ("TTFT=2s", 2.0, None),
        ("tpot=40", None, 0.04),
        ("ttft=1.5s, tpot=80 ms", 1.5, 0.08),
        ("llama-3.1-8b", 2.0, 0.1),
        ("gpt-oss-120b:interactive", 2.0, 0.02),
    ],
)
def test_limits_are_read_as_people_write_them(text, ttft_s, tpot_s):
    slo = parse(text)
    assert (slo.ttft_s, slo.tpot_s) == (pytest.approx(ttft_s) if ttft_s else None, pytest.approx(tpot_s) if tpot_s else None)


@pytest.mark.parametrize("text", ["ttft=", "ttft=0", "ttft=-1", "ttft=x", "speed=3", "ttft=1,ttft=2", "ttft=1,", "ttft=nan", "ttft=1e3", "ttft=٣"])
def test_what_is_no_limit_is_refused_with_an_example(text):
    with pytest.raises(InputError) as caught:
        parse(text)
    assert "ttft=500ms" in caught.value.hint


def test_an_unknown_preset_is_told_the_nearest():
    with pytest.raises(UnknownName) as caught:
        parse("llama-3.1-8")
    assert "llama-3.1-8b" in caught.value.hint


def test_presets_are_those_of_mlperf():
    assert len(PRESETS) == 10
    assert PRESETS["deepseek-r1:interactive"] == Slo("deepseek-r1:interactive", 1.5, 0.015)


def test_only_requests_within_all_limits_count_and_a_failure_never_does():
    good = sample(timed.replied(timed.every(0.01, 32, first_s=0.4)))
    late, slow = sample(timed.replied(timed.every(0.01, 32, first_s=0.6))), sample(timed.replied(timed.every(0.05, 32, first_s=0.4)))
    found = goodput([good, late, slow, failed("x")], parse("ttft=500,tpot=30"), 2.0)
    assert (found.met, found.total, found.per_s, found.met_ttft, found.met_tpot) == (1, 4, 0.5, 2, 2)
    assert goodput([failed("x")], Slo("none"), 2.0).met == 0


def test_the_first_content_is_held_to_the_limit_under_another_name():
    thought = sample(timed.replied(timed.every(0.01, 99), thought_s=0.1, spoke_s=0.9))
    found = goodput([thought], parse("ttft=500"), 1.0)
    assert (found.met, found.met_with_content) == (1, 0)
