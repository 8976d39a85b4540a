"""The figures of a record that decide, and the same in words that an agent can read. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crucibleforge.bench._question import Judged
from crucibleforge.bench.abilities import ABILITY, FITNESS
from crucibleforge.bench.measured import Measured
from crucibleforge.bench.record import Answer, Json, Subject, Summary
from crucibleforge.speed.median import median
from crucibleforge.speed.plausible import Plausibility

_JSON = ("shape", "structure")
SLUGGISH_S = 0.5
"""A first token that takes longer than this is felt as waiting (the ancestor's bound)."""


def summarized(
    subject: Subject, speed: Measured | None, decode: Plausibility | None, answers: Sequence[Answer]
) -> Summary:
    """What a record comes to."""
    judged = {one.key: one for answer in answers for one in answer.judged}
    ability = [judged[check.key] for check in ABILITY if check.key in judged]
    fitness = [judged[check.key] for check in FITNESS if check.key in judged]
    figures = speed.decode if speed else None
    interval = None
    if figures is not None and figures.low is not None and figures.high is not None:
        interval = (figures.low, figures.high)
    return Summary(
        words=_words(subject, speed, decode, (ability, fitness)),
        tok_per_s=figures.median if figures else None,
        tok_per_s_interval=interval,
        n=figures.n if figures else 0,
        ttft_s=speed.ttft.median if speed and speed.ttft else None,
        ttft_reasoning_s=_first(speed, "ttft_reasoning_s"),
        ttft_content_s=_first(speed, "ttft_content_s"),
        prefill_tok_per_s=speed.prefill.per_s if speed and speed.prefill else None,
        plausibility=decode.word if decode else "unknown",
        confidence=decode.confidence if decode else "LOW",
        ability_passed=_passed(ability),
        ability_asked=len(ability),
        fitness_passed=_passed(fitness),
        fitness_asked=len(fitness),
        failed={one.key: one.why for one in (*ability, *fitness) if one.outcome != "pass"},
        length_ratio=judged["brevity"].figure if "brevity" in judged else None,
        json=_json(speed, [judged[key] for key in _JSON if key in judged]),
    )


def _words(
    subject: Subject,
    speed: Measured | None,
    decode: Plausibility | None,
    judged: tuple[Sequence[Judged], Sequence[Judged]],
) -> str:
    parts = [f"{subject.label} on {subject.server}"]
    if speed and speed.decode:
        figures = speed.decode
        between = f" ({figures.low:.4g} to {figures.high:.4g}, n={figures.n})" if figures.low else f" (n={figures.n})"
        parts.append(f"writes {figures.median:.4g} tok/s{between}")
    if speed and speed.ttft:
        parts.append(f"first token after {speed.ttft.median:.3g} s")
    if speed and speed.prefill and speed.prefill.per_s:
        parts.append(f"reads {speed.prefill.per_s:,.0f} tok/s")
    if decode:
        parts.append(f"speed {decode.word} (confidence {decode.confidence})")
    if speed and speed.is_unsteady:
        parts.append("UNSTEADY: its speed changed while it was measured")
    for name, ones in zip(("ability", "agent fitness"), judged, strict=True):
        if ones:
            missed = ", ".join(one.key for one in ones if one.outcome != "pass")
            parts.append(f"{name} {_passed(ones)}/{len(ones)}" + (f" (not passed: {missed})" if missed else ""))
    return "; ".join(parts)


def _json(speed: Measured | None, judged: Sequence[Judged]) -> Json | None:
    if not judged:
        return None
    best = max(speed.loads, key=lambda row: row.whole_per_s, default=None) if speed else None
    return Json(
        right=_passed(judged),
        asked=len(judged),
        tok_per_s=speed.decode.median if speed and speed.decode else None,
        best_tok_per_s=best.whole_per_s if best else None,
        best_streams=best.streams if best else None,
    )


def _first(speed: Measured | None, moment: str) -> float | None:
    """Median over the cells of the three lengths."""
    cells = [cell for cell in speed.cells if cell.kind == "length"] if speed else []
    seconds = [
        getattr(sample, moment) for cell in cells for sample in cell.samples if sample.is_whole and not sample.is_warm
    ]
    known = [one for one in seconds if one is not None]
    return median(known) if known else None


def _passed(judged: Sequence[Judged]) -> int:
    return sum(one.outcome == "pass" for one in judged)
