import pytest

from crucibleforge.gguf import KvCache
from crucibleforge.speed.bounds import Decoding, Model, named_model
from crucibleforge.speed.hardware import parse_hardware
from crucibleforge.speed.plausible import Evidence, Prefilling, decode_verdict, prefill_verdict

GIB = 2**30
GOOD = Evidence(repeats=5, is_steady=True, agrees_with_server=True)
TEN_GB = Model(dense_bytes=10e9)


def judged(model, text, tokens_per_s, evidence=GOOD, **said):
    hardware = parse_hardware([text]) if text else None
    return decode_verdict(model, hardware, Decoding(tokens_per_s=tokens_per_s, **said), evidence)


def dense(gb):
    return Model(dense_bytes=gb * 1e9, source="stated")


def test_30_gb_at_200_tokens_a_second_is_impossible_on_a_7900_xtx():
    found = judged(dense(30), "7900 XTX", 200)
    assert (found.word, found.confidence) == ("impossible", "LOW")
    assert found.text == (
        "implies 6.00 TB/s (200 tok/s at 30 GB a token, as stated), 625 % of what RX 7900 XTX allows (32 tok/s)\n"
        "speculation would have to yield 6.2 or more tokens a step; usual causes: another device or split than named, "
        "speculation, miscounted tokens, a smaller quant than named, or several replies merged"
    )


def test_16_5_gb_at_84_2_is_fine_on_a_5090_and_impossible_on_a_4090():
    fine, impossible = judged(dense(16.5), "rtx 5090", 84.2), judged(dense(16.5), "rtx 4090", 84.2)
    assert (fine.word, impossible.word) == ("plausible", "impossible")
    assert fine.text == (
        "implies 1.39 TB/s (84.2 tok/s at 16.5 GB a token, as stated), 78 % of what RTX 5090 allows (109 tok/s)\n"
        "not contradicted by the hardware; such sizes usually reach 55-85 %"
    )
    assert judged(dense(16.5), "2x rtx5090 + 2x rtx3090", 84.2).word == "impossible"


def test_4b_of_26b_active_at_229_is_fine_on_a_5090():
    by_name = named_model("gemma-4-26B-A4B", 26e9 * 4.85 / 8)
    found = judged(by_name, "rtx 5090", 229)
    assert found.word == "plausible"
    assert found.text.startswith("implies 555 GB/s (229 tok/s at 2.42 GB a token, by the model's name), 31 % of")


README = (
    "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference/blob/00dd2bdeb2404263f22bd6c1cd46ce397e341db5/"
    "README.md"
)
SPARK = "https://github.com/ggml-org/llama.cpp/blob/4c7e9893c4ca8eec35d032726d14b74fae76cff8/benches/dgx-spark.md"
# Device, size of the file in GiB as llama-bench prints it (README writes GB for the same), tokens a second of its `tg` test, where it was published.
PUBLISHED = [
    ("rtx 4090", 12.55, 61.03, "https://github.com/ggml-org/llama.cpp/pull/4766"),
    ("rtx 4090", 6.67, 98.13, "https://github.com/ggml-org/llama.cpp/pull/4766"),
    ("rx 6800 xt", 9.95, 34.13, "https://github.com/ggml-org/llama.cpp/pull/2059"),
    ("m2", 3.83, 20.06, "https://github.com/ggml-org/llama.cpp/issues/5480"),
    ("arc b580", 4.36, 66.48, "https://github.com/intel/ipex-llm/issues/12991"),
    ("arc pro b70", 17.46, 18.08, "https://github.com/ggml-org/llama.cpp/pull/22078"),
    ("rtx 2080 ti", 636.18 / 1024, 424.32, "https://github.com/geerlingguy/ai-benchmarks/issues/46"),
    ("rtx 3060", 636.18 / 1024, 279.05, "https://github.com/geerlingguy/ai-benchmarks/issues/40"),
    ("rtx 4090", 636.18 / 1024, 762.37, "https://github.com/geerlingguy/ai-benchmarks/issues/43"),
    ("rtx 3070", 4.58, 72.79, README),
    ("rtx 3080", 4.58, 109.57, README),
    ("rtx 3080 ti", 4.58, 110.60, README),
    ("rtx 4070 ti", 4.58, 83.50, README),
    ("rtx 4080", 14.96, 40.58, README),
    ("rtx 3090", 14.96, 47.40, README),
    ("rtx 4090", 14.96, 54.84, README),
    ("2x rtx 3090", 39.59, 16.57, README),
    ("2x rtx 4090", 39.59, 19.22, README),
    ("6x rtx 3090", 131.42, 5.85, README),
    ("m1", 4.58, 10.20, README),
    ("m1 max", 14.96, 18.75, README),
    ("m2 ultra", 14.96, 36.90, README),
    ("m2 ultra", 131.42, 4.76, README),
    ("m3 max 40c", 14.96, 22.04, README),
    ("dgx spark", 7.54, 29.30, SPARK),
    ("dgx spark", 2.35, 78.97, SPARK),
]


@pytest.mark.parametrize(("device", "gib", "tokens_per_s", "source"), PUBLISHED)
def test_what_was_published_of_llama_bench_is_plausible_and_twice_the_bound_is_not(device, gib, tokens_per_s, source):
    assert source.startswith("https://github.com/")
    model = Model(dense_bytes=gib * GIB, source="stated")
    found = judged(model, device, tokens_per_s)
    assert found.word == "plausible", found.text
    assert judged(model, device, 2 * found.bound).word == "impossible"


def gpt_oss_20b():
    """From its published shape: 24 layers, 32 experts of which 4, width 2880, 201,088 words, untied; half windowed.

    https://gitcode.com/Ascend/slime-ascend/blob/main/scripts/models/gpt-oss-20B.sh
    """
    experts = 24 * 32 * 3 * 2880 * 2880 * 17 / 32
    embedding = 201_088 * 2880 * 34 / 32
    return Model(
        dense_bytes=11.27 * GIB - experts - embedding,
        expert_bytes=experts,
        experts=32,
        experts_used=4,
        cache=KvCache(12 * 8 * 128, 12 * 8 * 128, 128),
        active_params=3.6e9 - 201_088 * 2880,
        source="stated",
    )


@pytest.mark.parametrize(("depth", "tokens_per_s"), [(0, 84.10), (4096, 77.36), (8192, 74.00), (32_768, 59.85)])
def test_a_published_mixture_is_plausible_at_each_depth(depth, tokens_per_s):
    # Published in SPARK.
    found = judged(gpt_oss_20b(), "dgx spark", tokens_per_s, depth=depth)
    assert found.word == "plausible", found.text
    assert judged(gpt_oss_20b(), "dgx spark", 2 * found.bound, depth=depth).word == "impossible"


@pytest.mark.parametrize(
    ("model", "device", "tokens", "tokens_per_s"),
    [
        (gpt_oss_20b(), "dgx spark", 2048, 3782.76),
        (Model(dense_bytes=1, active_params=7.5e9), "rtx 4090", 512, 9382.00),
        (Model(dense_bytes=1, active_params=7.5e9), "rtx 3090", 512, 4444.65),
        (Model(dense_bytes=1, active_params=7.5e9), "m2 ultra", 512, 1175.40),
        (Model(dense_bytes=1, active_params=7.5e9), "m3 max 40c", 512, 769.84),
    ],
)
def test_a_published_prefill_is_plausible_and_twice_the_bound_is_not(model, device, tokens, tokens_per_s):
    # Published in SPARK and README.
    hardware = parse_hardware([device])
    found = prefill_verdict(model, hardware, Prefilling(tokens_per_s=tokens_per_s, tokens=tokens, is_uncached=True))
    assert found.word == "plausible", found.text
    doubled = Prefilling(tokens_per_s=2 * found.bound, tokens=tokens, is_uncached=True)
    assert prefill_verdict(model, hardware, doubled).word == "impossible"


# 10 GB on 1008 GB/s: the bound is 100.8.
@pytest.mark.parametrize(
    ("tokens_per_s", "word", "band"),
    [
        (106, "impossible", "above the bound"),
        (105, "plausible", "at the bound"),
        (91, "plausible", "at the bound"),
        (90, "plausible", "typical"),
        (36, "plausible", "typical"),
        (35, "below expectation", "low"),
        (19, "below expectation", "far under"),
    ],
)
def test_each_part_of_the_bound_has_its_word(tokens_per_s, word, band):
    found = judged(TEN_GB, "rtx 4090", tokens_per_s)
    assert (found.word, found.band) == (word, band)
    assert found.ratio == pytest.approx(tokens_per_s / 100.8)


@pytest.mark.parametrize(
    ("gb", "ratio", "word"),
    [(2, 0.21, "plausible"), (2, 0.19, "below expectation"), (0.9, 0.05, "plausible"), (0.9, 1.06, "impossible")],
)
def test_small_models_are_expected_to_reach_less(gb, ratio, word):
    assert judged(Model(dense_bytes=gb * 1e9), "rtx 4090", ratio * 1008 / gb).word == word


def test_a_low_speed_names_its_usual_causes():
    assert judged(TEN_GB, "rtx 4090", 10).text.splitlines()[1] == (
        "such sizes usually reach 55-85 %; usual causes: part of it on the CPU, another backend than meant, "
        "a power or thermal limit, or other load on the device"
    )


def test_where_drafts_are_likely_a_claim_above_the_bound_needs_them():
    needs = judged(TEN_GB, "rtx 4090", 202, may_speculate=True)
    assert (needs.word, needs.confidence) == ("needs speculation or cache", "LOW")
    assert needs.text.splitlines()[1] == (
        "only possible if speculation yields 2 or more tokens a step, or if part of it comes from a cache"
    )
    assert judged(TEN_GB, "rtx 4090", 700, may_speculate=True).word == "impossible"


def test_known_drafts_are_part_of_the_bound():
    assert judged(TEN_GB, "rtx 4090", 202, may_speculate=True, tau=3.0).word == "plausible"
    assert judged(TEN_GB, "rtx 4090", 320, may_speculate=True, tau=3.0).word == "impossible"


def test_without_hardware_the_bandwidth_is_still_implied():
    found = judged(dense(16.5), None, 84.2)
    assert (found.word, found.bound) == ("unknown", None)
    assert found.text == (
        "implies 1.39 TB/s (84.2 tok/s at 16.5 GB a token, as stated)\n"
        "the hardware is not known; A100 40 GB is the slowest single device in the table that has so much"
    )
    assert judged(dense(100), None, 100).text.endswith("no single device in the table has so much")


def test_without_bytes_or_a_host_nothing_is_claimed():
    assert judged(None, "rtx 4090", 100).word == "unknown"
    assert judged(TEN_GB, "rtx 4090", 100, offloaded_bytes=1e9).word == "unknown"


def test_in_the_last_level_cache_memory_is_no_limit():
    found = judged(Model(dense_bytes=100e6), "7900 xtx", 20_000)
    assert found.word == "not applicable"
    assert found.implied_bytes_per_s == 2e12


def test_an_unsure_bandwidth_is_said():
    assert judged(TEN_GB, "h100", 300).text.endswith("; the bandwidth of H100 NVL is unsure")
    assert "`m4 max` may be M4 Max 32c, M4 Max 40c" in judged(TEN_GB, "m4 max", 40).text


def test_a_rough_measure_is_given_more_room():
    assert judged(named_model("x", 10e9), "rtx 4090", 115).word == "plausible"
    assert judged(named_model("x", 10e9), "rtx 4090", 117).word == "impossible"


@pytest.mark.parametrize(
    ("evidence", "confidence"),
    [
        (GOOD, "HIGH"),
        (Evidence(4, is_steady=True, agrees_with_server=True), "MEDIUM"),
        (Evidence(5, is_steady=None, agrees_with_server=True), "MEDIUM"),
        (Evidence(5, is_steady=True, agrees_with_server=None), "MEDIUM"),
        (Evidence(5, is_steady=False, agrees_with_server=True), "LOW"),
        (Evidence(5, is_steady=True, agrees_with_server=False), "LOW"),
        (Evidence(100), "LOW"),
        (Evidence(), "LOW"),
    ],
)
def test_being_under_the_bound_earns_no_confidence(evidence, confidence):
    assert judged(TEN_GB, "rtx 4090", 80, evidence).confidence == confidence


@pytest.mark.parametrize(
    ("model", "device", "tokens_per_s"),
    [(dense(10), "rtx 4090", 80), (TEN_GB, "h100", 300), (TEN_GB, "rtx 4090", 95), (TEN_GB, "rtx 4090", 10)],
)
def test_without_a_sure_and_usual_bound_confidence_is_never_high(model, device, tokens_per_s):
    assert judged(model, device, tokens_per_s).confidence == "MEDIUM"
    assert judged(TEN_GB, None, 80).confidence == "MEDIUM"


def test_streams_of_a_mixture_are_judged_between_the_same_and_other_experts():
    model = Model(dense_bytes=1e9, expert_bytes=40e9, experts=128, experts_used=8)
    hard = judged(model, "rtx 4090", 100, streams=16)
    assert hard.bound == pytest.approx(1008 / 3.5)
    assert (hard.word, hard.band) == ("plausible", "typical")


def prefill(tokens_per_s, tokens=2048, **said):
    model = Model(dense_bytes=1, active_params=8e9)
    hardware = parse_hardware(["rtx 4090"])
    return prefill_verdict(model, hardware, Prefilling(tokens_per_s=tokens_per_s, tokens=tokens, **said), GOOD)


def test_a_prefill_above_the_bound_was_cached_unless_that_is_ruled_out():
    cached = prefill(60_000)
    assert cached.word == "needs speculation or cache"
    assert cached.text == (
        "121 % of what RTX 4090 can compute (49,575 tok/s)\nusual cause: part of the prompt was cached"
    )
    assert prefill(60_000, is_uncached=True).word == "impossible"


def test_a_slow_prefill_counts_only_for_a_long_prompt():
    assert prefill(1000).word == "below expectation"
    assert prefill(1000, tokens=100).word == "plausible"
    assert prefill(20_000).confidence == "HIGH"


def test_a_prefill_without_a_peak_is_unknown():
    model = Model(dense_bytes=1, active_params=8e9)
    said = Prefilling(tokens_per_s=100, tokens=512)
    assert prefill_verdict(model, parse_hardware(["m5"]), said).word == "unknown"
    assert prefill_verdict(None, None, said).word == "unknown"
    assert prefill_verdict(model, parse_hardware(["dgx spark"]), said).text.endswith("; the peak rate is unsure")
