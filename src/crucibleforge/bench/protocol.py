"""Which cells are measured, in which order, and the requests that they are made of; nothing is sent from here.

A cell is one kind of request, repeated. Cells of one `turn` are measured in rotation, so that a machine that changes
changes all of them.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from math import ceil
from typing import Any, Literal

from msgspec import Struct

from crucibleforge.bench._texts import TEXTS, Text, passage, task
from crucibleforge.chat import Message, Request
from crucibleforge.families._draw import Draw
from crucibleforge.speed.goodput import Slo

Mode = Literal["quick", "default", "full", "speed-only"]
"""How much is measured; `speed-only` as much as `default`, the rest of the bench being left out."""

Kind = Literal["warm-up", "length", "text", "prefill", "cached", "depth", "load", "sampling", "soak", "again"]

LENGTHS = (("short_50", 50), ("medium_200", 200), ("long_800", 800))
"""Characters of the user's message; the names are those under which users know them."""
AGAIN = "medium_200"
"""The cell that is measured once more at the end."""
QUICK_S = 55.0
"""When `quick` ends at the latest, so that it stays under a minute."""
QUICK_TURN_S = {1: 28.0, 2: 16.0, 10: 6.0}
"""What each turn of `quick` may take, so that a machine that slows down loses repeats and not whole cells."""
SWEEP_DEPTHS = (2048, 8192, 32_768, 131_072)
_WARM_UP_TOKENS = 24
# A reply of one token has no interval on llama.cpp and no token at all on LM Studio.
_PREFILL_TOKENS = 8
_CACHED_TOKENS = 16
_SHORT_PREFILL, _LONG_PREFILL = 256, 2048
_SLOWEST = 4.0
_SLOW_S = 25.0
_PART_OF_WINDOW = 0.9
_LOAD_CHARACTERS = 2000
"""About 512 tokens."""
_TURN_CHARACTERS = 1200
_SOAK_S = 180.0
_CHARACTERS_PER_TOKEN = 4.0


class Options(Struct, frozen=True, omit_defaults=True):
    """What the user asked for. `depths` in tokens and `concurrency` in streams; empty: what the mode brings.

    `run_id` seeds every prompt: the same id sends the same requests. `quick_s` is when `quick` ends at the latest.
    """

    run_id: str
    mode: Mode = "default"
    depths: tuple[int, ...] = ()
    concurrency: tuple[int, ...] = ()
    slo: Slo | None = None
    quick_s: float = QUICK_S

    @property
    def share(self) -> float:
        """The part of its minute that `quick` may use; 1 for the other modes."""
        return min(self.quick_s / QUICK_S, 1.0) if self.mode == "quick" else 1.0


class Guess(Struct, frozen=True, omit_defaults=True):
    """What the warm-up showed, enough to choose lengths by. `context_tokens` is the window of one slot."""

    decode_per_s: float
    prefill_per_s: float
    characters_per_token: float = _CHARACTERS_PER_TOKEN
    context_tokens: int | None = None
    slots: int | None = None


class Planned(Struct, frozen=True, omit_defaults=True):
    """A cell to be measured: `reps` requests, or for a load as many as `streams` lanes send in `least_s` seconds.

    `characters` are those of the user's message, `context_tokens` about how many tokens of conversation come before it.
    `is_indicative`: too few and short to say more than roughly.
    """

    name: str
    kind: Kind
    turn: int
    reps: int
    max_tokens: int
    characters: int = 200
    context_tokens: int = 0
    text: Text = "prose"
    streams: int = 1
    least_s: float = 0.0
    is_indicative: bool = False


WARM_UP = Planned("warm-up", "warm-up", 0, 2, _WARM_UP_TOKENS, 200)
"""The first wakes what is compiled or loaded at first use, the second is what the lengths are chosen by."""


def plan(options: Options, guess: Guess) -> tuple[Planned, ...]:
    """Every cell in order of its turn."""
    cells = [*_lengths(options, guess), *_prefills(options, guess)]
    if options.mode == "full":
        tokens = _decode_tokens(options, guess)
        cells += [Planned(f"text {text}", "text", 3, 10, tokens, text=text) for text in TEXTS]
        cells.append(Planned("own sampling", "sampling", 4, 6, tokens))
    cells += [*_cached(options, guess), *_depths(options, guess), *_loads(options, guess)]
    if options.mode == "full":
        tokens = _decode_tokens(options, guess)
        cells.append(Planned("soak", "soak", 60, max(ceil(_SOAK_S * guess.decode_per_s / tokens), 6), tokens))
    first = next(cell for cell in cells if cell.name == AGAIN)
    reps = {"quick": min(first.reps, 2), "full": 10}.get(options.mode, 4)
    return (*cells, Planned("again", "again", 99, reps, first.max_tokens, first.characters))


def order(cells: Sequence[Planned]) -> Iterator[tuple[Planned, int]]:
    """Cell and repeat, from 0: those of one turn in rotation."""
    for turn in sorted({cell.turn for cell in cells}):
        together = [cell for cell in cells if cell.turn == turn]
        for rep in range(max(cell.reps for cell in together)):
            yield from ((cell, rep) for cell in together if rep < cell.reps)


def seconds(cell: Planned, guess: Guess) -> float:
    """About how long one request of the cell will take; of a load, the whole cell."""
    tokens = cell.context_tokens + cell.characters / guess.characters_per_token
    once_s = tokens / guess.prefill_per_s + cell.max_tokens / guess.decode_per_s
    if cell.kind == "cached":
        return 1.5 * once_s
    return max(cell.least_s, 3 * once_s) if cell.kind == "load" else once_s


def extra(cell: Planned) -> dict[str, Any]:
    """Fields that make a request of the cell comparable, where the server takes them."""
    fields: dict[str, Any] = {"cache_prompt": cell.kind == "cached", "ignore_eos": True}
    return fields if cell.kind == "sampling" else fields | {"temperature": 0.0}


def request(cell: Planned, run_id: str, number: int, characters_per_token: float = _CHARACTERS_PER_TOKEN) -> Request:
    """The `number`th request of a cell: no two are alike, and the same ones come of the same run id.

    The nonce stands first of all, where no cached prefix can be longer than the chat template's own words.
    """
    place = (run_id, cell.name, number)
    draw = Draw(*place)
    messages = [Message("system", f"{nonce(*place)} You are a thorough writer who never stops early.")]
    messages += _history(cell, round(cell.context_tokens * characters_per_token), draw)
    messages.append(Message("user", task(cell.text, cell.characters, draw)))
    return Request(tuple(messages), (), cell.max_tokens, extra=extra(cell), is_traced=True)


def further(first: Request, said: str) -> Request:
    """The same conversation one turn later: everything before the new question may come out of a cache."""
    turn = (Message("assistant", said), Message("user", "Go on from there, at the same length."))
    return Request((*first.messages, *turn), (), first.max_tokens, extra=first.extra, is_traced=True)


def sent_characters(asked: Request) -> int:
    """Characters of all messages."""
    return sum(len(message.content) for message in asked.messages)


def nonce(*place: str | int) -> str:
    """Sixteen characters of base32 that belong to this place alone."""
    whole = "\x1f".join(map(str, place)).encode()
    return b32encode(blake2b(whole, digest_size=10).digest()).decode()


def _history(cell: Planned, characters: int, draw: Draw) -> Iterator[Message]:
    """A conversation of about so many characters, the user and the model in turn."""
    while characters > 0:
        size = min(characters, _TURN_CHARACTERS)
        yield Message("user", task(cell.text, size // 2 or 1, draw))
        yield Message("assistant", passage(cell.text, size - size // 2, draw))
        characters -= size


def _decode_tokens(options: Options, guess: Guess) -> int:
    """Four seconds' worth, or the part of it that there is time for, within reason; the full mode always takes 256."""
    if options.mode == "full":
        return 256
    if options.mode == "quick" and guess.decode_per_s < _SLOWEST:
        # Under 2 tokens a second even these would not be done in a minute; 16 are the least that give a rate.
        return max(min(48, int(_SLOW_S * guess.decode_per_s)), 16)
    return int(min(max(4 * options.share * guess.decode_per_s, 48), 256))


def _lengths(options: Options, guess: Guess) -> list[Planned]:
    tokens = _decode_tokens(options, guess)
    reps = 6
    if options.mode == "quick":
        if guess.decode_per_s < _SLOWEST:
            return [Planned(AGAIN, "length", 1, 1, tokens, is_indicative=True)]
        reps = 2 if 6 * tokens / guess.decode_per_s <= 24 * options.share else 1
    return [Planned(name, "length", 1, reps, tokens, characters) for name, characters in LENGTHS]


def _prefills(options: Options, guess: Guess) -> list[Planned]:
    """Two lengths at least four times apart, three in the full mode; shorter ones where reading is slow."""
    longest = _fitting(_LONG_PREFILL, guess)
    reps = {"quick": 2, "full": 6}.get(options.mode, 4)
    if options.mode == "quick":
        # Both lengths, twice, in 16 s.
        longest = min(longest, round(16 * options.share * guess.prefill_per_s / reps * 8 / 9))
    lengths = [min(_SHORT_PREFILL, longest // 8), longest]
    if options.mode == "full" and (more := _fitting(4 * _LONG_PREFILL, guess)) >= 4 * longest:
        lengths.append(more)
    return [
        Planned(f"prefill {tokens}", "prefill", 2, reps, _PREFILL_TOKENS, round(tokens * guess.characters_per_token))
        for tokens in lengths
        if tokens > 0
    ]


def _cached(options: Options, guess: Guess) -> list[Planned]:
    wanted = (2048, 8192) if options.mode == "full" else (2048,)
    longest = _fitting(max(wanted), guess)
    if options.mode == "quick":
        longest = min(longest, round(4 * options.share * guess.prefill_per_s))
    depths = sorted({min(depth, longest) for depth in wanted})
    return [Planned(f"cached {depth}", "cached", 10, 1, _CACHED_TOKENS, 200, depth) for depth in depths if depth > 0]


def _depths(options: Options, guess: Guess) -> list[Planned]:
    wanted = options.depths or (SWEEP_DEPTHS if options.mode == "full" else ())
    tokens = min(_decode_tokens(options, guess), 128)
    kept = sorted({depth for depth in wanted if 0 < depth <= _fitting(depth, guess)})
    # Five would leave no interval. Each depth is done with before a deeper one is begun.
    reps = 2 if options.mode == "quick" else 6
    return [Planned(f"depth {depth}", "depth", 20 + at, reps, tokens, 200, depth) for at, depth in enumerate(kept[:20])]


def too_deep(options: Options, guess: Guess) -> tuple[int, ...]:
    """Depths that were asked for and do not fit the window."""
    return tuple(depth for depth in options.depths if depth > _fitting(depth, guess))


def _loads(options: Options, guess: Guess) -> list[Planned]:
    wanted = options.concurrency
    if not wanted and options.mode == "full":
        most = 2 * (guess.slots or 16)
        wanted = tuple(2**power for power in range(most.bit_length()) if 2**power <= most)
    if not wanted:
        return []
    least_s, most_tokens = (5.0, 64) if options.mode == "quick" else (20.0, 256)
    tokens = round(min(max(10 * guess.decode_per_s, 32), most_tokens))
    # One stream first: what it waits is what all of them wait without any queue.
    streams = sorted({1, *wanted})
    return [
        Planned(f"load {n}", "load", 40 + at, 1, tokens, _LOAD_CHARACTERS, streams=n, least_s=least_s)
        for at, n in enumerate(streams[:20])
    ]


def _fitting(tokens: int, guess: Guess) -> int:
    """As many tokens as fit a slot's window with room for the reply."""
    if guess.context_tokens is None:
        return tokens
    return min(tokens, max(int(_PART_OF_WINDOW * guess.context_tokens) - 256, 0))
