"""A model that knows every answer, and one that is told which to get wrong."""

from collections.abc import Callable, Iterable

import endpoint

from crucibleforge import plugins
from crucibleforge.chat import Reply
from crucibleforge.families._build import cases, item
from crucibleforge.types import Case


def right_replies() -> dict[str, tuple[Case, tuple[Reply, ...]]]:
    """For each first user message of the suite, its case and the replies of a dialogue that passes."""
    known = {}
    for name in plugins.names("families"):
        family = plugins.find("families", name)
        for case in cases(family):
            rung, slot = case.id.rsplit("/", 1)[1].split(".")
            known[case.dialogue.messages[-1].content] = (case, family.right(item(family, rung, int(slot)))[0])
    return known


def answers(wrong: Callable[[Case], bool] = lambda _case: False) -> Callable[[dict], Iterable[endpoint.Step]]:
    """An endpoint's `answer`: right by the families' own account, or a shrug where `wrong` says so."""
    known = right_replies()

    def answer(request: dict) -> Iterable[endpoint.Step]:
        first = next(message["content"] for message in request["messages"] if message["role"] == "user")
        if first not in known:
            return endpoint.text("17")  # the question by which a thinking model is found out
        case, replies = known[first]
        if wrong(case):
            return endpoint.text("I do not know.")
        reply = replies[sum(message["role"] == "assistant" for message in request["messages"])]
        if reply.tool_calls:
            return endpoint.calls([(call.name, call.arguments) for call in reply.tool_calls], reply.text)
        return endpoint.stream(endpoint.chat([{"content": reply.text}], "stop", 20, "fake"))

    return answer
