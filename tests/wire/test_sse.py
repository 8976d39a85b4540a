import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.errors import Trouble
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


@pytest.mark.parametrize("endless", [b"data: x", b"y", b"data: x\n", b"data:\n"])
def test_an_event_that_does_not_end_is_given_up(endless):
    splitter = Splitter(max_event_bytes=1000)
    with pytest.raises(Trouble) as caught:
        [splitter.feed(endless) for _ in range(2000)]
    assert caught.value.kind == "runaway"


def test_the_cap_is_on_one_event_and_not_on_the_stream():
    splitter = Splitter(max_event_bytes=1000)
    events = [event for _ in range(100) for event in splitter.feed(b": ping\nid: 7\ndata: " + b"x" * 500 + b"\n\n")]
    assert len(events) == 100


def test_a_comment_that_never_stops_is_given_up_but_many_comments_are_not():
    splitter = Splitter(max_event_bytes=1000)
    assert [splitter.feed(b": ping\n") for _ in range(1000)] == [[]] * 1000


@pytest.mark.slow
def test_a_huge_event_in_small_pieces_takes_no_time():
    splitter = Splitter()
    start = time.process_time()
    splitter.feed(b"data: ")
    for _ in range(16 * 1024 - 1):
        splitter.feed(b"x" * 1024)
    assert len(splitter.feed(b"\n\n")[0]) == (16 * 1024 - 1) * 1024
    assert time.process_time() - start < 1
