from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.thinking import visible

PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<Thinking>", "</thinking>", "<thought>", "</reasoning>", "<th", "ink>", "a", "\n"]
    )
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ANSWER: 7", "ANSWER: 7"),
        ("<think>5?</think>ANSWER: 7", "\nANSWER: 7"),
        ("a<THINK>5?</Think>b<thought>6?</thought>c", "a\nb\nc"),
        ("<reasoning>ANSWER: 5", ""),
        ("ANSWER: 7\n<think>or", "ANSWER: 7\n"),
        ("or 5?</think>ANSWER: 7", "\nANSWER: 7"),
        ("or 5?</think>or 6?</thinking>ANSWER: 7", "\nANSWER: 7"),
        ("<think>a <think> b</think>c</think>d", "\nd"),
        ("<think>a</thinking>b", ""),
        ("<thinker>a</thinker>", "<thinker>a</thinker>"),
    ],
)
def test_think_blocks_are_removed_and_nothing_else_is(text, kept):
    assert visible(text) == kept


def test_removing_a_block_forms_no_new_tag():
    assert visible("<th<think></think>ink>a") == "<th\nink>a"


@given(PIECES.map("".join))
def test_what_is_visible_stays_visible(text):
    assert visible(visible(text)) == visible(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["<think>" * 100_000, "</think>" * 100_000, "<think></think>" * 60_000, "<" * 1_000_000]
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    visible(text)
    assert time.process_time() - start < 2
