"""Whether a measured speed can be true: what it implies, what the hardware allows, and how far to trust it.

A bound is one-sided evidence: a number below it may still be wrong, so no number is trusted for being below.
GB is 1e9 bytes.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from crucibleforge.speed.bounds import (
    Decoding,
    Model,
    decode_bound,
    fits_in_cache,
    implied_bandwidth,
    prefill_bound,
    step_bytes,
)
from crucibleforge.speed.devices import slowest_with
from crucibleforge.speed.hardware import Hardware

Word = Literal[
    "impossible", "needs speculation or cache", "plausible", "below expectation", "unknown", "not applicable"
]
Band = Literal["above the bound", "at the bound", "typical", "low", "far under", "none"]
Confidence = Literal["LOW", "MEDIUM", "HIGH"]

# Rated bandwidth is a ceiling but for rounding in tables (Apple's 400 GB/s is 409.6) and for the memory's clock.
_ABOVE = 1.05
# By its name alone a model's bytes include the embedding, of which a token reads one row; and a bandwidth measured
# beside other work is too low.
_ABOVE_ROUGHLY = 1.15
_AT = 0.90
_TYPICAL = 0.35
_LOW = 0.20
# More accepted tokens a step than drafts reach on prose.
_CREDIBLE_TAU = 6.0
_LARGE_BYTES, _SMALL_BYTES = 4e9, 1e9
# Short prompts do not fill a GPU, and a fifth of the peak is already good without the right library.
_LONG_PROMPT, _LOW_PREFILL = 512, 0.05
_ENOUGH_REPEATS = 5

_NO_SINGLE = "no single device in the table has so much"
_WHY_ABOVE = (
    "another device or split than named, speculation, miscounted tokens, a smaller quant than named, "
    "or several replies merged"
)
_WHY_BELOW = "part of it on the CPU, another backend than meant, a power or thermal limit, or other load on the device"


class Evidence(Struct, frozen=True):
    """What else speaks for a number; None where it was not looked at.

    `is_steady`: neither drift nor outliers. `agrees_with_server`: its own counts and durations give the same rate.
    """

    repeats: int = 1
    is_steady: bool | None = None
    agrees_with_server: bool | None = None


_NO_EVIDENCE = Evidence()


class Plausibility(Struct, frozen=True, kw_only=True):
    """A verdict with what it rests on; `text` is one or two lines for people.

    `bound` is in tokens a second and `ratio` the measured part of it, None where there is no bound.
    `implied_bytes_per_s` needs no hardware, None where the model's bytes are not known.
    """

    word: Word
    band: Band
    confidence: Confidence
    text: str
    ratio: float | None = None
    bound: float | None = None
    implied_bytes_per_s: float | None = None


class Prefilling(Struct, frozen=True, kw_only=True):
    """A measured prefill: uncached tokens a second over a prompt of `tokens`; is it known that none were cached?"""

    tokens_per_s: float
    tokens: float
    is_uncached: bool = False


def decode_verdict(
    model: Model | None, hardware: Hardware | None, decoding: Decoding, evidence: Evidence = _NO_EVIDENCE
) -> Plausibility:
    """Judge the decode rate of one stream."""
    if model is None:
        return _without_bound("unknown", evidence, "the bytes that a token reads are not known, so nothing can be said")
    implied = implied_bandwidth(model, decoding)
    says = _implies(model, decoding, implied)
    if hardware is None:
        able = slowest_with(implied / 1e9)
        needs = f"{able.name} is the slowest single device in the table that has so much" if able else _NO_SINGLE
        return _without_bound("unknown", evidence, f"{says}\nthe hardware is not known; {needs}", implied)
    bound = decode_bound(model, hardware, decoding)
    if bound is None:
        return _without_bound("unknown", evidence, f"{says}\nthe host's memory bandwidth is not known", implied)
    if not decoding.offloaded_bytes and fits_in_cache(model, hardware, decoding):
        why = f"the caches of {hardware.name} may hold what a token reads, so memory is no limit"
        return _without_bound("not applicable", evidence, f"{says}\n{why}", implied)
    ratio = decoding.tokens_per_s / bound
    word, band, why = _judged(model, hardware, decoding, bound)
    return Plausibility(
        word=word,
        band=band,
        confidence=_confidence(word, band, evidence, is_sure=hardware.is_sure and model.source == "header"),
        text=f"{says}, {ratio * 100:.0f} % of what {hardware.name} allows ({bound:.3g} tok/s)\n{why}{_doubt(hardware)}",
        ratio=ratio,
        bound=bound,
        implied_bytes_per_s=implied,
    )


def prefill_verdict(
    model: Model | None, hardware: Hardware | None, prefilling: Prefilling, evidence: Evidence = _NO_EVIDENCE
) -> Plausibility:
    """Judge the rate at which uncached prompt tokens were read."""
    bound = prefill_bound(model, hardware, prefilling.tokens) if model and hardware else None
    if bound is None or hardware is None or model is None:
        return _without_bound("unknown", evidence, "the peak rate of the hardware or the model's size is not known")
    ratio = prefilling.tokens_per_s / bound
    word, band, why = _judged_prefill(ratio, prefilling)
    is_sure = model.source == "header" and not any("compute" in device.unsure for device in hardware.devices)
    doubt = "" if is_sure else "; the peak rate is unsure"
    return Plausibility(
        word=word,
        band=band,
        confidence=_confidence(word, band, evidence, is_sure=is_sure),
        text=f"{ratio * 100:.0f} % of what {hardware.name} can compute ({bound:,.0f} tok/s)\n{why}{doubt}",
        ratio=ratio,
        bound=bound,
    )


def _judged(model: Model, hardware: Hardware, decoding: Decoding, bound: float) -> tuple[Word, Band, str]:
    ratio = decoding.tokens_per_s / bound
    is_rough = model.source == "name" or any(
        device.is_measured for device in (*hardware.devices, hardware.host) if device
    )
    if ratio > (_ABOVE_ROUGHLY if is_rough else _ABOVE):
        return _above(ratio, decoding)
    if ratio >= _AT:
        return "plausible", "at the bound", "closer to the bound than kernels usually come (85-90 %): run it again"
    # What the streams of a batch read is between the same experts for all and others for each.
    likely = decode_bound(model, hardware, decoding, is_independent=True) or bound
    ratio = decoding.tokens_per_s / likely
    per_token = step_bytes(model, decoding)
    band: Band = "typical" if ratio >= _TYPICAL else "low" if ratio >= _LOW else "far under"
    usual = ("55-85 %" if per_token > _LARGE_BYTES else "30-65 %") if per_token >= _SMALL_BYTES else ""
    floor = _TYPICAL if per_token > _LARGE_BYTES else _LOW
    if usual and ratio < floor:
        return "below expectation", band, f"such sizes usually reach {usual}; usual causes: {_WHY_BELOW}"
    return "plausible", band, "not contradicted by the hardware" + (f"; such sizes usually reach {usual}" * bool(usual))


def _above(ratio: float, decoding: Decoding) -> tuple[Word, Band, str]:
    more = f"{ratio * max(decoding.tau or 1.0, 1.0):.2g}"
    if decoding.may_speculate and decoding.tau is None and ratio <= _CREDIBLE_TAU:
        why = f"only possible if speculation yields {more} or more tokens a step, or if part of it comes from a cache"
        return "needs speculation or cache", "above the bound", why
    why = f"speculation would have to yield {more} or more tokens a step; usual causes: {_WHY_ABOVE}"
    return "impossible", "above the bound", why


def _judged_prefill(ratio: float, prefilling: Prefilling) -> tuple[Word, Band, str]:
    if ratio > 1.0 and not prefilling.is_uncached:
        return "needs speculation or cache", "above the bound", "usual cause: part of the prompt was cached"
    if ratio > 1.0:
        why = "usual causes: a prompt cut short by the server, or another device than named"
        return "impossible", "above the bound", why
    if ratio < _LOW_PREFILL and prefilling.tokens >= _LONG_PROMPT:
        return "below expectation", "far under", f"usual causes: {_WHY_BELOW}"
    return "plausible", "typical", "not contradicted by the hardware"


def _confidence(word: Word, band: Band, evidence: Evidence, *, is_sure: bool) -> Confidence:
    """HIGH is earned by agreement of client, server and bound over enough repeats, not by being under the bound."""
    if word in {"impossible", "needs speculation or cache"} or evidence.is_steady is False:
        return "LOW"
    if evidence.agrees_with_server is False:
        return "LOW"
    witnesses = (evidence.is_steady is True, evidence.agrees_with_server is True, evidence.repeats >= _ENOUGH_REPEATS)
    if all(witnesses) and is_sure and word == "plausible" and band in {"typical", "low"}:
        return "HIGH"
    return "MEDIUM" if sum(witnesses) > 1 else "LOW"


def _without_bound(word: Word, evidence: Evidence, text: str, implied: float | None = None) -> Plausibility:
    confidence = _confidence(word, "none", evidence, is_sure=False)
    return Plausibility(word=word, band="none", confidence=confidence, text=text, implied_bytes_per_s=implied)


def _implies(model: Model, decoding: Decoding, implied: float) -> str:
    per_step = step_bytes(model, decoding)
    step = "token" if decoding.streams == 1 and (decoding.tau or 1.0) <= 1.0 else "step"
    known = "" if model.source == "header" else ", by the model's name" if model.source == "name" else ", as stated"
    return (
        f"implies {_bandwidth(implied)} ({decoding.tokens_per_s:.4g} tok/s at {per_step / 1e9:.3g} GB a {step}{known})"
    )


def _bandwidth(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e12:.2f} TB/s" if bytes_per_s >= 1e12 else f"{bytes_per_s / 1e9:.3g} GB/s"  # noqa: PLR2004 - 1000 GB


def _doubt(hardware: Hardware) -> str:
    if not hardware.is_sure:
        names = dict.fromkeys(device.name for device in hardware.devices if not device.is_sure)
        return f"; the bandwidth of {', '.join(names)} is unsure"
    return "".join(f"; {note}" for note in hardware.notes)
