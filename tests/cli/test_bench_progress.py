import io

import pytest
from rich.console import Console

from crucibleforge.bench._question import Judged
from crucibleforge.bench.measure import Progress
from crucibleforge.bench.record import Answer
from crucibleforge.cli._bench_progress import watching
from crucibleforge.types import Served

SERVED = Served(server="llama.cpp", model="m\x1b[2J", context_length=4096, slots=2)


def told(watch):
    watch.opened(SERVED)
    watch.moved(Progress("short_50", 1, 2, 90.0))
    watch.moved(Progress("short_50", 2, 2, 45.0))
    watch.say("a word")
    watch.asked(Answer(("pets",), (), judged=(Judged("pets", "fail", 0.0, "wrong"),)))
    watch.asked(Answer(("shape",), (), failure="reset"))


def test_without_a_terminal_each_cell_and_check_is_a_line(capfd):
    with watching("m") as watch:
        told(watch)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].endswith(" on llama.cpp, window 4,096 tokens, 2 slots")
    assert lines[1:] == [
        "[m] short_50, about 2 min left",
        "[m] a word",
        "[m] pets fail",
        "[m] shape: no reply (reset)",
    ]
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("word", ["short_50 2/2", "ETA 45 s", "pets fail", "a word"])
def test_on_a_terminal_there_is_a_bar_with_an_eta(word):
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100, color_system=None)
    with watching("m", console) as watch:
        told(watch)
    assert word in written.getvalue()
