"""Notice tool calls that a model wrote into its text. They are not calls; the user is told of them."""

from __future__ import annotations

import re

_CALL = re.compile(
    r"<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<\|channel\|>commentary to=|<\|tool_call>|<function=[A-Za-z_]"
    r'|\{\s{0,40}"name"\s{0,8}:\s{0,8}"[^"\n]{1,80}"\s{0,8},\s{0,40}"(?:arguments|parameters|args)"\s{0,8}:'
)


def writes_call(text: str) -> bool:
    """True when the text holds something that was meant as a tool call, whole or broken."""
    return _CALL.search(text) is not None
