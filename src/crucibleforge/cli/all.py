"""`crucibleforge all`."""

from __future__ import annotations

from typing import Any

import click

from crucibleforge.cli import _board
from crucibleforge.cli._carry import conclude
from crucibleforge.cli._options import run_options
from crucibleforge.cli._screen import print_json
from crucibleforge.cli._work import carry, prepare, show_plan, wanted


@click.command("all")
@run_options
def COMMAND(**options: Any) -> int:  # noqa: N802 - the constant by which the lazy group finds a verb
    """Run, grade and report in one go.

    With neither `--models` nor a models.yaml it measures `builtin`, a small model that is fetched once. The same
    command again finishes just what is owed.
    """
    want = wanted(options)
    ready = prepare(want)
    if want.plan_only:
        show_plan(ready, want)
        return 0
    done = carry(ready, want)
    made = _board.gather(ready.results, ready.config)
    _board.write(made, ready.results)
    if want.as_json:
        print_json(made)
    else:
        _board.show(made, ready.results)
    return conclude(done)
