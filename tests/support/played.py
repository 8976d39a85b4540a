"""A dialogue of a scripted model played against a case's own world."""

from collections.abc import Iterable

from crucibleforge.chat import Message, Reply
from crucibleforge.run.dialogue import next_request
from crucibleforge.types import Case


def results(case: Case, replies: Iterable[Reply]) -> list[str]:
    """What the tools say to these replies, which must be asked for one after the other, and no more after the last."""
    given: tuple[Reply, ...] = ()
    messages: tuple[Message, ...] = ()
    for reply in replies:
        request = next_request(case.dialogue, given)
        assert request is not None, f"the dialogue is over after {len(given)} replies"
        messages = request.messages
        given = (*given, reply)
    assert next_request(case.dialogue, given) is None, "the dialogue goes on"
    return [message.content for message in messages if message.role == "tool"]
