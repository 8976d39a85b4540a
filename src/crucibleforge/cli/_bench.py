"""What `bench-llm` does: find the models, measure each, write its file, print what came of it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from crucibleforge.bench.detect import detect, processor
from crucibleforge.bench.examine import QUICK_SPEED_S, Examination, Job
from crucibleforge.bench.place import FOLDER, written
from crucibleforge.bench.plot import plotted
from crucibleforge.bench.protocol import QUICK_S, Mode, Options
from crucibleforge.bench.record import Record
from crucibleforge.bench.screen import compared, shown
from crucibleforge.bench.screen import table as rows_of
from crucibleforge.bench.weighed import weighed
from crucibleforge.cli._bench_progress import watching
from crucibleforge.cli._bench_targets import Chosen, choose
from crucibleforge.cli._carry import interruptible
from crucibleforge.cli._sandboxed import executor, sandbox_here
from crucibleforge.cli._screen import print_json, printable, say
from crucibleforge.cli._targets import is_builtin, placing
from crucibleforge.config import Config, load, locate
from crucibleforge.errors import CrucibleError, InputError, Stopped
from crucibleforge.providers import _builtin
from crucibleforge.providers._local import Found, at, look
from crucibleforge.sandbox import Sandbox
from crucibleforge.speed import goodput
from crucibleforge.speed.goodput import Slo
from crucibleforge.speed.hardware import Hardware, Split, parse_hardware
from crucibleforge.suite.hidden import new_seed

_MOST_TOKENS, _MOST_STREAMS = 1_048_576, 512
_KINDS = ("lmstudio", "ollama", "llama-server", "vllm", "openai")


class Want(Struct, frozen=True, kw_only=True):
    """The options as they are meant."""

    models: tuple[str, ...]
    mode: Mode
    speed_only: bool
    url: str
    provider: str
    hardware: Hardware | None
    depths: tuple[int, ...]
    concurrency: tuple[int, ...]
    slo: Slo | None
    output: Path
    plot: bool
    yes: bool
    allow_unsandboxed: int
    config_path: Path | None
    as_json: bool


def wanted(options: dict[str, Any]) -> Want:
    """The options that click hands over, read and checked.

    Raises:
        InputError: one of them cannot be meant.
    """
    provider = options["provider"]
    if provider and provider not in _KINDS:
        raise InputError(f"no kind of server is called '{provider}'", hint=f"known: {', '.join(_KINDS)}")
    hardware: tuple[str, ...] = options["hardware"]
    split: Split = options["split"]
    return Want(
        models=options["models"],
        mode=options["mode"] or ("speed-only" if options["speed_only"] else "default"),
        speed_only=options["speed_only"],
        url=options["url"],
        provider=provider,
        hardware=parse_hardware(hardware, split) if hardware else None,
        depths=_numbers("--depth", options["depth"], _MOST_TOKENS),
        concurrency=_numbers("--concurrency", options["concurrency"], _MOST_STREAMS),
        slo=goodput.parse(options["slo"]) if options["slo"] else None,
        output=options["output"] or FOLDER,
        plot=options["plot"],
        yes=options["yes"],
        allow_unsandboxed=options["allow_unsandboxed"],
        config_path=options["config_path"],
        as_json=options["as_json"],
    )


def measured(want: Want) -> int:
    """Measure every model that is meant, one after the other.

    Raises:
        InputError: a model is not there; SandboxMissing: and no waiver.
        Stopped: the user ended it; what had been measured is written.
    """
    config = configuration(want)
    found, every = servers(want)
    chosen = choose(config, want.models, found, want.url)
    records: list[Record] = []
    failures: list[str] = []
    with ExitStack() as stack:
        sandbox = None
        if not want.speed_only:
            sandbox = stack.enter_context(sandbox_here(want.allow_unsandboxed, want.config_path))
        for one in chosen:
            try:
                records.append(_one(want, one, every, sandbox))
            except Stopped:
                raise
            except CrucibleError as error:
                if len(chosen) == 1:
                    raise
                failures.append(one.target.label)
                say(f"[{one.target.label}] {error.message}" + (f" (hint: {error.hint})" if error.hint else ""))
    if want.as_json:
        print_json([_brief(record) for record in records])
    elif len(records) > 1:
        click.echo(clean("\n".join(rows_of(*compared(records)))))
    return 1 if failures else 0


def _one(want: Want, chosen: Chosen, every: Sequence[Found], sandbox: Sandbox | None) -> Record:
    target = placing(_builtin.path(say=say) if is_builtin(chosen.target) else None)(chosen.target)
    path = Path(target.path) if target.path else None
    others = tuple(one for one in every if one is not chosen.server) if path is None and chosen.server else ()
    seed = new_seed()
    job = Job(
        target=target,
        options=_options(want, seed),
        weighed=weighed(target.model_id or target.label, path, chosen.offered, want.hardware or hardware_of(chosen)),
        seed=seed,
        version=importlib.metadata.version("crucibleforge"),
        run=executor(sandbox) if sandbox else None,
        halt=sandbox.stop if sandbox else lambda: None,
        server=chosen.server,
        others=others,
        consent=_consents(want, chosen, others),
    )
    with watching(target.label) as watch:
        examination = Examination(job, watch)
        try:
            number, _ = asyncio.run(interruptible(examination.carry_out()))
        except CrucibleError:
            _keep(want, examination.record())
            raise
    record = examination.record()
    place = _keep(want, record)
    if not want.as_json:
        click.echo(clean(shown(record)))
        if want.plot:
            click.echo(clean(plotted(record)))
    if number:
        stopped = Stopped("stopped", hint=f"what had been measured is in {place}" if place else "")
        stopped.exit_code = 128 + number
        raise stopped
    return record


def _options(want: Want, seed: str) -> Options:
    quick_s = QUICK_S if want.speed_only else QUICK_SPEED_S
    return Options(seed, want.mode, want.depths, want.concurrency, want.slo, quick_s)


def _keep(want: Want, record: Record) -> Path | None:
    """Write what there is, if there is anything."""
    if record.speed is None or not record.speed.cells:
        return None
    place = written(record, want.output, datetime.now().astimezone().date().isoformat())
    say(f"wrote {place}: every raw timing and reply")
    return place


def _brief(record: Record) -> dict[str, Any]:
    return {
        "label": record.subject.label,
        "summary": record.summary,
        "subject": record.subject,
        "decode_plausibility": record.decode_plausibility,
        "is_whole": record.is_whole,
    }


def servers(want: Want) -> tuple[tuple[Found, ...], tuple[Found, ...]]:
    """The servers that may be meant, and all."""
    if want.url:
        one = asyncio.run(at(want.url))
        return ((one,) if one else ()), ()
    looked = asyncio.run(look())
    for notice in looked.notices:
        say(notice)
    meant = tuple(one for one in looked.found if want.provider in {"", one.kind})
    if want.provider and not meant:
        raise InputError(f"no {want.provider} answers on this machine", hint="`bench-llm --list` shows what does")
    return meant, looked.found


def hardware_of(chosen: Chosen) -> Hardware | None:
    """This machine's, if the model runs here; the embedded llama.cpp of the package index uses a GPU on Macs only."""
    target = chosen.target
    if target.kind == "llamacpp" and sys.platform != "darwin":
        return _here(with_gpus=False)
    if target.kind == "llamacpp" or chosen.server is not None:
        return _here(with_gpus=True)
    return None


@cache
def _here(*, with_gpus: bool) -> Hardware | None:
    """What this machine has, read and measured once for all models."""
    return detect().hardware if with_gpus else processor()


def _consents(want: Want, chosen: Chosen, others: Sequence[Found]) -> bool:
    """Whether models may be unloaded for the time: said on the command line, or asked where somebody can answer."""
    if chosen.server is None or want.yes:
        return want.yes
    held = [
        model.id
        for server in (chosen.server, *others)
        for model in server.models
        if model.is_resident and model.id != chosen.target.model_id and server.kind in {"lmstudio", "ollama"}
    ]
    if not held or not sys.stdin.isatty():
        return False
    what = f"{', '.join(held)} in memory beside it; unload for the time and put back afterwards?"
    return click.confirm(f"{what} (whoever uses them just now is cut off)", default=False, err=True)


def configuration(want: Want) -> Config:
    """The models.yaml that is used."""
    return load(locate(want.config_path))


def _numbers(option: str, words: Sequence[str], most: int) -> tuple[int, ...]:
    numbers = []
    for word in words:
        text = word.lower().removesuffix("k")
        if not text.isdecimal() or not text.isascii():
            raise InputError(f"'{word}' of {option} is no number", hint=f"for example `{option} 2048,8k`")
        number = int(text) * (1024 if word.lower().endswith("k") else 1)
        if not 0 < number <= most:
            raise InputError(f"{word} of {option} is not between 1 and {most:,}", hint=f"for example `{option} 4`")
        numbers.append(number)
    return tuple(dict.fromkeys(numbers))


def clean(text: str) -> str:
    """Lines without anything that a terminal would obey: models have a hand in some of them."""
    return "\n".join(printable(line) for line in text.splitlines())
