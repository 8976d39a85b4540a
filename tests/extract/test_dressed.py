"""A part of what `bench/extract.py` marks whole: more than 100,000 right variants and as many near misses."""

from __future__ import annotations

from itertools import islice

import pytest
from dressed import KINDS, marked, replies

STEP = 211  # no factor of the numbers of dresses, so that every dress has its turn


@pytest.mark.slow
def test_no_right_answer_fails_in_any_dress():
    for kind in KINDS:
        for text in islice(replies(kind.right), 0, None, STEP):
            assert marked(kind, text).outcome == "pass", text


@pytest.mark.slow
def test_no_near_miss_passes_in_any_dress():
    for kind in KINDS:
        for text in islice(replies(kind.near), 0, None, STEP):
            assert marked(kind, text).outcome != "pass", text
