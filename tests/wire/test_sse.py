from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.wire.sse import Splitter

BYTES = "data: a\r\n\r\n: ping\ndata:b\ndata: c\r\rid: 7\ndata: \u20ac\n\nevent: x\n\ndata: last\n".encode()


def split(*chunks: bytes) -> list[bytes]:
    splitter = Splitter()
    return [event for chunk in chunks for event in splitter.feed(chunk)] + splitter.close()


def test_every_line_ending_and_field_of_the_standard_is_understood():
    assert split(BYTES) == [b"a", b"b\nc", "\u20ac".encode(), b"last"]


def test_bytes_one_by_one_give_the_same_events():
    assert split(*(BYTES[i : i + 1] for i in range(len(BYTES)))) == split(BYTES)


@given(st.lists(st.integers(0, len(BYTES)), max_size=6))
def test_any_cut_gives_the_same_events(cuts):
    edges = [0, *sorted(cuts), len(BYTES)]
    assert split(*(BYTES[a:b] for a, b in pairwise(edges))) == split(BYTES)


@given(st.lists(st.sampled_from([b"data:", b"x", b"\r", b"\n", b":", b" ", b"\xef\xbb\xbf"]), max_size=30))
def test_any_bytes_give_the_same_events_in_any_cut(parts):
    assert split(*parts) == split(b"".join(parts))


def test_a_byte_order_mark_is_no_part_of_the_first_field():
    assert split(b"\xef\xbb", b"\xbfdata: x\n\n") == [b"x"]
