"""`crucibleforge run`."""

from __future__ import annotations

from typing import Any

import click

from crucibleforge.cli._carry import conclude
from crucibleforge.cli._options import run_options
from crucibleforge.cli._screen import print_json, say
from crucibleforge.cli._work import carry, prepare, show_plan, wanted


@click.command("run")
@run_options
def COMMAND(**options: Any) -> int:  # noqa: N802 - the constant by which the lazy group finds a verb
    """Ask models and mark their replies as they come.

    The same command again finishes just what is owed. `crucibleforge report` builds the board.
    """
    want = wanted(options)
    ready = prepare(want)
    if want.plan_only:
        show_plan(ready, want)
        return 0
    done = carry(ready, want)
    if want.as_json:
        print_json(done)
    else:
        say(f"{done.passed} of {done.settled} rows passed; `crucibleforge report` builds the board")
    return conclude(done)
