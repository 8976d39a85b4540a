"""A model behind a scripted endpoint that is as quick as asked and knows every check of `bench-llm`, or some."""

from collections.abc import Callable, Collection, Iterable

import endpoint

from crucibleforge.bench.abilities import questions, right


def answers(seed: str, wrong: Collection[str] = (), delay_s: float = 0.003) -> Callable[[dict], Iterable[endpoint.Step]]:
    """An endpoint's `answer`: right where it is asked a question of this seed, else as many words as may be.

    `wrong` names checks; the question that answers one of them gets a shrug.
    """
    known = {one.messages[-1].content: one for one in questions(seed)}

    def answer(request: dict) -> Iterable[endpoint.Step]:
        question = known.get(request["messages"][-1]["content"])
        if question is None:
            count = min(request.get("max_tokens") or 16, 32)
            return endpoint.stream(endpoint.chat([{"content": "word "}] * count, "length", count, "fake"), delay_s=delay_s)
        if any(check.key in wrong for check in question.checks):
            return endpoint.text("I do not know.")
        return endpoint.text(right(question))

    return answer
