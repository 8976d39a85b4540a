"""A model that knows every answer, and one that is told which to get wrong."""

from collections.abc import Callable, Iterable
from functools import cache

import endpoint

from crucibleforge import plugins
from crucibleforge.chat import Reply
from crucibleforge.families._build import item
from crucibleforge.suite.expand import suite
from crucibleforge.types import Case, Rung


def first_message(case: Case) -> str:
    """What the user says first, by which a request is known."""
    return next(message.content for message in case.dialogue.messages if message.role == "user")


def right_replies(case: Case) -> tuple[Reply, ...]:
    """The replies of a dialogue that passes."""
    return _right_replies(case.family, case.rung, int(case.id.rsplit(".", 1)[1]))


@cache
def _right_replies(name: str, rung: Rung, slot: int) -> tuple[Reply, ...]:
    """Only cases that are asked are drawn: some take seconds."""
    family = plugins.find("families", name)
    return family.right(item(family, rung, slot))[0]


def answers(wrong: Callable[[Case], bool] = lambda _case: False) -> Callable[[dict], Iterable[endpoint.Step]]:
    """An endpoint's `answer`: right by the families' own account, or a shrug where `wrong` says so."""
    known = {first_message(case): case for case in suite()}

    def answer(request: dict) -> Iterable[endpoint.Step]:
        first = next(message["content"] for message in request["messages"] if message["role"] == "user")
        if first not in known:
            return endpoint.text("17")  # the question by which a thinking model is found out
        case = known[first]
        if wrong(case):
            return endpoint.text("I do not know.")
        reply = right_replies(case)[sum(message["role"] == "assistant" for message in request["messages"])]
        if reply.tool_calls:
            return endpoint.calls([(call.name, call.arguments) for call in reply.tool_calls], reply.text)
        return endpoint.stream(endpoint.chat([{"content": reply.text}], "stop", 20, "fake"))

    return answer
