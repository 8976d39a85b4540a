import io
import struct

import pytest

from crucibleforge.errors import InputError
from crucibleforge.gguf import printable
from crucibleforge.gguf._reader import Reader


def reader(data):
    return Reader("m.gguf", io.BytesIO(data), len(data))


def test_a_limit_of_printable_text_is_kept():
    assert printable("ab\tcd", 4) == "ab?c"


def test_numbers_and_booleans_are_read_as_a_list():
    assert reader(struct.pack("<3h", 1, -2, 3)).integers(3, 3) == (1, -2, 3)
    assert reader(b"\x00\x01").integers(7, 2) == (0, 1)


@pytest.mark.parametrize(("kind", "count", "size_bytes"), [(6, 2, 8), (0, 70_000, 70_000)])
def test_other_kinds_and_long_lists_are_passed_over(kind, count, size_bytes):
    walk = reader(bytes(size_bytes) + b"\x07\x00\x00\x00")
    assert walk.integers(kind, count) is None
    assert walk.u32() == 7


def test_a_string_too_long_to_keep_is_passed_over():
    walk = reader(struct.pack("<Q", 70_000) + bytes(70_000) + struct.pack("<Q", 2) + b"ab")
    assert walk.text() is None
    assert walk.text() == "ab"


def test_strings_are_passed_over_across_the_window():
    one = struct.pack("<Q", 40_000) + bytes(40_000)
    walk = reader(one * 20 + b"\x07\x00\x00\x00")
    walk.skip_strings(20)
    assert walk.u32() == 7


@pytest.mark.parametrize("count", [1, 2**64 - 1])
def test_nothing_is_read_beyond_the_end(count):
    with pytest.raises(InputError, match=r"m\.gguf is a corrupt GGUF file"):
        reader(b"abc").integers(0, 3 + count)
