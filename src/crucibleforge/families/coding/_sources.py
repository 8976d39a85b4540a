"""Texts of programs, put together from tagged lines, changed on purpose, and run by us: our own texts only."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import deepcopy
from typing import Any

from crucibleforge.families._dress import alone
from crucibleforge.families._kit import Dialogues, Item

TAG = "  #:"
"""Begins the condition at the end of a line: `a+b` keeps it where both features are on, `!a` where a is off."""


def kept(text: str, features: Collection[str]) -> str:
    """The lines that belong to the features, without their tags."""
    lines = [line.partition(TAG) for line in text.splitlines()]
    return "".join(
        f"{line}\n" for line, _, tag in lines if not tag or all(_holds(one, features) for one in tag.split("+"))
    )


def _holds(condition: str, features: Collection[str]) -> bool:
    name = condition.removeprefix("!")
    return (name in features) == (name == condition)


def changed(source: str, *swaps: tuple[str, str]) -> str:
    """The source with each old text, which must be there, replaced by the new one.

    Raises:
        ValueError: an old text is missing, so that the change would be none.
    """
    for old, new in swaps:
        if old not in source:
            raise ValueError(f"the program has no '{old}'")
        source = source.replace(old, new)
    return source


def loaded(source: str, entry: str) -> Callable[..., Any]:
    """The function or class that the source defines."""
    names: dict[str, Any] = {"__name__": "ours"}
    exec(compile(source, "<ours>", "exec", dont_inherit=True), names)  # noqa: S102 - our own text, never a reply
    found: Callable[..., Any] = names[entry]
    return found


def operated(made: Any, operations: Any) -> list[Any]:
    """What the operations on an object give, each as it is right after it."""
    return [deepcopy(getattr(made, method)(*args)) for method, *args in operations]


def fenced(*sources: str) -> Dialogues:
    """Each program as a reply that is one code block."""
    return alone(*(f"```python\n{source}```" for source in sources))


def mutants(item: Item) -> list[Any]:
    """The answer with what one of its calls gives changed; a changed input might give the same."""
    answer: list[dict[str, Any]] = item.answer
    return [
        [call | {"returns": _other(call["returns"])} if place == at else call for place, call in enumerate(answer)]
        for at in range(len(answer))
    ]


def _other(value: Any) -> Any:
    match value:
        case [*first, last]:
            return [*first, _other(last)]
        case str():
            return f"{value}x"
        case int():
            return value + 1
        case _:
            return [0]
