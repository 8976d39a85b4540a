"""`bench-llm MODEL`: a first number out of a model in minutes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from crucibleforge.cli._options import config_option, json_option, listed, unsandboxed_option, verbose_option

_EXAMPLES = """\b
  bench-llm builtin             the small model that comes with the program
  bench-llm MODEL.gguf          a file, no server needed
  bench-llm qwen                a model of LM Studio, Ollama, llama-server or vLLM on this machine
  bench-llm M1 M2 M3 --quick    several, with a table at the end
"""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLES,
)
@click.argument("models", nargs=-1, metavar="MODEL...")
@click.option("--list", "list_only", is_flag=True, help="Show the servers and models of this machine.")
@click.option("--check", "check_only", is_flag=True, help="Show whether everything is in place; ask nothing.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the file that a measurement leaves.")
@click.option("--quick", "mode", flag_value="quick", help="Less than a minute once the model is in memory.")
@click.option("--full", "mode", flag_value="full", help="10 to 30 minutes: depths, streams, text kinds, a soak.")
@click.option("--speed-only", is_flag=True, help="Measure speed; ask none of the eight checks.")
@click.option("--url", default="", help="An OpenAI-style address, as http://127.0.0.1:8080/v1.", metavar="URL")
@click.option("--provider", default="", help="Only this: lmstudio, ollama, llama-server, vllm.", metavar="NAME")
@click.option(
    "--hardware", multiple=True, help='What it runs on: "7900 XTX", "2x rtx5090"; repeatable.', metavar="NAME"
)
@click.option("--split", type=click.Choice(["layer", "tensor"]), default="layer", help="How devices share a model.")
@listed("--depth", "Also with so many tokens before the reply.", "TOKENS")
@listed("--concurrency", "Also with so many streams at once.", "STREAMS")
@click.option(
    "--slo", default="", help="Count requests within limits: `ttft=500ms,tpot=50ms` or a name.", metavar="SLO"
)
@click.option("--output", type=click.Path(path_type=Path), help="Folder or .json file; ~/benchmarks if not given.")
@click.option("--plot", is_flag=True, help="Draw the speeds in the terminal as well.")
@click.option("--yes", is_flag=True, help="Unload other models for the time without asking; they are put back.")
@unsandboxed_option
@config_option
@json_option
@verbose_option
@click.version_option(package_name="crucibleforge")
def command(**options: Any) -> int:
    """Measure one or several models: honest speed, five ability tests, three checks of fitness as an agent.

    MODEL is one of a server on this machine (see `--list`), a .gguf file, `builtin`, or a label of models.yaml. Every
    raw timing and every reply is kept in ~/benchmarks/MODEL-DATE.json.
    """
    # `--help` needs none of it.
    from crucibleforge.cli._bench import measured, wanted  # noqa: PLC0415
    from crucibleforge.cli._bench_check import checked, listing, schema  # noqa: PLC0415

    if options["schema"]:
        click.echo(schema())
        return 0
    want = wanted(options)
    if options["list_only"]:
        return listing(want)
    return checked(want) if options["check_only"] else measured(want)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; every error that we can name ends in one line and a hint."""
    from crucibleforge.cli.main import status  # noqa: PLC0415 - as above

    sys.exit(status(arguments, command, "bench-llm"))
