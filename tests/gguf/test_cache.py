import pytest

from crucibleforge.gguf import KvCache
from crucibleforge.gguf._cache import kv_cache


def values(**keys):
    """Keys with `__` for a dot; a number is one value, a list one a layer."""
    return {
        key.replace("__", "."): tuple(value) if isinstance(value, list) else (value,) for key, value in keys.items()
    }


LLAMA_8B = values(block_count=32, embedding_length=4096, attention__head_count=32, attention__head_count_kv=8)


def test_llama_8b_has_131_072_bytes_a_token():
    found = kv_cache("llama", LLAMA_8B)
    assert found.bytes_per_token == 131_072
    assert found.bytes_at(32_768) == 32_768 * 131_072
    assert found.bytes_at(1, value_bytes=1.0) == 65_536
    assert found.query_values == 32 * 4096


def test_stated_head_sizes_go_before_the_width():
    found = kv_cache("x", LLAMA_8B | values(attention__key_length=256, attention__value_length=64))
    assert found.everywhere == 32 * 8 * (256 + 64)


def test_without_heads_of_its_own_the_cache_has_all_heads():
    found = kv_cache("x", values(block_count=2, embedding_length=64, attention__head_count=4))
    assert found.everywhere == 2 * 4 * 32


def test_heads_may_differ_by_layer_and_a_layer_without_heads_keeps_nothing():
    found = kv_cache("x", LLAMA_8B | values(block_count=4, attention__head_count_kv=[8, 0, 2, 0]))
    assert found == KvCache(10 * 256, query_values=2 * 4096)


def test_a_list_shorter_than_the_layers_says_nothing():
    assert kv_cache("x", LLAMA_8B | values(attention__head_count_kv=[8, 8])) is None


@pytest.mark.parametrize(
    ("architecture", "pattern", "full"),
    [("gemma3", {}, 1), ("gpt-oss", {}, 3), ("x", {"attention__sliding_window_pattern": 3}, 2)],
)
def test_windows_are_repeated_by_a_pattern(architecture, pattern, full):
    entries = LLAMA_8B | values(block_count=6, attention__sliding_window=512, **pattern)
    assert kv_cache(architecture, entries) == KvCache(full * 2048, (6 - full) * 2048, 512, full * 4096)


def test_windows_may_be_named_layer_by_layer_with_sizes_of_their_own():
    entries = LLAMA_8B | values(
        block_count=3,
        attention__sliding_window=100,
        attention__sliding_window_pattern=[1, 0, 1],
        attention__key_length_swa=64,
        attention__value_length_swa=32,
    )
    found = kv_cache("x", entries)
    assert (found.everywhere, found.windowed, found.window) == (8 * 256, 2 * 8 * 96, 100)


def test_a_window_stops_growing():
    cache = KvCache(1, 10, 100)
    assert cache.bytes_at(100) == 2 * (100 + 1000)
    assert cache.bytes_at(1000) == 2 * (1000 + 1000)


def test_compressed_values_are_one_row_a_layer():
    entries = values(
        block_count=61, attention__head_count=128, attention__head_count_kv=1, attention__kv_lora_rank=512
    ) | values(rope__dimension_count=64)
    assert kv_cache("deepseek2", entries) == KvCache(61 * 576)


def test_layers_that_draft_or_share_a_cache_keep_none():
    assert kv_cache("x", LLAMA_8B | values(nextn_predict_layers=2)).everywhere == 30 * 2048
    assert kv_cache("x", LLAMA_8B | values(attention__shared_kv_layers=12)).everywhere == 20 * 2048


def test_linear_attention_has_a_cache_in_each_nth_layer():
    entries = LLAMA_8B | values(block_count=8, ssm__state_size=128)
    assert kv_cache("qwen3next", entries | values(full_attention_interval=4)).everywhere == 2 * 2048
    assert kv_cache("falcon-h1", entries) is None


@pytest.mark.parametrize(
    ("architecture", "entries"),
    [
        ("", {}),
        ("x", values(block_count=2)),
        ("x", values(block_count=2, attention__head_count=4)),
        ("x", LLAMA_8B | values(attention__sliding_window=512)),
        ("llama4", LLAMA_8B),
        ("deepseek32", LLAMA_8B | values(attention__indexer__head_count=64)),
        ("x", LLAMA_8B | values(block_count=-1)),
        ("x", LLAMA_8B | values(block_count=2**40)),
        ("x", LLAMA_8B | values(attention__head_count=0)),
        ("x", LLAMA_8B | values(attention__head_count_kv=-3)),
    ],
)
def test_what_a_header_leaves_open_is_unknown(architecture, entries):
    assert kv_cache(architecture, entries) is None
