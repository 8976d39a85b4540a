"""The fastest that a model can be on given hardware: each token moves its weights and multiplies its parameters.

Bounds err upwards, so that no true speed is called false: streams of a batch are taken to choose the same experts,
caches of unknown kind to be free, draft models too, and compute rates get a margin. (Roofline: Williams, Waterman and
Patterson 2009, CACM 52:65.) GB is 1e9 bytes.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from crucibleforge.gguf import Gguf, KvCache
from crucibleforge.speed.hardware import Hardware

Source = Literal["header", "stated", "name"]

_ACTIVE = re.compile(r"(\d{1,4}(?:\.\d{1,3})?)B[-_. ]A(\d{1,3}(?:\.\d{1,3})?)B", re.IGNORECASE)
# Boost clocks exceed rated ones: an RTX 5070 rated at 61.7 TFLOPS measured 68.4, 11 % above.
COMPUTE_MARGIN = 1.2


class Model(Struct, frozen=True, kw_only=True):
    """What a token reads and multiplies; bytes as on the device.

    `dense_bytes` are read by every step, `expert_bytes` hold all of `experts`, of which a token uses `experts_used`.
    `active_params` are what a token is multiplied with in prefill, without the output head; None where not known.
    `cache` None: not known, taken as free. `source`: a file's header, the user, or only the model's name.
    """

    dense_bytes: float
    expert_bytes: float = 0.0
    experts: int = 0
    experts_used: int = 0
    cache: KvCache | None = None
    active_params: float | None = None
    source: Source = "header"

    def weight_bytes(self, touched: float | None = None) -> float:
        """Weights that a step reads when it touches so many experts of each layer; None: those of one token."""
        if not self.experts:
            return self.dense_bytes + self.expert_bytes
        count = self.experts_used if touched is None else touched
        return self.dense_bytes + self.expert_bytes * min(count / self.experts, 1.0)

    def cache_bytes(self, depth: float, value_bytes: float = 2.0) -> float:
        """Cache that a token reads with `depth` tokens before it."""
        return self.cache.bytes_at(depth, value_bytes) if self.cache else 0.0


class Decoding(Struct, frozen=True, kw_only=True):
    """A measured decode, or one to be bounded.

    `tokens_per_s` is one stream's; `depth` the mean number of tokens before each; `streams` how many ran at once.
    `tau` is the number of tokens that a step yields on average, None where the server does not say; without
    `may_speculate` nothing points to more than one. `offloaded_bytes` is the part of a token's weights that is read
    from the host's memory.
    """

    tokens_per_s: float
    depth: float = 0.0
    streams: int = 1
    tau: float | None = None
    may_speculate: bool = False
    value_bytes: float = 2.0
    offloaded_bytes: float = 0.0


def model_of(gguf: Gguf) -> Model | None:
    """What a header says of the model; None where it does not say which bytes a token reads."""
    weights = gguf.weights
    if weights is None or weights.bytes_per_token is None:
        return None
    active = None if weights.active_params is None else float(weights.active_params - weights.output_params)
    return Model(
        dense_bytes=float(weights.dense_bytes),
        expert_bytes=float(weights.expert_bytes),
        experts=weights.experts,
        experts_used=weights.experts_used,
        cache=gguf.cache,
        active_params=active,
    )


def named_model(name: str, size_bytes: float) -> Model:
    """A model of which only name and size are known: `26B-A4B` reads 4 of 26 parts of it, other names all."""
    found = _ACTIVE.search(name)
    share = min(float(found[2]) / float(found[1]), 1.0) if found and float(found[1]) else 1.0
    return Model(dense_bytes=size_bytes * share, source="name")


def touched(experts: int, used: int, tokens: float) -> float:
    """How many of a layer's experts a step of so many tokens touches if each token chooses for itself.

    The expected number of distinct ones, E(1 - (1 - k/E)^n); real routing is correlated and touches fewer.
    """
    return experts * (1 - (1 - min(used / experts, 1.0)) ** tokens) if experts else 0.0


def step_bytes(model: Model, decoding: Decoding, *, is_independent: bool = False) -> float:
    """Bytes that one step of all streams reads; `is_independent`: every token of it chooses its own experts."""
    tokens = decoding.streams * max(decoding.tau or 1.0, 1.0)
    count = touched(model.experts, model.experts_used, tokens) if is_independent else None
    cache = model.cache_bytes(decoding.depth, decoding.value_bytes)
    return model.weight_bytes(count) + decoding.streams * cache


def step_s(model: Model, hardware: Hardware, decoding: Decoding, *, is_independent: bool = False) -> float | None:
    """The shortest step, in seconds; None where the host's bandwidth is needed and not known."""
    total = step_bytes(model, decoding, is_independent=is_independent)
    offloaded = min(max(decoding.offloaded_bytes, 0.0), total)
    if offloaded and hardware.host is None:
        return None
    moving = _moving_s(total - offloaded, hardware)
    if hardware.host is not None:
        moving += offloaded / (hardware.host.gb_per_s * 1e9)
    return max(moving, _computing_s(model, hardware, decoding))


def decode_bound(model: Model, hardware: Hardware, decoding: Decoding, *, is_independent: bool = False) -> float | None:
    """The most tokens a second that each stream can get; None where the hardware is not known well enough."""
    shortest = step_s(model, hardware, decoding, is_independent=is_independent)
    return max(decoding.tau or 1.0, 1.0) / shortest if shortest else None


def prefill_bound(model: Model, hardware: Hardware, tokens: float) -> float | None:
    """The most uncached prompt tokens a second, for a prompt of so many; None where a peak or size is not known.

    The peak is the fastest that the kernels may use, INT8 for quantised weights; devices add up at best. Attention
    costs 4 x query width x half the length.
    """
    peak = _peak(hardware)
    if peak is None or not model.active_params:
        return None
    attention = 2 * model.cache.query_values * tokens if model.cache else 0.0
    return COMPUTE_MARGIN * peak / (2 * model.active_params + attention)


def implied_bandwidth(model: Model, decoding: Decoding) -> float:
    """Bytes a second that such a decode moves, whatever it ran on: steps a second times bytes a step."""
    return decoding.tokens_per_s / max(decoding.tau or 1.0, 1.0) * step_bytes(model, decoding)


def fits_in_cache(model: Model, hardware: Hardware, decoding: Decoding) -> bool:
    """True when a step reads so little that the last-level caches may hold it, and memory is no limit."""
    cached = sum(device.llc_mb or 0.0 for device in hardware.devices) * 1e6
    return step_bytes(model, decoding) < 2 * cached


def _moving_s(total: float, hardware: Hardware) -> float:
    rates = [device.gb_per_s * 1e9 for device in hardware.devices]
    if not hardware.shares and hardware.split == "tensor":
        return total / sum(rates)
    shares = hardware.shares or _by_memory(hardware)
    times = [total * share / sum(shares) / rate for share, rate in zip(shares, rates, strict=True)]
    return max(times) if hardware.split == "tensor" else sum(times)


def _by_memory(hardware: Hardware) -> tuple[float, ...]:
    """Layers are spread by memory; where one is not known, evenly."""
    sizes = [device.memory_gb for device in hardware.devices]
    known = [size for size in sizes if size]
    return tuple(known) if len(known) == len(sizes) else (1.0,) * len(sizes)


def _computing_s(model: Model, hardware: Hardware, decoding: Decoding) -> float:
    peak = _peak(hardware)
    if peak is None or not model.active_params:
        return 0.0
    return decoding.streams * 2 * model.active_params / (COMPUTE_MARGIN * peak)


def _peak(hardware: Hardware) -> float | None:
    peaks = [device.peak for device in hardware.devices]
    known = [peak for peak in peaks if peak]
    return sum(known) if known and len(known) == len(peaks) else None
