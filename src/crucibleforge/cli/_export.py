"""`crucibleforge cases export`: the prompts as a file, to be answered elsewhere and marked with `replies:FILE`.

What is exported for a case is the next request of its dialogue: the first, or with `--replies` the one that follows
the replies that are there. A dialogue that is complete is not exported, so the same two commands repeat until none is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from crucibleforge.chat import Reply
from crucibleforge.cli._options import config_option, selection_options, verbose_option
from crucibleforge.cli._screen import say
from crucibleforge.config import locate, with_profile
from crucibleforge.errors import InputError
from crucibleforge.providers._shelf import Shelf, read
from crucibleforge.run.dialogue import next_request
from crucibleforge.store.folder import write_atomically
from crucibleforge.suite.expand import suite
from crucibleforge.suite.form import resolved
from crucibleforge.suite.select import select
from crucibleforge.types import Case, Selection, Target
from crucibleforge.wire.request import body

_URL = "/v1/chat/completions"
_STREAMING = frozenset({"stream", "stream_options"})
_BATCH = "openai-batch"


class Export(Struct, frozen=True):
    """Lines of JSON; dialogues of several rounds of which only the next one is among them, and those left out."""

    lines: tuple[bytes, ...]
    to_go_on: int
    left_out: int


@click.command("export")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["jsonl", _BATCH]),
    default="jsonl",
    help="One request a line: bare, or as a batch input file.",
)
@click.option("--model", default="", help="openai-batch: whom to ask.", metavar="NAME")
@selection_options
@click.option("--form", default="canonical", help="`canonical`, `fresh`, or the key of a form.", metavar="FORM")
@click.option("--replies", type=click.Path(path_type=Path), help="Export what follows these replies.", metavar="FILE")
@click.option("--out", default="-", help="Where it goes; `-` is stdout.", metavar="FILE")
@config_option
@verbose_option
def COMMAND(  # noqa: N802 - the constant that `cases` adds, and its options
    *,
    shape: str,
    model: str,
    form: str,
    replies: Path | None,
    out: str,
    config_path: Path | None,
    **options: Any,
) -> int:
    """Write the requests as a file, to be answered elsewhere."""
    if shape == _BATCH and not model:
        raise InputError("each request of a batch names its model", hint="`--model NAME`")
    key = resolved(form)
    chosen = select(suite(key), with_profile(Selection(**options), locate(config_path)))
    shelf = read(replies) if replies else None
    made = exported(chosen, model if shape == _BATCH else "", shelf)
    _write(b"".join(line + b"\n" for line in made.lines), out)
    _tell(made, len(chosen), key if key != form else "", shelf)
    return 0


def exported(cases: Iterable[Case], model: str, shelf: Shelf | None) -> Export:
    """The next request of each case: of a batch for `model`, or bare where that is empty.

    A batch is answered in one go, so without a shelf dialogues of several rounds have no place in it.
    """
    lines, to_go_on, left_out = [], 0, 0
    for case in cases:
        replies = _so_far(case, shelf)
        request = next_request(case.dialogue, replies)
        if request is None:
            continue
        is_long = case.dialogue.max_rounds > 1
        if is_long and model and shelf is None:
            left_out += 1
            continue
        to_go_on += is_long
        name = f"{case.id}#{case.hash}" + (f"#{len(replies) + 1}" if replies else "")
        asked = Target(label="", provider="", kind="openai", model_id=model)
        sent = msgspec.json.decode(body(asked, request, _STREAMING))
        lines.append(msgspec.json.encode(_batch(name, sent) if model else _bare(name, sent)))
    return Export(tuple(lines), to_go_on, left_out)


def _so_far(case: Case, shelf: Shelf | None) -> tuple[Reply, ...]:
    """The replies up to the first failure, which is asked again."""
    replies = []
    for answer in shelf.dialogue(case.id, case.hash) if shelf else ():
        if not isinstance(answer, Reply):
            break
        replies.append(answer)
    return tuple(replies)


def _bare(name: str, sent: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "messages": sent["messages"], "tools": sent.get("tools", [])} | {
        key: sent[key] for key in ("max_tokens", "temperature")
    }


def _batch(name: str, sent: dict[str, Any]) -> dict[str, Any]:
    return {"custom_id": name, "method": "POST", "url": _URL, "body": sent}


def _write(data: bytes, out: str) -> None:
    if out == "-":
        click.echo(data, nl=False)
    else:
        write_atomically(Path(out), data)


def _tell(made: Export, chosen: int, drawn: str, shelf: Shelf | None) -> None:
    if drawn:
        say(f"a fresh form; `run --form {drawn} --models replies:FILE` marks its replies")
    if made.left_out:
        say(
            f"{made.left_out} cases of several rounds are left out; `--replies FILE` exports them round by round, "
            "beginning with an empty file"
        )
    if made.to_go_on:
        say(f"{made.to_go_on} cases have several rounds, this is one of each; `--replies FILE` exports what follows it")
    missing = f", {chosen - len(made.lines)} are complete" if shelf and len(made.lines) < chosen else ""
    say(f"{len(made.lines)} requests for {chosen} cases{missing}")
