"""The tensor section of a header: exact bytes of each tensor, summed by when they are read.

A type's name says little of a file's size: gemma3-270m as "Q4_K_M" averages 7.36 bits a weight. So bytes are counted.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from crucibleforge.gguf._reader import Reader

Role = Literal["dense", "expert", "embedding", "output", "lookup", "draft"]

_MAX_TENSORS = 200_000
_MAX_DIMENSIONS = 4
_MAX_ELEMENTS = 2**53

# ggml's enum ggml_type: values in a block and bytes of it (ggml/src/ggml-common.h, ggml.c `type_traits`).
_TYPES = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36 + 4),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
}

# `ffn_up_exps` holds all experts; files older than that have one tensor each, `ffn_up.3`. `_shexp` is always used.
_EXPERT = re.compile(r"exps\.|\.ffn_(?:gate|up|down)\.\d+\.")
_BLOCK = re.compile(r"blk\.(\d{1,6})\.")
# One row of these is read per token, however large they are.
_LOOKUPS = frozenset({"position_embd.weight", "token_types.weight", "per_layer_token_embd.weight"})


class Weights(Struct, frozen=True, kw_only=True):
    """A model's tensors, summed; all sizes in bytes.

    `dense_bytes` are read for every token whatever the routing; `expert_bytes` hold all of `experts`, of which a token
    uses `experts_used` (both 0 without experts, or where the header does not say). `output_params` is the output head,
    which in prefill only the last token needs; `active_params` is what one token is multiplied with, it included, and
    None where the share of the experts is not known.
    """

    total_bytes: int
    total_params: int
    dense_bytes: int
    expert_bytes: int
    experts: int
    experts_used: int
    active_params: int | None
    output_params: int
    is_tied: bool

    @property
    def bytes_per_token(self) -> float | None:
        """Weights that one token reads when it is decoded alone; None where the share of the experts is not known."""
        if not self.expert_bytes:
            return float(self.dense_bytes)
        if not (self.experts and self.experts_used):
            return None
        return self.dense_bytes + self.expert_bytes * self.experts_used / self.experts


class Tally:
    """Adds up the tensors of one file or of all parts of a split one."""

    def __init__(self, first_draft_block: int | None) -> None:
        self._first_draft_block = first_draft_block
        self._bytes: dict[Role, int] = {}
        self._params: dict[Role, int] = {}
        self._is_complete = True

    def walk(self, reader: Reader, count: int, alignment: int) -> None:
        """Count the tensors of a file whose reader stands behind the key-value section.

        Raises:
            InputError: the section is cut or corrupt, or the file is too short for its tensors.
        """
        if count > _MAX_TENSORS:
            raise reader.corrupt(f"it claims {count} tensors")
        needed, before = 0, sum(self._bytes.values())
        for _ in range(count):
            needed = max(needed, self._one(reader), sum(self._bytes.values()) - before)
        needed += -(-reader.at // alignment) * alignment if needed else 0
        if needed > reader.size_bytes:
            raise reader.corrupt(f"its tensors need {needed} bytes and it has {reader.size_bytes}")

    def _one(self, reader: Reader) -> int:
        """Where a tensor's data ends, counted from the start of all data; 0 for a type that we do not know."""
        name = reader.text() or ""
        shape = _shape(reader)
        kind, offset = reader.u32(), reader.u64()
        elements = 1
        for length in shape:
            elements *= length
        if elements > _MAX_ELEMENTS:
            raise reader.corrupt(f"it claims a tensor of {elements} values")
        if kind not in _TYPES:
            self._is_complete = False
            return 0
        values, size_bytes = _TYPES[kind]
        if shape and shape[0] % values:
            raise reader.corrupt(f"a row of {shape[0]} values does not fit blocks of {values}")
        total = elements // values * size_bytes
        role = self._role(name)
        self._bytes[role] = self._bytes.get(role, 0) + total
        self._params[role] = self._params.get(role, 0) + elements
        return offset + total

    def _role(self, name: str) -> Role:
        if name == "token_embd.weight":
            return "embedding"
        if name == "output.weight":
            return "output"
        if name in _LOOKUPS:
            return "lookup"
        block = _BLOCK.match(name)
        if block and self._first_draft_block is not None and int(block[1]) >= self._first_draft_block:
            return "draft"
        return "expert" if _EXPERT.search(name) else "dense"

    def weights(self, experts: int, experts_used: int) -> Weights | None:
        """The sums; None for a file without tensors or with tensors of a type that we do not know."""
        if not self._bytes or not self._is_complete:
            return None
        is_tied = "output" not in self._bytes
        head: Role = "embedding" if is_tied else "output"
        experts, experts_used = max(experts, 0), max(min(experts_used, experts), 0)
        return Weights(
            total_bytes=sum(self._bytes.values()),
            total_params=sum(self._params.values()),
            dense_bytes=self._bytes.get("dense", 0) + self._bytes.get(head, 0),
            expert_bytes=self._bytes.get("expert", 0),
            experts=experts,
            experts_used=experts_used,
            active_params=self._active(head, experts, experts_used),
            output_params=self._params.get(head, 0),
            is_tied=is_tied,
        )

    def _active(self, head: Role, experts: int, experts_used: int) -> int | None:
        always = self._params.get("dense", 0) + self._params.get(head, 0)
        routed = self._params.get("expert", 0)
        if not routed:
            return always
        return always + routed * experts_used // experts if experts and experts_used else None


def _shape(reader: Reader) -> tuple[int, ...]:
    count = reader.u32()
    if count > _MAX_DIMENSIONS:
        raise reader.corrupt(f"it claims a tensor of {count} dimensions")
    return tuple(reader.u64() for _ in range(count))
