from __future__ import annotations

import pytest
from judged import dressed

from crucibleforge.bench._wrapping import json_of, narrowed, prose_of
from crucibleforge.extract.jsontext import NO_JSON
from crucibleforge.extract.thinking import visible

PROSE = "The mill at Osk was sold in 1901.\nIt turns again."


@pytest.mark.parametrize(
    "text",
    [
        *map(visible, (one.removesuffix("<|im_end|>") for one in dressed(PROSE))),
        f"**Summary:** {PROSE}",
        f"## Shortened text\n\n{PROSE}\n\n---\n*(12 words)*",
        f"```text\n{PROSE}\n```\nWord count: 12",
        "> " + PROSE.replace("\n", "\n> "),
        f"**Summary**\n{PROSE}\n\nI kept all facts.",
    ],
)
def test_prose_is_taken_out_of_its_wrapper(text):
    assert prose_of(text) == PROSE


@pytest.mark.parametrize("text", [PROSE, "Osk has one mill:", "Let me know", "Certainly", ""])
def test_what_is_no_wrapper_stays(text):
    assert prose_of(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        'Take the name before sshd[pid]: and count.\n\n{"a": 1}',
        "grep it:\n```\nawk '{print $5}' f[0]\n```\nThen:\n{\n  \"a\": 1\n}\nThat is all.",
        'Mind the {braces}.\n```json\n{"a": 1}\n```',
    ],
)
def test_json_is_found_behind_text_with_brackets(text):
    assert json_of(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", "none", '{"a": 1,}', '\n{"a": 1', "\n{" * 9])
def test_broken_json_is_none(text):
    assert json_of(text) is NO_JSON
    assert narrowed(text) == text
