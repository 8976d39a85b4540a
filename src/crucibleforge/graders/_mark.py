"""Apply a case's grader to a dialogue's replies. Pure: whoever has a sandbox passes it in as `run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import msgspec

from crucibleforge import plugins
from crucibleforge.chat import Reply
from crucibleforge.graders import ByReading, ByRunning, Grader, Replies
from crucibleforge.graders._shown import shortened
from crucibleforge.programs import Program, Ran
from crucibleforge.types import Case, Finding

_WORDS = 120
"""Characters of a server's message that are shown."""


def mark(
    case: Case, replies: Replies, run: Callable[[Program], Ran], whole: Callable[[Case], Case] = lambda case: case
) -> tuple[Finding, str, str]:
    """Decide about one dialogue.

    Args:
        case: Says how to mark, and what is expected.
        replies: Every reply of the dialogue.
        run: Runs a program.
        whole: Gives the case with all inputs for programs; called only where there is one to run, as they may be large.

    Returns:
        The finding, the grader as `name@version`, and the level of isolation under which code ran ("" if none did).

    Raises:
        ValueError: the case has a setting that its grader does not know.
    """
    grader: Grader = plugins.find("graders", case.grading.grader)
    if strange := case.grading.settings.keys() - grader.settings:
        # A rule that is passed over in silence lets every reply pass.
        raise ValueError(f"{case.id}: the grader {grader.name} knows no setting {', '.join(sorted(strange))}")
    finding, isolation = decide(grader, case, replies, run, whole)
    return finding, f"{grader.name}@{grader.version}", isolation


def decide(
    grader: Grader,
    case: Case,
    replies: Replies,
    run: Callable[[Program], Ran],
    whole: Callable[[Case], Case] = lambda case: case,
) -> tuple[Finding, str]:
    """As `mark`, by a grader at hand whatever the case names: the finding, and the level of isolation."""
    finding, isolation = _find(grader, case, replies, run, whole)
    return explained(finding, replies[-1]), isolation


def _find(
    grader: Grader, case: Case, replies: Replies, run: Callable[[Program], Ran], whole: Callable[[Case], Case]
) -> tuple[Finding, str]:
    last = replies[-1]
    if malformed := next((reply for reply in replies if reply.finish == "malformed"), None):
        return _unparsed(malformed), ""
    if not last.text.strip() and not last.tool_calls and not any(reply.tool_calls for reply in replies):
        return _nothing(last), ""
    match grader:
        case ByReading():
            return grader.find(case, replies), ""
        case ByRunning():
            program = grader.program(case, replies)
            if not isinstance(program, Finding) and (full := whole(case)) is not case:
                case, program = full, grader.program(full, replies)
            if isinstance(program, Finding):
                return program, ""
            ran = run(program)
            return grader.conclude(case, ran), ran.isolation
        case _:
            assert_never(grader)


def _unparsed(reply: Reply) -> Finding:
    words = shortened(reply.text, _WORDS)
    return Finding("fail", 0.0, "the server could not parse the tool call" + (f": {words}" if words else ""))


def _nothing(last: Reply) -> Finding:
    if last.finish == "content_filter":
        return Finding("refused", 0.0, "the server's content filter stopped the reply")
    if last.finish == "length":
        return Finding("truncated", 0.0, "no answer in reply")
    why = "empty reply, stopped inside its reasoning" if last.reasoning else "empty reply"
    return Finding("unanswered", 0.0, why)


def explained(finding: Finding, last: Reply) -> Finding:
    """A cut reply that does not pass is `truncated`, and says where it was cut."""
    if last.finish != "length" or finding.outcome == "pass":
        return finding
    tokens = last.usage.completion_tokens
    cut = "TRUNCATED" if tokens is None else f"TRUNCATED at {tokens} tokens"
    if last.usage.reasoning_tokens:
        cut += f" ({last.usage.reasoning_tokens} reasoning tokens)"
    return msgspec.structs.replace(finding, outcome="truncated", why=f"{cut}; {finding.why}" if finding.why else cut)
