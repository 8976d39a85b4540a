"""How much of the work was done within limits that a user would feel."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from crucibleforge.errors import InputError, UnknownName
from crucibleforge.speed.sample import Sample


class Slo(Struct, frozen=True, omit_defaults=True):
    """Limits in seconds, None where there is none: `ttft_s` to the first token of any kind, `tpot_s` for each more."""

    name: str
    ttft_s: float | None = None
    tpot_s: float | None = None


class Goodput(Struct, frozen=True, omit_defaults=True):
    """Of `total` requests in `window_s`, `met` kept every limit: `per_s` of them a second.

    `met_ttft` and `met_tpot` count those that kept the one; `met_with_content` those that would have kept all if the
    limit of the first token were on the first token of content. A failure keeps none.
    """

    slo: Slo
    met: int
    total: int
    window_s: float
    per_s: float
    met_ttft: int
    met_tpot: int
    met_with_content: int


# p99 limits of MLPerf inference (policies at ac93e89), ms to the first token and per further token.
_MLPERF = {
    "llama-3.1-8b": ((2000, 100), (500, 30)),
    "llama-2-70b": ((2000, 200), (450, 40)),
    "llama-3.1-405b": ((6000, 175), (4500, 80)),
    "deepseek-r1": ((2000, 80), (1500, 15)),
    "gpt-oss-120b": ((3000, 80), (2000, 20)),
}
_KINDS = ("server", "interactive")
PRESETS = {
    f"{model}:{kind}": Slo(f"{model}:{kind}", ttft / 1e3, tpot / 1e3)
    for model, limits in _MLPERF.items()
    for kind, (ttft, tpot) in zip(_KINDS, limits, strict=True)
}
_UNITS = (("ms", 1e-3), ("s", 1.0), ("", 1e-3))
_HINT = "write `ttft=500ms,tpot=30ms`, or a preset such as `llama-3.1-8b:interactive`"


def parse(text: str) -> Slo:
    """Limits as the user writes them: `ttft=500ms,tpot=0.03s`, a bare number in ms; or the name of a preset.

    Raises:
        InputError: it is neither.
    """
    name = text.strip().lower()
    if "=" not in name:
        known = name if ":" in name else f"{name}:{_KINDS[0]}"
        if known not in PRESETS:
            raise UnknownName("limit", text, PRESETS, hint=_HINT)
        return PRESETS[known]
    slo = Slo(name)
    for part in name.split(","):
        key, _, value = part.partition("=")
        field = f"{key.strip()}_s"
        if field not in {"ttft_s", "tpot_s"} or getattr(slo, field) is not None:
            raise InputError(f"'{part.strip()}' of --slo is no limit, or a second one", hint=_HINT)
        slo = replace(slo, **{field: _seconds(value.strip())})
    return slo


def _seconds(text: str) -> float:
    for unit, scale in _UNITS:
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.replace(".", "", 1).isdecimal() and number.isascii() and float(number) > 0:
            return float(number) * scale
    raise InputError(f"'{text}' of --slo is no duration above 0", hint=_HINT)


def goodput(samples: Sequence[Sample], slo: Slo, window_s: float) -> Goodput:
    """Requests within all limits, out of all that were sent in `window_s`."""
    kept = [
        (
            _within(sample, sample.ttft_any_s, slo.ttft_s),
            _within(sample, sample.tpot_s, slo.tpot_s),
            _within(sample, sample.ttft_content_s, slo.ttft_s),
        )
        for sample in samples
    ]
    met = sum(first and further for first, further, _ in kept)
    return Goodput(
        slo=slo,
        met=met,
        total=len(kept),
        window_s=window_s,
        per_s=met / window_s if window_s > 0 else 0.0,
        met_ttft=sum(first for first, _, _ in kept),
        met_tpot=sum(further for _, further, _ in kept),
        met_with_content=sum(content and further for _, further, content in kept),
    )


def _within(sample: Sample, seconds: float | None, limit_s: float | None) -> bool:
    return sample.is_whole and (limit_s is None or (seconds is not None and seconds <= limit_s))
