import pytest

from crucibleforge.gguf import Gguf, KvCache, Weights
from crucibleforge.speed.bounds import (
    Decoding,
    Model,
    decode_bound,
    fits_in_cache,
    implied_bandwidth,
    model_of,
    named_model,
    prefill_bound,
    step_bytes,
    touched,
)
from crucibleforge.speed.hardware import Hardware, parse_hardware

LLAMA = Model(dense_bytes=4.92e9, cache=KvCache(65_536, query_values=131_072), active_params=7.5e9)
MOE = Model(dense_bytes=1e9, expert_bytes=16e9, experts=128, experts_used=8)


def hardware(text, split="layer", **changes):
    found = parse_hardware([text], split)
    return Hardware(found.devices, found.host, found.split, **changes)


def bound(model, text, split="layer", **said):
    return decode_bound(model, hardware(text, split), Decoding(tokens_per_s=1.0, **said))


@pytest.mark.parametrize(("depth", "expected"), [(0, 205), (8192, 168), (32_768, 109), (131_072, 46)])
def test_the_cache_at_depth_costs_what_it_weighs(depth, expected):
    assert bound(LLAMA, "rtx 4090", depth=depth) == pytest.approx(expected, abs=0.6)


def test_an_8_bit_cache_costs_half():
    assert step_bytes(LLAMA, Decoding(tokens_per_s=1, depth=1000, value_bytes=1.0)) == 4.92e9 + 65_536_000


def test_streams_share_the_weights_and_each_pay_their_cache():
    said = Decoding(tokens_per_s=1, streams=4, depth=1000)
    assert step_bytes(LLAMA, said) == pytest.approx(4.92e9 + 4 * 131_072_000)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, 8.0), (2, 15.5), (4, 29.1), (8, 51.6), (16, 82.4), (32, 112), (64, 126)]
)
def test_independent_tokens_touch_more_experts(tokens, expected):
    assert touched(128, 8, tokens) == pytest.approx(expected, rel=0.01)


def test_a_dense_model_touches_no_expert():
    assert touched(0, 0, 4) == 0


def test_the_bound_lets_all_streams_choose_the_same_experts():
    alone, together = Decoding(tokens_per_s=1), Decoding(tokens_per_s=1, streams=8)
    assert step_bytes(MOE, alone) == step_bytes(MOE, together) == 2e9
    assert step_bytes(MOE, together, is_independent=True) == pytest.approx(1e9 + 16e9 * 51.6 / 128, rel=0.01)


def test_verified_drafts_touch_experts_like_streams():
    drafting = Decoding(tokens_per_s=1, tau=4.0)
    assert step_bytes(MOE, drafting, is_independent=True) == pytest.approx(1e9 + 16e9 * 29.1 / 128, rel=0.01)


def test_experts_without_a_count_are_all_read():
    assert Model(dense_bytes=1e9, expert_bytes=2e9).weight_bytes() == 3e9
    assert MOE.weight_bytes(1000) == 17e9


def test_layers_add_times_and_tensors_add_bandwidths():
    model = Model(dense_bytes=16.5e9)
    mixed = "2x rtx5090 + 2x rtx3090"
    assert bound(model, mixed) == pytest.approx(78, abs=0.5)
    assert bound(model, mixed, "tensor") == pytest.approx((2 * 1792 + 2 * 936.2) / 16.5)
    assert bound(model, "2x rtx 5090") == pytest.approx(1792 / 16.5)


def test_stated_shares_go_before_memory():
    model, said = Model(dense_bytes=10e9), Decoding(tokens_per_s=1)
    assert decode_bound(model, hardware("2x rtx 4090", shares=(3, 1)), said) == pytest.approx(100.8)
    assert decode_bound(model, hardware("2x rtx 4090", "tensor", shares=(3, 1)), said) == pytest.approx(134.4)


def test_where_a_memory_is_not_known_layers_are_spread_evenly():
    model = Model(dense_bytes=10e9)
    assert bound(model, "custom:bw=1000 + custom:bw=500") == pytest.approx(1 / (5 / 1000 + 5 / 500))


def test_offloaded_bytes_come_over_the_hosts_memory():
    model = Model(dense_bytes=10e9)
    offloaded = bound(model, "rtx 4090 + ddr5-6000", offloaded_bytes=4e9)
    assert offloaded == pytest.approx(1 / (6 / 1008 + 4 / 96))
    assert bound(model, "rtx 4090", offloaded_bytes=4e9) is None
    assert bound(model, "rtx 4090 + ddr5-6000", offloaded_bytes=99e9) == pytest.approx(9.6)


def test_accepted_drafts_multiply_the_bound():
    assert bound(LLAMA, "rtx 4090", tau=2.5) == pytest.approx(2.5 * 1008 / 4.92)
    assert bound(LLAMA, "rtx 4090", tau=0.5) == pytest.approx(1008 / 4.92)


def test_many_streams_are_bound_by_arithmetic():
    model = Model(dense_bytes=4.92e9, active_params=7.5e9)
    streams = 1000
    assert bound(model, "rtx 4090", streams=streams) == pytest.approx(1.2 * 661e12 / (2 * 7.5e9 * streams))
    assert bound(model, "m5", streams=streams) == pytest.approx(153 / 4.92)


def test_prefill_is_bound_by_the_fastest_kernel_with_a_margin():
    model = Model(dense_bytes=1, active_params=8.03e9)
    assert prefill_bound(model, hardware("rtx 4090"), 512) == pytest.approx(1.2 * 41_158, rel=0.001)
    assert prefill_bound(model, hardware("4x rtx 4090"), 512) == pytest.approx(4.8 * 41_158, rel=0.001)


def test_attention_makes_long_prompts_slower():
    short, long = (prefill_bound(LLAMA, hardware("rtx 4090"), tokens) for tokens in (1, 57_220))
    assert long == pytest.approx(short / 2, rel=0.001)


@pytest.mark.parametrize("text", ["m5", "ddr5-6000", "rtx 4090 + m5"])
def test_without_a_peak_of_each_device_prefill_has_no_bound(text):
    assert prefill_bound(LLAMA, hardware(text), 512) is None


def test_without_a_size_prefill_has_no_bound():
    assert prefill_bound(MOE, hardware("rtx 4090"), 512) is None


def test_implied_bandwidth_needs_no_hardware():
    assert implied_bandwidth(Model(dense_bytes=16.5e9), Decoding(tokens_per_s=84.2)) == pytest.approx(1.3893e12)
    assert implied_bandwidth(Model(dense_bytes=10e9), Decoding(tokens_per_s=100, tau=2.0)) == 500e9


def test_what_the_caches_may_hold_is_told():
    assert fits_in_cache(Model(dense_bytes=190e6), hardware("7900 xtx"), Decoding(tokens_per_s=1))
    assert not fits_in_cache(Model(dense_bytes=193e6), hardware("7900 xtx"), Decoding(tokens_per_s=1))
    assert not fits_in_cache(Model(dense_bytes=1e6), hardware("m4"), Decoding(tokens_per_s=1))


WEIGHTS = Weights(
    total_bytes=30,
    total_params=300,
    dense_bytes=8,
    expert_bytes=16,
    experts=4,
    experts_used=1,
    active_params=120,
    output_params=20,
    is_tied=False,
)


def header(weights):
    return Gguf(3, "a", "", None, None, 100, weights, KvCache(5))


def test_a_header_becomes_a_model():
    assert model_of(header(WEIGHTS)) == Model(
        dense_bytes=8, expert_bytes=16, experts=4, experts_used=1, cache=KvCache(5), active_params=100
    )
    assert model_of(header(None)) is None


@pytest.mark.parametrize(
    ("name", "share"),
    [("Qwen3-30B-A3B", 0.1), ("gemma-4-26b-a4b-it", 4 / 26), ("x-1.5B-A0.3B", 0.2), ("Llama-3.1-8B", 1), ("0B-A1B", 1)],
)
def test_a_name_tells_the_active_share(name, share):
    model = named_model(name, 10e9)
    assert (model.dense_bytes, model.source) == (pytest.approx(10e9 * share), "name")
