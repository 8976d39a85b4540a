"""What `bench-llm` found out about one model: the shape of its JSON file, every raw timing and reply in it."""

from __future__ import annotations

from msgspec import Struct

from crucibleforge.bench._question import Judged
from crucibleforge.bench.measured import Measured
from crucibleforge.chat import Message, Reply
from crucibleforge.speed.plausible import Confidence, Plausibility, Word
from crucibleforge.types import Machine

SCHEMA = "bench-llm/1"


class Subject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model that was measured.

    `model` is the id that was asked for, `served` the one that answered. `file` is a name without its folder.
    `size_bytes` is the file's, all its parts together, else what the server states; `size_from` says which.
    `context_tokens` is the window of one request.
    """

    label: str
    model: str
    server: str
    served: str | None = None
    server_version: str | None = None
    base_url: str = ""
    file: str | None = None
    size_bytes: int | None = None
    size_from: str = ""
    quant: str | None = None
    params: str | None = None
    context_tokens: int | None = None
    slots: int | None = None


class Resident(Struct, frozen=True, omit_defaults=True):
    """What else the machine's servers held: `before` as found, None where none says; `unloaded` came back afterwards.

    `left` stayed in memory while the model was measured.
    """

    before: tuple[str, ...] | None = None
    unloaded: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Answer(Struct, frozen=True, omit_defaults=True):
    """One question: what was sent, what came, and what came of each of its checks. `failure`: why there is no reply."""

    checks: tuple[str, ...]
    messages: tuple[Message, ...]
    replies: tuple[Reply, ...] = ()
    judged: tuple[Judged, ...] = ()
    failure: str = ""


class Json(Struct, frozen=True):
    """For who asks which model should do bulk work in JSON: how many of the two checks about JSON were right.

    `best_tok_per_s` is the throughput of all streams together at `best_streams`, the best of those tried.
    """

    right: int
    asked: int
    tok_per_s: float | None = None
    best_tok_per_s: float | None = None
    best_streams: int | None = None


class Summary(Struct, frozen=True, kw_only=True):
    """The figures that decide, and the same in words.

    `tok_per_s` is the median of one stream over `n` requests with its 95% interval, None for fewer than six. Seconds to
    the first token of any kind, of reasoning and of content. `passed` of `asked` checks; those that were lost to an
    error of ours or of the network, or not asked for want of time, count in neither.
    """

    words: str
    tok_per_s: float | None = None
    tok_per_s_interval: tuple[float, float] | None = None
    n: int = 0
    ttft_s: float | None = None
    ttft_reasoning_s: float | None = None
    ttft_content_s: float | None = None
    prefill_tok_per_s: float | None = None
    plausibility: Word = "unknown"
    confidence: Confidence = "LOW"
    ability_passed: int = 0
    ability_asked: int = 0
    fitness_passed: int = 0
    fitness_asked: int = 0
    failed: dict[str, str] = {}
    length_ratio: float | None = None
    json: Json | None = None


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model, one time. `is_whole` False: it was ended early, and what had been found out is here.

    `hardware` is what the figures were held against, as text; `hardware_from` is `stated` or `detected`. `load_s` is
    the engine's own account of loading the model, for the embedded one from its start to its first sign of health; None
    where there is neither.
    """

    summary: Summary
    schema: str
    version: str
    at: str
    is_whole: bool
    seed: str
    subject: Subject
    machine: Machine
    hardware: str | None = None
    hardware_from: str = ""
    resident: Resident = Resident()
    load_s: float | None = None
    decode_plausibility: Plausibility | None = None
    prefill_plausibility: Plausibility | None = None
    answers: tuple[Answer, ...] = ()
    speed: Measured | None = None
    notes: tuple[str, ...] = ()
