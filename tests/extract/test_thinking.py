from __future__ import annotations

import time
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.thinking import BLOCKS, TAGS, visible

PIECES = st.lists(st.sampled_from([*sorted(TAGS), "<Think>", "<th", "ink>", "<|", "|>", "a", "\n", " "]), max_size=12)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ANSWER: 7", "ANSWER: 7"),
        (" \n7 ", " \n7 "),
        ("<think>5?</think>\n\nANSWER: 7\n", "ANSWER: 7\n"),
        ("\n <THINK>5?</Think> <thought>6?</thought>c", "c"),
        ("<reasoning>ANSWER: 5", ""),
        ("<think>a</thinking>b", ""),
        ("<analysis>a</analysis>b", "b"),
        ("<reflection>a</reflection>b", "b"),
        ("<thinker>a</thinker>", "<thinker>a</thinker>"),
        ("<|thinking|>a<|/thinking|>b", "b"),
        ("<|thinking|>a</|thinking|>b", "b"),
        ("(thought) a (thought) b", "b"),
        ("a (thought) of (thought)", "a (thought) of (thought)"),
        ("[THINK]a[/THINK]b", "b"),
        ("<|channel>thought\na<channel|>b", "b"),
    ],
)
def test_think_blocks_are_removed_and_nothing_else_is(text, kept):
    assert visible(text) == kept


@pytest.mark.parametrize("text", ["Put it into <think> and go on.", "Use <think> and </think> tags.", "7\n<think>or"])
def test_a_tag_in_the_middle_of_text_is_a_mention(text):
    assert visible(text) == text
    assert visible(f"<think>hm</think>{text}") == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("or 5?</think>ANSWER: 7", "ANSWER: 7"),
        ("or 5?</think>or 6?</thinking>ANSWER: 7", "ANSWER: 7"),
        ("<think>a <think> b</think>c</think>d", "d"),
        ("is <think> closed by </think>? yes</think>d", "d"),
    ],
)
def test_a_closer_without_an_opener_takes_all_before_it(text, kept):
    assert visible(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "b"),
        ("<|start|>assistant<|channel|>analysis<|message|>a<|channel|>final<|message|>b", "b"),
        ("a<|channel|>final<|message|>b<|end|>junk", "b"),
        ("<|channel|>analysis<|message|>a", ""),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=f<|message|>{}",
            "<|channel|>commentary to=f<|message|>{}",
        ),
        ("say <|end|> here", "say <|end|> here"),
    ],
)
def test_of_harmony_only_the_final_channel_is_an_answer(text, kept):
    assert visible(text) == kept


def test_no_tag_begins_another_or_begins_inside_it():
    for one, other in permutations(TAGS, 2):
        assert not other.startswith(one)
        assert not any(other.startswith(one[at:]) for at in range(1, len(one)))
    assert all(tag == tag.lower() for block in BLOCKS for tag in (block.opener, *block.closers))


@given(PIECES.map("".join))
def test_what_is_visible_stays_visible(text):
    assert visible(visible(text)) == visible(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 100_000,
        "</think>" * 100_000,
        "<think></think>" * 60_000,
        "<" * 1_000_000,
        "a" + "<think>" * 100_000,
        " <|end|>" * 100_000,
    ],
)
def test_hostile_text_takes_no_time(text):
    start = time.process_time()
    visible(text)
    assert time.process_time() - start < 2
