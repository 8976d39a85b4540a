import io
import re

import pytest
from rich.console import Console

from crucibleforge.chat import Reply, Timing, Usage
from crucibleforge.cli._progress import Bar, Counts, Lines, shown
from crucibleforge.config import builtin_target
from crucibleforge.types import Attempt, Failure, Job, Served, Verdict

HOSTILE = "[bold]x[/bold] :smile: \x1b[31mred\x07\nnext\x9b1m"
PLAIN = "[bold]x[/bold] :smile: [31mred next 1m"


def attempt(failure=None, tokens=31):
    reply = Reply(
        text="",
        finish="stop",
        usage=Usage(completion_tokens=tokens),
        timing=Timing(total_s=2.0, first_content_s=1.0, last_token_s=1.5),
    )
    return Attempt(
        job=Job("fake", "a/b/L1.1", 1), case_hash="", at="", replies=() if failure else (reply,), failure=failure
    )


def verdict(outcome="pass", why=""):
    return Verdict(job=Job("fake", "a/b/L1.1", 1), case_hash="", outcome=outcome, score=0.0, why=why)


def terminal(**environment):
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        width=100,
        highlight=False,
        _environ={"TERM": "xterm-256color", "COLUMNS": "100"} | environment,
    )


def written(console):
    return console.file.getvalue()


def words(console):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written(console))


def test_lines_tell_each_row_as_it_comes(capsys):
    watch = Lines(Counts(3, 45))
    watch.opened(builtin_target(), Served("llama.cpp", "smol", 8192, 4))
    watch.asked(attempt())
    watch.marked(verdict())
    watch.marked(verdict("fail", "got 3, expected 4"))
    watch.asked(attempt(Failure("rejected", "the server answered HTTP 400: no", 1)))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "[builtin] smol on llama.cpp, context 8,192 tokens, 4 slots",
        "[fake] 4/45 a/b/L1.1: pass, 60 tok/s",
        "[fake] 5/45 a/b/L1.1: fail (got 3, expected 4), 60 tok/s",
        "[fake] a/b/L1.1: the server answered HTTP 400: no",
    ]


def test_lines_take_no_orders_from_a_model_or_a_server(capsys):
    watch = Lines(Counts(0, 1))
    watch.opened(builtin_target(), Served(HOSTILE, HOSTILE))
    watch.asked(attempt(Failure("rejected", HOSTILE, 1)))
    watch.marked(verdict("fail", HOSTILE))
    assert capsys.readouterr().err.splitlines() == [
        f"[builtin] {PLAIN} on {PLAIN}",
        f"[fake] a/b/L1.1: {PLAIN}",
        f"[fake] 1/1 a/b/L1.1: fail ({PLAIN})",
    ]


def test_a_bar_shows_rows_passes_speed_and_when_it_ends():
    console = terminal()
    with shown(Counts(3, 45), console) as watch:
        assert isinstance(watch, Bar)
        watch.opened(builtin_target(), Served("llama.cpp", "smol"))
        watch.asked(attempt())
        watch.marked(verdict())
        watch.marked(verdict("fail"))
    last = words(console).splitlines()[-1]
    assert re.fullmatch(r"builtin .+ 5/45 1/2 passed 60 tok/s ETA [-0-9:]+ *", last)


def test_a_bar_takes_no_orders_from_a_model_or_a_server():
    console = terminal(NO_COLOR="1")
    with shown(Counts(0, 1), console) as watch:
        watch.opened(builtin_target(), Served(HOSTILE, HOSTILE))
        watch.asked(attempt(Failure("rejected", HOSTILE, 1)))
        watch.marked(verdict("fail", HOSTILE))
    lines = words(console).splitlines()
    assert f"[builtin] {PLAIN} on {PLAIN}" in [line.rstrip() for line in lines]
    assert f"a/b/L1.1: {PLAIN}" in [line.rstrip() for line in lines]
    assert not re.search("\x1b\\[31m|\x07|\x9b", written(console))


COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7])(?:;[0-9;]*)?m")


@pytest.mark.parametrize(("environment", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_color_is_respected(environment, is_coloured):
    console = terminal(**environment)
    with shown(Counts(0, 2), console) as watch:
        watch.marked(verdict())
    assert bool(COLOUR.search(written(console))) is is_coloured


@pytest.mark.parametrize(
    "console",
    [Console(file=io.StringIO(), force_terminal=False), terminal(TERM="dumb")],
    ids=["a pipe", "a dumb terminal"],
)
def test_where_nothing_can_be_redrawn_there_are_lines(console):
    with shown(Counts(0, 1), console) as watch:
        assert isinstance(watch, Lines)


def test_a_pipe_stays_a_pipe_where_colour_is_forced(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown(Counts(0, 1)) as watch:
        assert isinstance(watch, Lines)
    assert capsys.readouterr().err == ""


def test_a_reply_too_short_to_time_leaves_the_last_speed():
    counts = Counts(0, 2)
    counts.asked(attempt(tokens=31))
    counts.asked(attempt(tokens=1))
    assert counts.speed() == "60 tok/s"
