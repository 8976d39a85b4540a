"""One answer as different models write it: for `right`, `near_misses` and `shortcuts` of a family."""

from __future__ import annotations

from typing import Any

from crucibleforge.chat import Finish, Reply, Timing, ToolCall, Usage
from crucibleforge.families._kit import Dialogues


def said(text: str, finish: Finish = "stop") -> Reply:
    """A reply of plain text."""
    return Reply(text=text, finish=finish, usage=Usage(), timing=Timing(total_s=0.0))


def called(*calls: tuple[str, str], text: str = "") -> Reply:
    """A reply with tool calls, each a name and the JSON text of its arguments."""
    made = tuple(ToolCall(f"call_{number}", name, arguments) for number, (name, arguments) in enumerate(calls))
    return Reply(text=text, finish="tool_calls", tool_calls=made, usage=Usage(), timing=Timing(total_s=0.0))


def alone(*texts: str) -> Dialogues:
    """Each text as a dialogue of one reply."""
    return tuple((said(text),) for text in texts)


def answers(value: Any) -> Dialogues:
    """A short answer in twelve dressings."""
    return alone(
        f"ANSWER: {value}",
        f"First I set up the cases, then I counted them.\n\n**ANSWER: {value}**",
        f"A first guess would be ANSWER: 0 but that is wrong.\nAnswer: {value}.\n",
        f"Working it through:\r\n- step 1\r\n- step 2\r\n\r\n**Final answer:** `{value}`",
        f"<b>Result</b>\n\\[ x = 1 \\]\nANSWER: \\boxed{{{value}}}",
        f"### Answer\n\n{value}\n",
        f"Answer:\n```\n{value}\n```",
        f"<think>It could be ANSWER: 7, or not.</think>\nANSWER: {value}",
        f"So much for the sketch.\n</think>\n\nanswer:  {value}",
        f"**Answer**\n{value}",
        f"Step 1 gives 12. Step 2 gives 5.\n\nFinal Answer: {value}\n\nI checked it twice.",
        f"ANSWER:\u00a0{value}<|im_end|>",
    )


def programs(source: str) -> Dialogues:
    """A program in twelve dressings. It may hold no line that begins with a fence."""
    indented = "".join(f"   {line}" if line.strip() else line for line in source.splitlines(keepends=True))
    return alone(
        f"```python\n{source}```",
        f"Here is the function.\n\n```python\n{source}```\n\nIt runs in linear time.",
        f"```\n{source}```",
        f"For example:\n\n```python\nprint(1)\n```\n\nThe solution:\n\n```py\n{source}```",
        source,
        f"~~~python\n{source}~~~",
        f"````python\n{source}````\nDone.",
        f"```python\r\n{source.replace(chr(10), chr(13) + chr(10))}```\r\n",
        f"<think>\n```python\ndef draft():\n    return 0\n```\n</think>\n```python\n{source}```",
        f"1. Do this:\n\n   ```python\n{indented}   ```\n",
        f"```bash\npip list\n```\n\n```Python\n{source}```\n\n```text\n3\n```",
        f"\ufeff```python3\n{source}```\n\nUsage:\n\n```python\nprint('see above')\n```",
    )
