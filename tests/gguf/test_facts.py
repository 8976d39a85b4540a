from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from headers import gguf, tensor
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.errors import InputError
from crucibleforge.gguf import Gguf, facts

U32, I32, STRING, ARRAY, U64 = 4, 5, 8, 9, 10


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def strings(values):
    return struct.pack("<IQ", STRING, len(values)) + b"".join(text(value) for value in values)


def header(*entries, version=3, count=None):
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries) if count is None else count) + b"".join(entries)


USUAL = (
    entry("general.architecture", STRING, text("llama")),
    entry("general.name", STRING, text("Tiny")),
    entry("tokenizer.ggml.tokens", ARRAY, strings(["a", "", "bcd"] * 1000)),
    entry("tokenizer.ggml.scores", ARRAY, struct.pack("<IQ", 6, 5) + bytes(20)),
    entry("llama.rope.freq_base", 6, bytes(4)),
    entry("llama.context_length", U32, struct.pack("<I", 4096)),
    entry("other.context_length", U32, struct.pack("<I", 1)),
    entry("general.file_type", U32, struct.pack("<I", 15)),
)


@pytest.fixture
def write(tmp_path):
    def written(data):
        path = tmp_path / "m.gguf"
        path.write_bytes(data)
        return path

    return written


def refusal(path):
    with pytest.raises(InputError) as caught:
        facts(path)
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message.replace(str(path), "X")


@pytest.mark.parametrize("version", [2, 3])
def test_facts_are_found_before_and_after_a_vocabulary(write, version):
    data = header(*USUAL, version=version) + bytes(100)
    assert facts(write(data)) == Gguf(
        version=version,
        architecture="llama",
        name="Tiny",
        context_length=4096,
        quant="Q4_K_M",
        size_bytes=len(data),
    )


def test_what_a_header_does_not_say_is_none(write):
    data = header()
    assert facts(write(data)) == Gguf(3, "", "", None, None, len(data))


def test_a_vocabulary_larger_than_the_window_is_walked(write):
    words = ["token" * 3] * 60_000 + ["x" * 300_000, "end"]
    data = header(entry("tokenizer.ggml.tokens", ARRAY, strings(words)), *USUAL)
    assert facts(write(data)).context_length == 4096


def test_a_guessed_file_type_is_named_like_a_stated_one(write):
    data = header(entry("general.file_type", U32, struct.pack("<I", 1024 + 7)))
    assert facts(write(data)).quant == "Q8_0"


@pytest.mark.parametrize(
    ("kind", "layout", "value", "expected"),
    [(U64, "<Q", 131_072, 131_072), (I32, "<i", -5, None), (2, "<H", 2048, 2048), (6, "<f", 4096.0, None)],
)
def test_a_context_length_is_any_positive_integer(write, kind, layout, value, expected):
    length = entry("llama.context_length", kind, struct.pack(layout, value))
    assert facts(write(header(USUAL[0], length))).context_length == expected


def test_a_name_cannot_move_the_cursor(write):
    data = header(entry("general.name", STRING, text("a\x1b[2Jb\n" + "c" * 500)))
    name = facts(write(data)).name
    assert name.isprintable()
    assert len(name) == 200


def test_each_wrong_file_is_named_for_what_it_is(write, tmp_path):
    assert refusal(tmp_path / "none.gguf") == "no such file: X"
    assert refusal(tmp_path) == "X is a folder, not a GGUF file"
    assert refusal(write(b"")) == "X is empty"
    assert refusal(write(b"PK\x03\x04rest")) == "X is not a GGUF file: it begins with b'PK\\x03\\x04'"
    assert refusal(write(b"GG")) == "X is not a GGUF file: it begins with b'GG'"
    assert refusal(write(header(version=1))) == "X is GGUF of version 1; 2 and 3 (little-endian) can be read"
    assert refusal(Path("/dev/null")) == "X is not a regular file"


def test_a_file_below_a_file_is_missing(write):
    path = write(b"x") / "m.gguf"
    assert refusal(path) == "no such file: X"


def test_a_valid_header_cut_anywhere_is_refused(write):
    data = header(*(USUAL[:2] + USUAL[3:]), entry("t", ARRAY, strings(["ab", "c"])))
    for end in range(4, len(data)):
        assert refusal(write(data[:end])).startswith("X is a corrupt GGUF file: ")


HUGE = 2**64 - 1


@pytest.mark.parametrize(
    "hostile",
    [
        header(count=HUGE),
        header(struct.pack("<Q", HUGE) + bytes(50), count=1),
        header(entry("k", STRING, struct.pack("<Q", HUGE) + bytes(50))),
        header(entry("k", ARRAY, struct.pack("<IQ", STRING, HUGE) + bytes(50))),
        header(entry("k", ARRAY, struct.pack("<IQ", STRING, 7_000_000) + bytes(50))),
        header(entry("k", ARRAY, struct.pack("<IQ", U64, HUGE) + bytes(50))),
        header(entry("k", ARRAY, struct.pack("<IQ", ARRAY, 1) + bytes(50))),
        header(entry("k", 99, bytes(50))),
    ],
)
def test_a_count_is_never_believed(write, hostile):
    assert refusal(write(hostile)).startswith("X is a corrupt GGUF file: ")


@given(tail=st.binary(max_size=200), entries=st.integers(0, 3))
def test_any_bytes_give_facts_or_a_refusal(tmp_path_factory, tail, entries):
    path = tmp_path_factory.getbasetemp() / "any.gguf"
    path.write_bytes(header(tail, count=entries))
    with contextlib.suppress(InputError):
        assert facts(path).size_bytes == path.stat().st_size


def tiny(*entries):
    """A file with one tensor of 256 bytes."""
    return gguf(entries, [tensor("blk.0.a", (64,), 0)], data_bytes=256)


@pytest.fixture
def split(tmp_path):
    def written(parts=3, without=()):
        for number in range(1, parts + 1):
            usual = [("general.architecture", "llama"), ("llama.context_length", 4096)] if number == 1 else []
            if number not in without:
                path = tmp_path / f"m-{number:05}-of-{parts:05}.gguf"
                path.write_bytes(tiny(*usual, ("split.count", parts, 2)))
        return tmp_path

    return written


@pytest.mark.parametrize("named", [1, 2, 3])
def test_a_split_model_is_the_sum_of_its_parts_whichever_is_named(split, named):
    folder = split()
    found = facts(folder / f"m-{named:05}-of-00003.gguf")
    assert (found.parts, found.architecture, found.context_length) == (3, "llama", 4096)
    assert found.size_bytes == sum(path.stat().st_size for path in folder.iterdir())
    assert found.weights.total_bytes == 3 * 256


def test_a_missing_part_is_named(split):
    folder = split(without=(2,))
    message = refusal(folder / "m-00001-of-00003.gguf")
    assert message == f"a part of the model is missing: {folder / 'm-00002-of-00003.gguf'}"
    assert refusal(folder / "m-00002-of-00003.gguf") == "no such file: X"


def test_a_part_under_another_name_is_told_from_a_whole_model(write):
    assert refusal(write(tiny(("split.count", 3, 2)))) == "X is part of a model in 3 files and is not named so"
    assert facts(write(tiny(("split.count", 1, 2)))).parts == 1


def test_a_corrupt_part_is_named(split):
    path = split() / "m-00003-of-00003.gguf"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"m-00003-of-00003\.gguf is a corrupt GGUF file: its tensors need"):
        facts(path.with_name("m-00001-of-00003.gguf"))


def test_a_number_that_no_model_has_is_not_believed(write):
    assert facts(write(tiny(("general.architecture", "a"), ("a.context_length", 2**60, 10)))).context_length is None


def test_cache_and_weights_are_found_in_one_file(write):
    entries = [
        ("general.architecture", "a"),
        ("a.block_count", 2),
        ("a.embedding_length", 64),
        ("a.attention.head_count", 4),
        ("a.attention.head_count_kv", [2, 1], 5),
    ]
    found = facts(write(tiny(*entries)))
    assert found.cache.bytes_per_token == 2 * 3 * 32
    assert found.weights.bytes_per_token == 256
