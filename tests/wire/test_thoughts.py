from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.thinking import TAGS, visible
from crucibleforge.wire.thoughts import Thoughts

PIECES = st.lists(st.sampled_from([*sorted(TAGS), "<Think>", "<th", "ink>", "<|", "|>", "(", "a", "\n", " "]), max_size=12)


def fed(*pieces: str) -> Thoughts:
    """The n-th piece comes at time n, counted from 1."""
    thoughts = Thoughts()
    for t_ns, piece in enumerate(pieces, 1):
        thoughts.feed(t_ns, piece)
    thoughts.close()
    return thoughts


def seen(thoughts: Thoughts) -> tuple[str, str, int | None, int | None]:
    return thoughts.thought, thoughts.text, thoughts.first_thought_ns, thoughts.first_text_ns


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("a", "b"), ("", "ab", None, 1)),
        ((" ", "b"), ("", " b", None, 1)),
        (("\n", "<think>", "hm", "</think>", "\n\n", "b"), ("hm", "b", 3, 6)),
        (("<th", "ink>", "\n", "h", "m</", "think", ">\n", "b"), ("hm", "b", 4, 8)),
        (("<", "b>", "c"), ("", "<b>c", None, 1)),
        (("a", "<", "think", "x"), ("", "a<thinkx", None, 1)),
        (("<think>", "\n\n", "</think>", "\n", "b"), ("", "b", None, 5)),
        (("<think>", "hm", "</thi"), ("hm</thi", "", 2, None)),
        (("hm", "so", "</th", "ink>", "\n", "b"), ("hmso", "b", 1, 6)),
        (("<|channel|>", "analysis", "<|message|>", "hm", "<|end|>", "<|start|>", "assistant", "<|channel|>", "final", "<|message|>", "b", "<|return|>"), ("hm", "b", 4, 11)),
        (("(thought)", "hm", "(thought)", "b"), ("hm", "b", 2, 4)),
        (("<|thinking|>", "hm", "</|think", "ing|>", "b"), ("hm", "b", 2, 5)),
        (("  ",), ("", "  ", None, 1)),
        (("<think>", "a", "</think>", "<think>", "b", "</think>", "c"), ("a\nb", "c", 2, 7)),
    ],
)
def test_each_side_has_its_words_and_the_time_of_its_first(pieces, expected):
    assert seen(fed(*pieces)) == expected


def test_reasoning_that_the_server_kept_apart_joins_what_leaked():
    thoughts = Thoughts()
    thoughts.think(1, "a")
    thoughts.feed(2, "</think>b")
    thoughts.close()
    assert seen(thoughts) == ("a", "b", 1, 2)


@given(PIECES, st.lists(st.integers(0, 200), max_size=20))
def test_a_stream_in_any_cut_reads_as_the_whole_text_does(parts, cuts):
    text = "".join(parts)
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    cut = fed(*(text[a:b] for a, b in pairwise(edges)))
    assert cut.text == fed(*text).text == visible(text)
    assert cut.thought == fed(*text).thought
    assert (cut.first_text_ns is None) == (not cut.text)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<", "<think>", " ", "<|channel|>analysis<|message|", "</think>", "a"])
def test_hostile_streams_take_no_time(piece):
    start = time.process_time()
    fed(*[piece] * 30_000)
    assert time.process_time() - start < 2
