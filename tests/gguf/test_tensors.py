import re
import struct

import pytest
from headers import entry, gguf, tensor

from crucibleforge.errors import InputError
from crucibleforge.gguf import Weights, facts
from crucibleforge.gguf._tensors import _TYPES

F32, F16, Q4_0, Q8_0, Q4_K, Q6_K, BF16, MXFP4 = 0, 1, 2, 8, 12, 14, 30, 39
# Bytes of a block from the fields of its struct in ggml-common.h: scales, minima, high bits, quants.
BY_FIELDS = {
    Q4_0: (32, 2 + 16),
    3: (32, 2 + 2 + 16),
    6: (32, 2 + 4 + 16),
    7: (32, 2 + 2 + 4 + 16),
    Q8_0: (32, 2 + 32),
    10: (256, 16 + 64 + 2 + 2),
    11: (256, 32 + 64 + 12 + 2),
    Q4_K: (256, 2 + 2 + 12 + 128),
    13: (256, 2 + 2 + 12 + 32 + 128),
    Q6_K: (256, 128 + 64 + 16 + 2),
    20: (32, 2 + 16),
    23: (256, 2 + 2 + 4 + 128),
    MXFP4: (32, 1 + 16),
}


@pytest.fixture
def weights(tmp_path):
    def found(entries, tensors, size_bytes=None):
        path = tmp_path / "m.gguf"
        data = gguf([("general.architecture", "a"), *entries], tensors)
        path.write_bytes(data)
        if size_bytes is None:
            # Nothing is read behind the header, so the data may be a hole.
            size_bytes = len(data) + 10**9
        with path.open("r+b") as file:
            file.truncate(size_bytes)
        return facts(path).weights

    return found


def moe(experts, used):
    return [("a.expert_count", experts), ("a.expert_used_count", used)]


def test_a_block_of_each_usual_type_has_the_size_of_its_fields():
    assert {kind: _TYPES[kind] for kind in BY_FIELDS} == BY_FIELDS


@pytest.mark.slow
def test_each_type_has_the_size_that_the_reference_package_knows():
    constants = pytest.importorskip("gguf.constants")
    assert {int(kind): tuple(size) for kind, size in constants.GGML_QUANT_SIZES.items()}.items() >= _TYPES.items()


DENSE = Weights(
    total_bytes=0,
    total_params=0,
    dense_bytes=0,
    expert_bytes=0,
    experts=0,
    experts_used=0,
    active_params=0,
    output_params=0,
    is_tied=False,
)
EMBED = 1024 * 512
SHAPES = {
    "dense, untied": (
        [],
        [
            tensor("token_embd.weight", (512, 1024), Q4_K),
            tensor("blk.0.attn_q.weight", (512, 512), Q4_K),
            tensor("blk.0.attn_norm.weight", (512,), F32),
            tensor("output.weight", (512, 1024), Q6_K),
        ],
        {
            "total_bytes": EMBED // 256 * 144 + 1024 * 144 + 2048 + EMBED // 256 * 210,
            "dense_bytes": 1024 * 144 + 2048 + EMBED // 256 * 210,
            "total_params": 2 * EMBED + 512 * 512 + 512,
            "active_params": EMBED + 512 * 512 + 512,
            "output_params": EMBED,
            "is_tied": False,
        },
    ),
    "dense, tied": (
        [],
        [tensor("token_embd.weight", (512, 1024), Q8_0), tensor("blk.0.ffn_up.weight", (512, 64), BF16)],
        {
            "total_bytes": EMBED // 32 * 34 + 65_536,
            "dense_bytes": EMBED // 32 * 34 + 65_536,
            "active_params": EMBED + 32_768,
            "output_params": EMBED,
            "is_tied": True,
        },
    ),
    "experts": (
        moe(8, 2),
        [
            tensor("token_embd.weight", (512, 1024), F16),
            tensor("output.weight", (512, 1024), F16),
            tensor("blk.0.ffn_gate_exps.weight", (512, 64, 8), MXFP4),
            tensor("blk.0.ffn_down_exps.bias", (64, 8), F32),
            tensor("blk.0.ffn_gate_inp.weight", (512, 8), F32),
        ],
        {
            "dense_bytes": 2 * EMBED + 512 * 8 * 4,
            "expert_bytes": 512 * 64 * 8 // 32 * 17 + 64 * 8 * 4,
            "experts": 8,
            "experts_used": 2,
            "active_params": EMBED + 512 * 8 + (512 * 64 * 8 + 64 * 8) // 4,
            "is_tied": False,
        },
    ),
    "a shared expert is always read": (
        moe(4, 1),
        [
            tensor("token_embd.weight", (256, 4), F16),
            tensor("blk.1.ffn_up_shexp.weight", (256, 4), F16),
            tensor("blk.1.ffn_up_exps.weight", (256, 4, 4), F16),
        ],
        {"dense_bytes": 2048 + 2048, "expert_bytes": 8192, "is_tied": True},
    ),
    "experts in tensors of their own": (
        moe(2, 1),
        [
            tensor("token_embd.weight", (256, 4), F16),
            tensor("blk.0.ffn_down.0.weight", (256, 4), Q4_0),
            tensor("blk.0.ffn_down.1.weight", (256, 4), Q4_0),
        ],
        {"dense_bytes": 2048, "expert_bytes": 2 * 4 * 8 * 18, "is_tied": True},
    ),
    "an unknown share of experts": (
        [("a.expert_count", 8)],
        [tensor("token_embd.weight", (256, 4), F16), tensor("blk.0.ffn_up_exps.weight", (256, 4, 8), F16)],
        {"expert_bytes": 16_384, "experts": 8, "experts_used": 0, "active_params": None},
    ),
    "tables of which a row is read": (
        [],
        [
            tensor("token_embd.weight", (256, 4), F16),
            tensor("per_layer_token_embd.weight", (256, 4096), Q8_0),
            tensor("output.weight", (256, 4), F16),
        ],
        {"total_bytes": 4096 + 4096 * 8 * 34, "dense_bytes": 2048},
    ),
    "blocks that only draft": (
        [("a.block_count", 3), ("a.nextn_predict_layers", 1)],
        [
            tensor("token_embd.weight", (256, 4), F16),
            tensor("blk.1.ffn_up.weight", (256, 4), F16),
            tensor("blk.2.ffn_up.weight", (256, 40), F16),
            tensor("blk.2.nextn.eh_proj.weight", (256, 40), F16),
        ],
        {"total_bytes": 2048 + 2048 + 2 * 20_480, "dense_bytes": 2048 + 2048},
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_bytes_are_summed_by_when_they_are_read(weights, name):
    entries, tensors, expected = SHAPES[name]
    found = weights(entries, tensors)
    assert {field: getattr(found, field) for field in expected} == expected


def test_a_token_reads_its_share_of_the_experts(weights):
    entries, tensors, _ = SHAPES["experts"]
    found = weights(entries, tensors)
    assert found.bytes_per_token == found.dense_bytes + found.expert_bytes / 4
    entries, tensors, _ = SHAPES["dense, tied"]
    found = weights(entries, tensors)
    assert found.bytes_per_token == found.total_bytes
    entries, tensors, _ = SHAPES["an unknown share of experts"]
    assert weights(entries, tensors).bytes_per_token is None


def test_more_experts_used_than_there_are_is_all_of_them(weights):
    found = weights(moe(8, 99), SHAPES["experts"][1])
    assert found.bytes_per_token == found.dense_bytes + found.expert_bytes


def test_a_type_that_we_do_not_know_leaves_the_sums_unknown(weights):
    assert weights([], [tensor("token_embd.weight", (256, 4), F16), tensor("x", (256,), 99)]) is None
    assert weights([], []) is None


HUGE = 2**64 - 1


@pytest.mark.parametrize(
    ("tensors", "why"),
    [
        ([tensor("a", (100,), Q4_0)], "a row of 100 values does not fit blocks of 32"),
        ([tensor("a", (HUGE, 2), F32)], f"it claims a tensor of {HUGE * 2} values"),
        ([struct.pack("<Q", 1) + b"a" + struct.pack("<I", 5)], "it claims a tensor of 5 dimensions"),
        (
            [struct.pack("<Q", 1) + b"a" + struct.pack("<I", HUGE % 2**32)],
            "it claims a tensor of 4294967295 dimensions",
        ),
    ],
)
def test_a_hostile_tensor_gives_one_line(weights, tensors, why):
    with pytest.raises(InputError, match=re.escape(why)) as caught:
        weights([], tensors)
    assert "\n" not in caught.value.message


def test_a_number_of_tensors_is_never_believed(tmp_path):
    path = tmp_path / "m.gguf"
    for count, why in ((HUGE, f"it claims {HUGE} tensors"), (1000, "it ends inside its header")):
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, count, 0) + tensor("a", (4,), F32))
        with pytest.raises(InputError, match=why):
            facts(path)


@pytest.mark.parametrize("offset", [0, 4096, HUGE])
def test_a_file_too_short_for_its_tensors_is_refused(weights, offset):
    whole = len(gguf([("general.architecture", "a")], [tensor("a", (64,), F32)]))
    with pytest.raises(InputError, match="its tensors need"):
        weights([], [tensor("a", (64,), F32, offset)], whole + 255)


def test_a_file_just_long_enough_is_read(weights):
    whole = len(gguf([("general.architecture", "a")], [tensor("a", (64,), F32)]))
    assert weights([], [tensor("a", (64,), F32)], whole + 256).total_bytes == 256


def test_tensors_that_claim_one_place_twice_are_no_more_than_the_file(weights):
    with pytest.raises(InputError, match="its tensors need"):
        weights([], [tensor("a", (64,), F32), tensor("b", (64,), F32)], 512)


def test_an_alignment_of_its_own_moves_the_data(weights):
    entries = [entry("general.alignment", 4096)]
    with pytest.raises(InputError, match="its tensors need 4352 bytes"):
        weights(entries, [tensor("a", (64,), F32)], 4096)
    assert weights(entries, [tensor("a", (64,), F32)], 4352).total_bytes == 256
