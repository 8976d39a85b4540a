"""The `crucibleforge` command: a group that imports a verb only when that verb is called."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence

import click

from crucibleforge.errors import CrucibleError, UnknownName, boundary

_VERBS = {
    "all": "Run, grade and report in one go.",
    "run": "Ask models and mark their replies; a run that was stopped goes on.",
    "grade": "Mark stored replies again, or one program by hand.",
    "recover": "Ask again for answers that were lost to reasoning.",
    "report": "Build the board from all runs.",
    "status": "Show suite, sandbox, providers and models.",
    "cases": "List, show, verify, solve and lock the questions.",
    "models": "Discover what a server offers; add a model.",
    "config": "Show which configuration is used, or write a starter.",
}


class _Lazy(click.Group):
    """Knows its verbs by name, so that `--help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:  # noqa: ARG002
        if cmd_name not in _VERBS:
            raise UnknownName("command", cmd_name, _VERBS, hint="`crucibleforge --help`")
        command: click.Command = importlib.import_module(f"crucibleforge.cli.{cmd_name}").COMMAND
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_VERBS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="crucibleforge")
def command() -> None:
    """Benchmark the language models you run or rent.

    `crucibleforge all` measures the built-in model with no server, key or configuration; `--models` names others:
    labels of models.yaml or a path to a .gguf file.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; every error that we can name ends in one line and a hint."""
    sys.exit(status(arguments))


def status(
    arguments: Sequence[str] | None = None, program: click.Command = command, name: str = "crucibleforge"
) -> int:
    """Run a command, ours if no other is given, and return its exit code."""
    try:
        with boundary():
            result = program.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _complain(error.format_message().rstrip("."), _usage_hint(error, name), error.exit_code)
    except CrucibleError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _complain("stopped", "", 128 + signal.SIGINT)
    return result if isinstance(result, int) else 0


def _usage_hint(error: click.ClickException, name: str) -> str:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path if context else name} --help`"


def _complain(message: str, hint: str, code: int) -> int:
    for text in (f"error: {message}", f"hint: {hint}" if hint else ""):
        if text:
            # One line, and nothing in it that a terminal would obey: servers have a hand in some messages.
            click.echo("".join(char if char.isprintable() else " " for char in text), err=True)
    return code
