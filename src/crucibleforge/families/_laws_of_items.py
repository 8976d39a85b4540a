"""Laws about what a family draws, before anybody answers."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any

import msgspec

from crucibleforge.families._build import CHARS_PER_TOKEN, fingerprint, instance, item
from crucibleforge.families._draw import Draw, seed
from crucibleforge.families._independent import in_common
from crucibleforge.families._law import BrokenError, Drawn, Look, called, json, short
from crucibleforge.types import RUNGS, Rung

_SLOWEST_S = 2.0
_SLOWEST_LONG_S = 10.0
"""CPU seconds that the 95th percentile of generation may take; the longer bound is for long contexts."""
_ALIKE = 0.001
_FORMS_ALIKE = 0.01
_FORM_ITEMS = 3


def settings(look: Look) -> Iterator[str]:
    """Every rung has its parameters and budgets, and at least one case."""
    family = look.family
    for what, table in (
        ("rungs", family.rungs),
        ("slots", family.slots),
        ("max_tokens", family.max_tokens),
        ("prompt_tokens", family.prompt_tokens),
    ):
        if sorted(table) != sorted(RUNGS):
            yield f"{family.name}: {what} must be set for {', '.join(RUNGS)} and no other, not {', '.join(table)}"
    if any(count < 1 for count in family.slots.values()):
        yield f"{family.name}: slots must be at least 1 on every rung"
    if not family.name.partition("/")[2]:
        yield f"{family.name}: the name must be category/family"


def of_rung(look: Look, rung: Rung) -> Iterator[str]:
    """Draws of one rung: made without error, soon enough, the same again, and different from each other."""
    family = look.family
    place = f"{family.name}/{rung}"
    seen: dict[str, int] = {}
    times = []
    wanted = look.count(max(look.extent.generated, look.extent.different))
    for slot in range(1, wanted + 1):
        before = time.process_time()
        try:
            one = called("generate", instance, family, rung, slot)
        except BrokenError as error:
            yield f"{place}.{slot}: {error}"
            return
        times.append(time.process_time() - before)
        if slot <= look.count(look.extent.generated) and json(called("generate", instance, family, rung, slot)) != json(
            one
        ):
            yield f"{place}.{slot}: the same key gave two different instances"
            return
        seen.setdefault(fingerprint(family, one), slot)
    look.tally["generated"] += wanted
    alike = wanted - len(seen)
    if alike > ceil(wanted * _ALIKE):
        yield f"{place}: {alike} of {wanted} draws ask what another one asks"
    slowest = sorted(times)[int(len(times) * 0.95)]
    bound = _SLOWEST_LONG_S if family.name.startswith("longctx/") else _SLOWEST_S
    if slowest > bound:
        yield f"{place}: generate takes {slowest:.1f} s of CPU (95th percentile), at most {bound:g}"


def verified(look: Look, rung: Rung) -> Iterator[str]:
    """Both derivations agree, on the rung and on the small parameters."""
    family = look.family
    for slot in range(1, look.count(look.extent.verified) + 1):
        yield from _agree(look, f"{family.name}/{rung}.{slot}", called("generate", instance, family, rung, slot))
    if family.small is None or rung != RUNGS[0]:
        return
    for number in range(1, look.count(look.extent.verified) + 1):
        key = Draw(seed("small", family.name, number))
        yield from _agree(look, f"{family.name}/small.{number}", called("generate", family.generate, family.small, key))


def _agree(look: Look, place: str, one: Any) -> Iterator[str]:
    before = json(one)
    answer = called("solve", look.family.solve, one)
    again = called("verify", look.family.verify, one)
    look.tally["derived"] += 1
    if json(again) != json(answer):
        yield f"{place}: solve says {short(answer)}, verify says {short(again)}"
    if json(one) != before:
        yield f"{place}: solve or verify changed the instance"


def independent(look: Look) -> Iterator[str]:
    """`verify` calls nothing that `solve` calls."""
    family = look.family
    file = inspect.getfile(family.solve)
    for rung in RUNGS:
        one, again = (called("generate", instance, family, rung, 1) for _ in range(2))
        both = called("solve or verify", in_common, partial(family.solve, one), partial(family.verify, again), file)
        if extra := sorted(both - set(family.shared)):
            yield f"{family.name}/{rung}: verify and solve both call {', '.join(extra)}"
            return


def of_case(look: Look, one: Drawn) -> Iterator[str]:
    """A canonical case: its prompt fits, and does not hold the answer."""
    draft = one.item.draft
    budget = look.family.prompt_tokens[one.rung]
    estimate = (len(draft.system) + len(draft.prompt) + sum(map(len, draft.turns))) / CHARS_PER_TOKEN
    if estimate > budget:
        yield one.at(f"the prompt may take {estimate:.0f} tokens, its budget is {budget}")
    asked = "\n".join((draft.system, draft.prompt, *draft.turns))
    if not look.family.shown and _stands_in(one.item.answer, asked):
        yield one.at(f"the answer {short(one.item.answer)} stands in the prompt")


def alike(canonical: Sequence[Drawn]) -> Iterator[str]:
    """No two canonical cases ask the same."""
    seen: dict[bytes, str] = {}
    for one in canonical:
        first = seen.setdefault(json(one.case.dialogue), one.case.id)
        if first != one.case.id:
            yield one.at(f"asks the same as {first}")


def harder(look: Look) -> Iterator[str]:
    """The effort of a solver does not fall from rung to rung."""
    family = look.family
    efforts = {}
    for rung in RUNGS:
        drawn_ones = [called("generate", instance, family, rung, slot) for slot in range(1, look.count(20) + 1)]
        efforts[rung] = median(called("effort", family.effort, one) for one in drawn_ones)
    for lower, upper in pairwise(RUNGS):
        if efforts[upper] < efforts[lower]:
            yield f"{family.name}: effort falls from {efforts[lower]:g} on {lower} to {efforts[upper]:g} on {upper}"


def forms(look: Look) -> Iterator[str]:
    """Fresh forms can be drawn like the canonical one, and share nothing with their neighbours."""
    family = look.family
    for rung in RUNGS:
        prints = []
        for key in ("1", "2"):
            try:
                made_ones = [item(family, rung, slot, key) for slot in range(1, _FORM_ITEMS + 1)]
            except Exception as error:  # noqa: BLE001 - whatever a family raises is the finding
                yield f"{family.name}/{rung}: no fresh form: {type(error).__name__}: {error}"
                return
            prints.append({fingerprint(family, one.instance) for one in made_ones})
        if len(prints[0] & prints[1]) > ceil(_FORM_ITEMS * _FORMS_ALIKE) - 1:
            yield f"{family.name}/{rung}: forms with neighbouring keys share items"


def _stands_in(expected: Any, prompt: str) -> bool:
    """True when the prompt holds the words of the answer, all in order and in one run, or the answer as JSON."""
    wanted = [word for leaf in _leaves(expected) for word in _words(leaf)]
    words = _words(prompt)
    if any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1)):
        return bool(wanted)
    is_structured = bool(wanted) and isinstance(expected, (dict, list))
    return is_structured and _squeezed(msgspec.json.encode(expected).decode()) in _squeezed(prompt)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value if isinstance(value, str) else json(value).decode()


def _words(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?(?!\w)|\w+", text.casefold())
