"""How much of the key-value cache one decoded token reads, from the header's account of the attention.

Layers may see the whole context or a window, share their cache, keep compressed values (MLA), or none at all (linear
attention). What a header leaves open, or does in a way not named here, is None: a guess could call a true speed false.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

# llama.cpp's `set_swa_pattern(n)`, where the header has no pattern of its own: each n-th layer sees everything.
_EACH_FULL = {"gemma2": 2, "gemma3": 6, "gemma3n": 5, "gpt-oss": 2, "cohere2": 4, "exaone4": 4}
# They attend to chunks, or to tokens that an index picked, so less is read than a header's head counts say.
_OPAQUE = frozenset({"llama4", "attention.indexer.head_count"})
_MAX_LAYERS = 4096
_RECURRENT = frozenset({"ssm.state_size", "ssm.inner_size", "wkv.head_size"})

WANTED = (
    frozenset(
        {
            "block_count",
            "embedding_length",
            "full_attention_interval",
            "nextn_predict_layers",
            "rope.dimension_count",
            *(
                f"attention.{key}"
                for key in (
                    *("head_count", "head_count_kv", "key_length", "value_length", "key_length_swa"),
                    *("value_length_swa", "kv_lora_rank", "sliding_window", "sliding_window_pattern"),
                    *("shared_kv_layers", "indexer.head_count"),
                )
            ),
        }
    )
    | _RECURRENT
)
"""Keys without the architecture's name; lists are one number a layer."""


class KvCache(Struct, frozen=True):
    """What is kept for each token of context, as numbers of values; an F16 cache has two bytes a value.

    `everywhere` is summed over the layers that see the whole context, `windowed` over those that see the last `window`
    tokens. `query_values` is the width of all query heads of the former, for the cost of attention in prefill.
    """

    everywhere: int
    windowed: int = 0
    window: int = 0
    query_values: int = 0

    def bytes_at(self, depth: float, value_bytes: float = 2.0) -> float:
        """Bytes that a token reads when `depth` tokens stand before it."""
        return value_bytes * (self.everywhere * depth + self.windowed * min(depth, self.window))

    @property
    def bytes_per_token(self) -> int:
        """Bytes that each token of a short context adds, as F16."""
        return 2 * (self.everywhere + self.windowed)


def kv_cache(architecture: str, values: Mapping[str, tuple[int, ...]]) -> KvCache | None:
    """The cache of a model, from the `WANTED` keys of its header; None where they do not say."""
    layers = _one(values, "block_count") - _one(values, "nextn_predict_layers")
    if not 0 < layers <= _MAX_LAYERS or architecture in _OPAQUE or _OPAQUE & values.keys():
        return None
    heads = _kv_heads(values, layers)
    if heads is None:
        return None
    rank = _one(values, "attention.kv_lora_rank")
    if rank > 0:
        per_layer = rank + _one(values, "rope.dimension_count")
        return KvCache(per_layer * sum(1 for count in heads if count))
    window = _one(values, "attention.sliding_window")
    sees_all = _sees_all(architecture, values, layers) if window > 0 else (True,) * layers
    sizes = _head_sizes(values)
    if sees_all is None or sizes is None:
        return None
    (full, windowed), query = sizes, _query_heads(values, layers)
    own = max(layers - _one(values, "attention.shared_kv_layers"), 0)
    kept = [(count, everything) for count, everything in zip(heads, sees_all, strict=True)][:own]
    return KvCache(
        everywhere=sum(count * full for count, everything in kept if everything),
        windowed=sum(count * windowed for count, everything in kept if not everything),
        window=max(window, 0),
        query_values=sum(
            count * full // 2 for count, kv, everything in zip(query, heads, sees_all, strict=True) if kv and everything
        ),
    )


def _one(values: Mapping[str, tuple[int, ...]], key: str) -> int:
    found = values.get(key, ())
    return found[0] if len(found) == 1 else 0


def _kv_heads(values: Mapping[str, tuple[int, ...]], layers: int) -> tuple[int, ...] | None:
    """Heads with a cache of their own in each layer; 0 for a layer of linear attention."""
    found = values.get("attention.head_count_kv") or values.get("attention.head_count", ())
    if len(found) > 1 or (len(found) == 1 and layers == 1):
        # A list may go on for the layers that only draft.
        return tuple(max(count, 0) for count in found[:layers]) if len(found) >= layers else None
    if not found or found[0] <= 0:
        return None
    if not _RECURRENT & values.keys():
        return found * layers
    interval = _one(values, "full_attention_interval")
    if interval <= 0:
        return None
    return tuple(found[0] if (layer + 1) % interval == 0 else 0 for layer in range(layers))


def _query_heads(values: Mapping[str, tuple[int, ...]], layers: int) -> tuple[int, ...]:
    found = values.get("attention.head_count", (0,))
    return found[:layers] if len(found) >= layers else found[:1] * layers


def _sees_all(architecture: str, values: Mapping[str, tuple[int, ...]], layers: int) -> tuple[bool, ...] | None:
    """For each layer whether it sees the whole context; None where nobody says."""
    pattern = values.get("attention.sliding_window_pattern", ())
    if len(pattern) >= layers > 1:
        return tuple(not is_windowed for is_windowed in pattern[:layers])
    each = pattern[0] if len(pattern) == 1 else _EACH_FULL.get(architecture, 0)
    return tuple((layer + 1) % each == 0 for layer in range(layers)) if each > 0 else None


def _head_sizes(values: Mapping[str, tuple[int, ...]]) -> tuple[int, int] | None:
    """Values of key and value together, for one head of a layer that sees everything and of a windowed one."""
    heads = max(values.get("attention.head_count", (0,)), default=0)
    usual = _one(values, "embedding_length") // heads if heads > 0 else 0
    key = _one(values, "attention.key_length") or usual
    value = _one(values, "attention.value_length") or usual
    if key <= 0 or value <= 0:
        return None
    return key + value, (_one(values, "attention.key_length_swa") or key) + (
        _one(values, "attention.value_length_swa") or value
    )
