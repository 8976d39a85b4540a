"""What is known of a model's bytes and of the hardware, and whether what was measured can be true with it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from crucibleforge.bench.measured import Measured
from crucibleforge.errors import InputError
from crucibleforge.gguf import facts
from crucibleforge.providers._local import Offered
from crucibleforge.speed.bounds import Decoding, Model, model_of, named_model
from crucibleforge.speed.hardware import Hardware
from crucibleforge.speed.plausible import Evidence, Plausibility, Prefilling, decode_verdict, prefill_verdict


class Weighed(Struct, frozen=True, omit_defaults=True):
    """A model and what it runs on, as far as they are known. `file` is a name without its folder."""

    model: Model | None = None
    hardware: Hardware | None = None
    offered: Offered | None = None
    file: str | None = None
    size_bytes: int | None = None
    size_from: str = ""
    quant: str | None = None


def weighed(name: str, path: Path | None, offered: Offered | None, hardware: Hardware | None) -> Weighed:
    """By the file where it is at hand, else by what the server states, else by nothing.

    Args:
        name: The model's id, out of which a share such as `26B-A4B` is read where there is no file.
        path: A .gguf file on this machine.
        offered: The server's account of the model.
        hardware: What it runs on; None: not known.
    """
    if path is not None:
        try:
            gguf = facts(path)
        except InputError:
            gguf = None
        if gguf is not None:
            size = gguf.weights.total_bytes if gguf.weights else gguf.size_bytes
            model = model_of(gguf) or named_model(name, size)
            return Weighed(model, hardware, offered, path.name, gguf.size_bytes, "file", gguf.quant)
    if offered is not None and offered.size_bytes:
        model = named_model(f"{name} {offered.params or ''}", offered.size_bytes)
        return Weighed(model, hardware, offered, None, offered.size_bytes, "server", offered.quant)
    return Weighed(None, hardware, offered, quant=offered.quant if offered else None)


def decode_plausibility(known: Weighed, speed: Measured) -> Plausibility | None:
    """Whether the decode rate can be true; None where there is no rate."""
    if speed.decode is None:
        return None
    depths = [cell.depth_tokens or 0.0 for cell in speed.cells if cell.kind == "length"]
    decoding = Decoding(
        tokens_per_s=speed.decode.median,
        depth=sum(depths) / len(depths) if depths else 0.0,
        tau=_tau(speed),
        may_speculate=speed.gaps.pattern == "speculation",
    )
    return decode_verdict(known.model, known.hardware, decoding, _evidence(speed, speed.decode.n, "decode"))


def prefill_plausibility(known: Weighed, speed: Measured) -> Plausibility | None:
    """Whether the reading speed can be true; None where there is none."""
    if speed.prefill is None or speed.prefill.per_s is None:
        return None
    longest = max(length.tokens for length in speed.prefill.lengths)
    n = sum(length.ttft.n for length in speed.prefill.lengths)
    cells = [cell for cell in speed.cells if cell.kind == "prefill"]
    is_uncached = all(sample.cached_share is not None for cell in cells for sample in cell.samples if sample.is_whole)
    prefilling = Prefilling(tokens_per_s=speed.prefill.per_s, tokens=longest, is_uncached=is_uncached)
    return prefill_verdict(known.model, known.hardware, prefilling, _evidence(speed, n, "prefill"))


def _evidence(speed: Measured, repeats: int, what: str) -> Evidence:
    checks = [check.agrees for check in speed.checks if check.what == what and check.agrees is not None]
    judged = speed.drift is not None or speed.came_back is not None
    return Evidence(
        repeats=repeats,
        is_steady=not speed.is_unsteady if judged else None,
        agrees_with_server=all(checks) if checks else None,
    )


def _tau(speed: Measured) -> float | None:
    """Tokens a step by the server's own count of accepted drafts; None where it does not speculate or say so."""
    told = [
        own
        for cell in speed.cells
        if cell.kind == "length"
        for sample in cell.samples
        if sample.reply is not None and (own := sample.reply.server_timings) is not None and own.draft_n
    ]
    tokens, accepted = sum(own.predicted_n for own in told), sum(own.draft_n_accepted or 0 for own in told)
    return tokens / (tokens - accepted) if told and tokens > accepted else None
