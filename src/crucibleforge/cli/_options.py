"""Options that several verbs share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Verb = TypeVar("Verb", bound=Callable[..., Any])

config_option = click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="The models.yaml to use.", metavar="FILE"
)
results_option = click.option(
    "--results", "results_path", type=click.Path(path_type=Path), help="Where results go.", metavar="DIR"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
unsandboxed_option = click.option(
    "--allow-unsandboxed",
    count=True,
    envvar="CRUCIBLEFORGE_ALLOW_UNSANDBOXED",
    help="Run model-written code without a sandbox, as you, with your files; twice: beside API keys too.",
)


def _verbose(_context: click.Context, _parameter: click.Parameter, count: int) -> None:
    level = (logging.ERROR, logging.INFO, logging.DEBUG)[min(count, 2)]
    logging.basicConfig(level=level, format="%(name)s: %(message)s")


verbose_option = click.option(
    "-v", "--verbose", count=True, expose_value=False, callback=_verbose, help="Say more; twice for all."
)


def _listed(_context: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def listed(name: str, text: str, metavar: str, *also: str) -> Callable[[Verb], Verb]:
    """An option that takes a list, comma-separated or given several times."""
    return click.option(name, *also, multiple=True, callback=_listed, help=text, metavar=metavar)


def selection_options(verb: Verb) -> Verb:
    """The options that say which part of the suite is meant."""
    for option in reversed(
        (
            listed("--categories", "Only these: coding, math, reasoning …", "LIST"),
            listed("--difficulty", "Only these: easy, medium, hard, reserve.", "LIST"),
            listed("--cases", "Only these ids or families; `*` and `?` are understood.", "LIST"),
            click.option("--smoke", is_flag=True, help="One easy case of each family."),
            click.option("--profile", default="", help="A named part of the suite, such as `quick`.", metavar="NAME"),
        )
    ):
        verb = option(verb)
    return verb


def run_options(verb: Verb) -> Verb:
    """The options of `run` and `all`."""
    for option in reversed(
        (
            listed("--models", "Labels of models.yaml, .gguf files, `replies:FILE`, `builtin`, or `all`.", "LIST"),
            selection_options,
            click.option(
                "--form",
                default="canonical",
                help="`canonical`, `fresh` (new questions of the same kinds), or the key of a form.",
                metavar="FORM",
            ),
            click.option("--repeats", type=click.IntRange(1, 100), help="Ask each case so often.", metavar="N"),
            click.option("--max-cost", type=click.FloatRange(min=0), help="Stop before it costs more.", metavar="USD"),
            click.option("--max-minutes", type=click.FloatRange(min=0), help="Stop after so long.", metavar="MIN"),
            click.option("--fresh", is_flag=True, help="Start a new run even if one could be continued."),
            click.option("--plan", "plan_only", is_flag=True, help="Show what would be done; call nothing."),
            click.option("--yes", is_flag=True, help="Do not ask before spending money."),
            unsandboxed_option,
            results_option,
            config_option,
            json_option,
            verbose_option,
        )
    ):
        verb = option(verb)
    return verb
